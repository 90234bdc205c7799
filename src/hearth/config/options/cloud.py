"""The options for addresses and credentials: database, Keystone and other services."""

from collections.abc import Mapping
from functools import partial

from hearth.config.options.option import Option

ENDPOINTS = ("publicURL", "internalURL", "adminURL", "public", "internal", "admin")
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

_tokens = partial(Option, "keystone_authtoken")
_ec2 = partial(Option, "ec2authtoken")


def _user(group: str, of: str) -> tuple[Option, ...]:
    """Return the options of a user who logs in with a password, named as in keystoneauth."""
    option = partial(Option, group)
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
    option = partial(Option, group)
    return (
        option("project_id", str, None, "Id of the project of the user."),
        option("project_name", str, None, "Name of the project of the user."),
        option("project_domain_id", str, None, "Id of the project's domain."),
        option("project_domain_name", str, None, "Name of the project's domain."),
    )


def _trust(group: str, default: bool | None) -> tuple[Option, ...]:
    option = partial(Option, group)
    return (
        option("insecure", bool, default, "true: any certificate is accepted."),
        option("ca_file", str, None, "File with the trusted certificate authorities."),
        option("cert_file", str, None, "File with the client certificate."),
        option("key_file", str, None, "File with the key of the client certificate."),
    )


# fmt: off
DATABASE = (
    Option("database", "connection", str, None, "Address of the database: postgresql, mysql, mariadb or sqlite. Hearth uses its own drivers.", secret=True, formerly=(("DEFAULT", "sql_connection"),)),
)
TOKENS = (
    *_user("keystone_authtoken", "for checks of tokens and for the calls of the service"),
    *_project("keystone_authtoken"),
    _tokens("www_authenticate_uri", str, None, "Address of Keystone for users and servers. Default: auth_url."),
    _tokens("token_cache_time", int, 60, "Time for which Hearth keeps Keystone's answer about a token, in seconds. After ten seconds Hearth asks again, in parallel to the request. -1: no cache.", minimum=-1,
            differs="keystonemiddleware has 300"),
    _tokens("service_token_roles", list, ["service"], "Roles of service tokens. A request with a valid service token can have an expired user token."),
    _tokens("service_token_roles_required", bool, True, "true: a service token needs one of the roles in service_token_roles.",
            differs="keystonemiddleware does not require these roles"),
    _tokens("region_name", str, None, "Region of the Keystone that checks tokens."),
    _tokens("interface", str, None, "Endpoint of the Keystone that checks tokens: public, internal or admin."),
    _tokens("cafile", str, None, "File with the trusted certificate authorities."),
    _tokens("insecure", bool, False, "true: any certificate is accepted."),
    _tokens("certfile", str, None, "File with the client certificate."),
    _tokens("keyfile", str, None, "File with the key of the client certificate."),
)
TRUSTEE = _user("trustee", "which receives trusts. Default: the user of [keystone_authtoken]")
CLIENTS = (
    Option("clients", "endpoint_type", str, "public", "Interface of the endpoints in the catalogue that Hearth uses.", choices=ENDPOINTS),
    *_trust("clients", False),
    *(
        option
        for name, service in SERVICES.items()
        for option in (
            Option(f"clients_{name}", "endpoint_type", str, None, f"Interface of the endpoint of {service}. Default: that of [clients].", choices=ENDPOINTS),
            *_trust(f"clients_{name}", None),
        )
    ),
    Option("clients_keystone", "auth_uri", str, None, "Address of Keystone for servers. Default: www_authenticate_uri."),
    Option("clients_heat", "url", str, None, "Address of this API for servers, with %(tenant_id)s for the project. Default: heat_public_url."),
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
