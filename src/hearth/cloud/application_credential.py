"""Application credentials that Hearth creates for a user: like trusts, they stay valid after the
user's token expires.

Their name is derived from the key, so they can be found again. Only the answer to the create
contains the secret, so a credential whose answer was lost is deleted and created again.
"""

from collections.abc import Sequence
from typing import Any

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.cloud.identity import made_id
from hearth.cloud.path import segment

MADE_BY = "hearth"


async def make_application_credential(
    cloud: Cloud, roles: Sequence[str], *, key: str
) -> tuple[str, str]:
    """Create a restricted credential for the user of `cloud` in its project; return id and secret.

    Without roles it has all roles of the user. Raises CloudFault.
    """
    who = await cloud.whoami()
    await drop_application_credentials(cloud, who.user_id, key=key)
    wanted: dict[str, Any] = {
        "name": credential_name(key),
        "description": "For what a stack does when nobody asks",
        "unrestricted": False,
    }
    if roles:
        wanted["roles"] = [{"name": name} for name in roles]
    answer = await cloud.request(
        "identity", "POST", _of(who.user_id), json={"application_credential": wanted}
    )
    ident = made_id(answer, "application_credential")
    return ident, str(answer.part("application_credential")["secret"])


async def drop_application_credentials(cloud: Cloud, user_id: str, *, key: str) -> None:
    """Delete the credentials of a user that have this key, if they exist."""
    path = f"{_of(user_id)}?name={segment(credential_name(key))}"
    for found in await cloud.listing("identity", path):
        try:
            await cloud.request(
                "identity", "DELETE", f"{_of(user_id)}/{segment(found['id'])}", idempotent=True
            )
        except CloudFault as fault:
            if not fault.not_found:
                raise


def credential_name(key: str) -> str:
    """Return the name of the credential for a key."""
    return f"{MADE_BY}-{key}"


def _of(user_id: str) -> str:
    return f"/v3/users/{segment(user_id)}/application_credentials"
