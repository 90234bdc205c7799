"""Application credentials that Hearth makes for a user: like trusts they outlive its token.

They are found again by their name, which follows from the key. Their secret is known only to
whoever got the answer, so one whose answer was lost is deleted and made anew.
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
    """Id and secret of a restricted one for the user of `cloud` in its project; no roles: all of
    the user's. Raises CloudFault."""
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
    """Delete a user's credentials under a key; those that are gone already are well."""
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
    """The name of what is made under a key."""
    return f"{MADE_BY}-{key}"


def _of(user_id: str) -> str:
    return f"/v3/users/{segment(user_id)}/application_credentials"
