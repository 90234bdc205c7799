"""What an operator does in Keystone before Heat runs, as its installation guide says."""

from tests.keystone.identity import Identity
from tests.keystone.prepare import PASSWORD, REGION

SERVICE_USER = "heat"
STACK_DOMAIN = "heat"
DOMAIN_ADMIN = "heat_domain_admin"


def follow(identity: Identity) -> None:
    """The roles, the service user, the domain of the stacks and its administrator."""
    for role in ("member", "service", "heat_stack_owner", "heat_stack_user"):
        identity.ensure("roles", "role", {"name": role})
    identity.person(SERVICE_USER, "service", "admin", "service")
    domain_id = identity.ensure("domains", "domain", {"name": STACK_DOMAIN})
    admin = {"name": DOMAIN_ADMIN, "domain_id": domain_id, "password": PASSWORD}
    identity.grant("admin", identity.ensure("users", "user", admin), domain=domain_id)


def withdraw(identity: Identity, kind: str) -> None:
    """The service is nowhere any more."""
    for service in identity.there("/services", "services", type=kind):
        for old in identity.there("/endpoints", "endpoints", service_id=service["id"]):
            identity.call("DELETE", f"/endpoints/{old['id']}")


def register(identity: Identity, kind: str, name: str, url: str) -> None:
    """A service of the catalogue and where it is; anew if it was elsewhere."""
    withdraw(identity, kind)
    found = identity.there("/services", "services", type=kind)
    wanted = {"name": name, "type": kind, "enabled": True}
    service = found[0] if found else identity.make("/services", "service", wanted)
    endpoint = {
        "service_id": service["id"],
        "interface": "public",
        "url": url,
        "region_id": REGION,
    }
    identity.make("/endpoints", "endpoint", endpoint)
