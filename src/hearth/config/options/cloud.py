"""The options for addresses and credentials: database, Keystone and other services."""

from collections.abc import Mapping
from functools import partial

from hearth.cloud.config import ENDPOINTS
from hearth.config.options.entry import entry
from hearth.model.option import Option

SERVICES: Mapping[str, str] = {
    "aodh": "alarming",
    "barbican": "key-manager",
    "cinder": "block-storage",
    "designate": "dns",
    "glance": "image",
    "heat": "orchestration",
    "keystone": "identity",
    "magnum": "container-infrastructure-management",
    "manila": "shared-file-system",
    "mistral": "workflow",
    "neutron": "network",
    "nova": "compute",
    "octavia": "load-balancer",
    "swift": "object-store",
    "trove": "database",
    "zaqar": "messaging",
}
"""The service type of each section [clients_NAME], by NAME."""

_tokens = partial(entry, "keystone_authtoken")
_ec2 = partial(entry, "ec2authtoken")


def _user(group: str, of: str) -> tuple[Option, ...]:
    """Return the options of a user who logs in with a password, named as in keystoneauth."""
    option = partial(entry, group)
    return (
        option("auth_url", str, None, f"Address of Keystone, {of}."),
        option("auth_type", str, None, "Authentication method: password."),
        option("username", str, None, f"User, {of}."),
        option("user_id", str, None, "Id of the user."),
        option("password", str, None, "Password of the user.", secret=True),
        option("user_domain_id", str, None, "Id of the domain of the user."),
        option("user_domain_name", str, None, "Name of the domain of the user."),
    )


def _project(group: str) -> tuple[Option, ...]:
    option = partial(entry, group)
    return (
        option("project_id", str, None, "Id of the project of the user."),
        option("project_name", str, None, "Name of the project of the user."),
        option("project_domain_id", str, None, "Id of the project's domain."),
        option("project_domain_name", str, None, "Name of the project's domain."),
    )


def _trust(group: str, default: bool | None) -> tuple[Option, ...]:
    option = partial(entry, group)
    return (
        option("insecure", bool, default, "true: any certificate is accepted."),
        option("ca_file", str, None, "File with the trusted certificate authorities."),
        option("cert_file", str, None, "File with the client certificate."),
        option("key_file", str, None, "File with the key of the client certificate."),
    )


# fmt: off
DATABASE = (
    entry("database", "connection", str, None, "Address of the database: postgresql, mysql, mariadb or sqlite. Hearth uses its own drivers.", secret=True, formerly=(("DEFAULT", "sql_connection"),)),
)
TOKENS = (
    *_user("keystone_authtoken", "for checks of tokens and for the calls of the service"),
    *_project("keystone_authtoken"),
    _tokens("www_authenticate_uri", str, None, "Address of Keystone for users and servers. Default: auth_url."),
    _tokens("region_name", str, None, "Region of the Keystone that checks tokens."),
    _tokens("interface", str, None, "Endpoint of the Keystone that checks tokens: public, internal or admin."),
    _tokens("cafile", str, None, "File with the trusted certificate authorities."),
    _tokens("insecure", bool, False, "true: any certificate is accepted."),
    _tokens("certfile", str, None, "File with the client certificate."),
    _tokens("keyfile", str, None, "File with the key of the client certificate."),
)
TRUSTEE = _user("trustee", "which receives trusts. Default: the user of [keystone_authtoken]")
CLIENTS = (
    *_trust("clients", False),
    *(
        option
        for name, service in SERVICES.items()
        for option in (
            entry(f"clients_{name}", "endpoint_type", str, None, f"Interface of the endpoint of {service}. Default: that of [clients].", choices=ENDPOINTS),
            *_trust(f"clients_{name}", None),
        )
    ),
    entry("clients_heat", "url", str, None, "Address of this API for servers, with %(tenant_id)s for the project. Default: heat_public_url."),
)
SIGNERS = (
    _ec2("multi_cloud", bool, False, "true: the Keystones of the sections [ec2authtoken.NAME] check the signatures of EC2 credentials."),
    _ec2("clouds", list, [], "Each NAME of the sections [ec2authtoken.NAME], in the order of the checks."),
    _ec2("auth_uri", str, None, "Older name of auth_url."),
    *_user("ec2authtoken", "for checks of signatures. Default: as for tokens"),
    *_project("ec2authtoken"),
)
# fmt: on

OPTIONS = (*DATABASE, *TOKENS, *TRUSTEE, *CLIENTS, *SIGNERS)
