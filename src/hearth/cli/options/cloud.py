"""The options that say where things are and how they are reached: database, Keystone, services."""

from collections.abc import Mapping
from functools import partial

from hearth.cli.options.option import Option

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
"""The section [clients_NAME] by the service of the catalogue that it is about."""

_tokens = partial(Option, "keystone_authtoken")
_ec2 = partial(Option, "ec2authtoken")


def _user(group: str, of: str) -> tuple[Option, ...]:
    """A user with a password, as keystoneauth's sections have it."""
    one = partial(Option, group)
    return (
        one("auth_url", str, None, f"Keystone's address, {of}."),
        one("auth_type", str, None, "How it authenticates: password."),
        one("username", str, None, f"User, {of}."),
        one("user_id", str, None, "The same by its id."),
        one("password", str, None, "Its password.", secret=True),
        one("user_domain_id", str, None, "Domain of the user, by its id."),
        one("user_domain_name", str, None, "The same by its name."),
    )


def _project(group: str) -> tuple[Option, ...]:
    one = partial(Option, group)
    return (
        one("project_id", str, None, "Project in which the user acts, by its id."),
        one("project_name", str, None, "The same by its name."),
        one("project_domain_id", str, None, "Domain of the project, by its id."),
        one("project_domain_name", str, None, "The same by its name."),
    )


# fmt: off
def _trust(group: str, default: bool | None) -> tuple[Option, ...]:
    one = partial(Option, group)
    return (
        one("insecure", bool, default, "Whether any certificate is believed."),
        one("ca_file", str, None, "File with the certificate authorities that are believed."),
        one("cert_file", str, None, "File with the certificate to show."),
        one("key_file", str, None, "File with its key."),
    )


DATABASE = (
    Option("database", "connection", str, None, "Address of the database: postgresql, mysql, mariadb or sqlite. The drivers are ours.", secret=True, formerly=(("DEFAULT", "sql_connection"),)),
)
TOKENS = (
    *_user("keystone_authtoken", "as which tokens are checked and the service acts"),
    *_project("keystone_authtoken"),
    _tokens("www_authenticate_uri", str, None, "Keystone's address as users and servers reach it; else auth_url."),
    _tokens("token_cache_time", int, 60, "Seconds that Keystone's answer about a token is kept; it is asked again after ten, beside the request. -1: never kept.", least=-1,
            differs="shorter than the 300 of keystonemiddleware"),
    _tokens("service_token_roles", list, ["service"], "Roles that make a token one of a service, which lets the user's own be expired."),
    _tokens("service_token_roles_required", bool, True, "Whether a service token needs one of these roles.",
            differs="keystonemiddleware is lax unless told"),
    _tokens("region_name", str, None, "Region of the Keystone that is asked about tokens."),
    _tokens("interface", str, None, "Which of its endpoints is asked: public, internal or admin."),
    _tokens("cafile", str, None, "File with the certificate authorities that are believed."),
    _tokens("insecure", bool, False, "Whether any certificate is believed."),
    _tokens("certfile", str, None, "File with the certificate to show."),
    _tokens("keyfile", str, None, "File with its key."),
)
TRUSTEE = _user("trustee", "to which trusts are given; else that of [keystone_authtoken]")
CLIENTS = (
    Option("clients", "endpoint_type", str, "public", "Which endpoints of the catalogue are used.", choices=ENDPOINTS),
    *_trust("clients", False),
    *(
        option
        for name, service in SERVICES.items()
        for option in (
            Option(f"clients_{name}", "endpoint_type", str, None, f"The same for {service} alone.", choices=ENDPOINTS),
            *_trust(f"clients_{name}", None),
        )
    ),
    Option("clients_keystone", "auth_uri", str, None, "Keystone's address as servers reach it; else www_authenticate_uri."),
    Option("clients_heat", "url", str, None, "Where servers reach this API, with %(tenant_id)s for the project; else as heat_public_url."),
)
SIGNERS = (
    _ec2("multi_cloud", bool, False, "Whether several Keystones are asked about signatures: those of [ec2authtoken.NAME]."),
    _ec2("clouds", list, [], "The names of these sections, in turn."),
    _ec2("auth_uri", str, None, "The older name of auth_url."),
    *_user("ec2authtoken", "as which signatures are checked; else as tokens are"),
    *_project("ec2authtoken"),
)
# fmt: on

OPTIONS = (*DATABASE, *TOKENS, *TRUSTEE, *CLIENTS, *SIGNERS)
