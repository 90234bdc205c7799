"""Application credentials that Hearth creates for users.

Like a trust, such a credential stays valid after the user's token expires. Its name is derived from
a key, so that Hearth can find it after a lost response. Only the response to the create call
contains the secret, so a credential whose response was lost is deleted and created again.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault, NotFound
from hearth.cloud.identity import made_id
from hearth.cloud.path import segment

MADE_BY = "hearth"
RULE = ("service", "method", "path")
IN_USE = (403, 409)


async def make_application_credential(
    cloud: Cloud,
    roles: Sequence[str],
    *,
    key: str,
    description: str = "For operations of a stack without a token of the user",
    unrestricted: bool = False,
    access_rules: Sequence[Body] | None = None,
) -> tuple[str, str]:
    """Create an application credential for the user and project of `cloud`; return id and secret.

    The name is derived from `key`. An older credential with the same key is deleted first. If
    `roles` is empty, the credential has all roles of the user. If `unrestricted` is true, it may
    create further credentials. If there are access rules ({service, method, path}), it may make
    only these calls. Raises CloudFault.
    """
    user = await cloud.whoami()
    await drop_application_credentials(cloud, user.user_id, key=key)
    body: dict[str, Any] = {
        "name": credential_name(key),
        "description": description,
        "unrestricted": unrestricted,
    }
    if access_rules is not None:
        body["access_rules"] = list(access_rules)
    if roles:
        body["roles"] = [{"name": name} for name in roles]
    answer = await cloud.request(
        "identity", "POST", _of(user.user_id), json={"application_credential": body}
    )
    ident = made_id(answer, "application_credential")
    return ident, str(answer.part("application_credential")["secret"])


async def drop_application_credentials(cloud: Cloud, user_id: str, *, key: str) -> None:
    """Delete the application credentials of a user whose name belongs to `key`, if any."""
    path = f"{_of(user_id)}?name={segment(credential_name(key))}"
    for credential in await cloud.listing("identity", path):
        with suppress(NotFound):
            await cloud.request(
                "identity", "DELETE", f"{_of(user_id)}/{segment(credential['id'])}", idempotent=True
            )


async def drop_access_rules(cloud: Cloud, user_id: str, rules: Sequence[Body]) -> None:
    """Delete the access rules of a user that are in `rules` and that no credential uses.

    Each rule is a map {service, method, path}. Keystone does not delete the access rules together
    with their credential.
    """
    path = f"/v3/users/{segment(user_id)}/access_rules"
    for rule in await cloud.listing("identity", path):
        if {name: rule.get(name) for name in RULE} not in rules:
            continue
        try:
            await cloud.request(
                "identity", "DELETE", f"{path}/{segment(rule['id'])}", idempotent=True
            )
        except CloudFault as fault:
            if fault.status not in IN_USE and not isinstance(fault, NotFound):
                raise


def credential_name(key: str) -> str:
    """Return the name of the application credential for a key."""
    return f"{MADE_BY}-{key}"


def _of(user_id: str) -> str:
    return f"/v3/users/{segment(user_id)}/application_credentials"
