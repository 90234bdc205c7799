"""Operator settings for the defaults of some properties, and for the length of server names."""

from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from hearth.model.option import Option
from hearth.resources.base import ResourceType
from hearth.resources.registry import Catalog

SERVERS = ("OS::Nova::Server", "AWS::EC2::Instance", "OS::Heat::DeployedServer")
DEPLOYMENTS = (
    "OS::Heat::SoftwareDeployment",
    "OS::Heat::SoftwareDeploymentGroup",
    "OS::Heat::SoftwareDeployments",
    "OS::Heat::StructuredDeployment",
    "OS::Heat::StructuredDeploymentGroup",
    "OS::Heat::StructuredDeployments",
)
NAME_CHARACTERS = 53


class ServerDefaults(Struct, frozen=True):
    """The operator's settings for servers and deployments."""

    default_user_data_format: Annotated[
        str,
        Option(
            "user_data_format of servers that do not set this property.",
            choices=("HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG"),
        ),
    ] = "HEAT_CFNTOOLS"
    default_software_config_transport: Annotated[
        str,
        Option(
            "software_config_transport of servers that do not set this property.",
            choices=("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE"),
        ),
    ] = "POLL_SERVER_CFN"
    max_server_name_length: Annotated[
        int, Option("Maximum length of generated server names.", maximum=NAME_CHARACTERS)
    ] = NAME_CHARACTERS
    default_deployment_signal_transport: Annotated[
        str,
        Option(
            "signal_transport of software deployments that do not set this property.",
            choices=("CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "ZAQAR_SIGNAL"),
        ),
    ] = "CFN_SIGNAL"


def with_defaults(catalog: Catalog, defaults: ServerDefaults) -> Catalog:
    """Return a copy of the catalogue in which built-in types have these defaults."""
    if defaults == ServerDefaults():
        return catalog
    of_servers = {
        "user_data_format": defaults.default_user_data_format,
        "software_config_transport": defaults.default_software_config_transport,
    }
    of_deployments = {"signal_transport": defaults.default_deployment_signal_transport}
    for name in (*SERVERS, *DEPLOYMENTS):
        rtype = catalog.find(name)
        if rtype is None or not type(rtype).__module__.startswith("hearth.resources."):
            continue
        variant = _with(rtype, of_servers if name in SERVERS else of_deployments)
        if name in SERVERS:
            variant.physical_name_limit = min(defaults.max_server_name_length, NAME_CHARACTERS)
        catalog = catalog.with_type(variant)
    return catalog


def _with(rtype: ResourceType, values: dict[str, str]) -> ResourceType:
    """Return a copy of the type with other defaults for the properties in `values`."""
    variant = object.__new__(type(rtype))  # copy() returns the registered type
    variant.__dict__.update(rtype.__dict__)
    variant.properties = {
        key: replace(prop, default=values[key]) if key in values else prop
        for key, prop in rtype.properties.items()
    }
    return variant
