"""Settings of the operator for servers: the defaults of two properties, and the length of names."""

from dataclasses import dataclass, replace

from hearth.resources.registry import Catalog

SERVERS = ("OS::Nova::Server", "AWS::EC2::Instance")
NAME_CHARACTERS = 53


@dataclass(frozen=True)
class ServerDefaults:
    """Defaults for servers, named as in heat.conf: default_user_data_format and so on."""

    user_data_format: str = "HEAT_CFNTOOLS"
    software_config_transport: str = "POLL_SERVER_CFN"
    name_characters: int = NAME_CHARACTERS


def with_defaults(catalog: Catalog, defaults: ServerDefaults) -> Catalog:
    """Return the catalogue with these defaults for the built-in server types."""
    if defaults == ServerDefaults():
        return catalog
    wanted = {
        "user_data_format": defaults.user_data_format,
        "software_config_transport": defaults.software_config_transport,
    }
    for name in SERVERS:
        rtype = catalog.find(name)
        if rtype is None or not type(rtype).__module__.startswith("hearth.resources."):
            continue
        changed = object.__new__(type(rtype))  # a copy would be the type of that name itself
        changed.__dict__.update(rtype.__dict__)
        changed.physical_name_limit = min(defaults.name_characters, NAME_CHARACTERS)
        changed.properties = {
            key: replace(prop, default=wanted[key]) if key in wanted else prop
            for key, prop in rtype.properties.items()
        }
        catalog = catalog.with_type(changed)
    return catalog
