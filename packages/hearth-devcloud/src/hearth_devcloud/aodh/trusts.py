"""Trusts from the creator of an alarm to the alarm service.

The service uses the trust of an alarm when it calls the action URLs of the alarm.

The id of a trust is stored in the action URL: `trust+https://host/…` becomes
`trust+https://TRUST:delete@host/…`. "delete" means that the service created the trust and deletes
it together with the alarm.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call, Cloud, Refusal

USER = "aodh"
TRUSTED = "trust+"
_OWN = "delete"


def given(cloud: Cloud, method: str, path: str, token: str | None, body: Body) -> Any:
    """Call another service of the cloud and return its reply.

    If that service refuses the call, raise Refusal with the same status.
    """
    headers = {"X-Auth-Token": token} if token else {}
    reply = cloud.request(method, path, headers, json.dumps(body).encode())
    if reply.status >= 400:
        raise Refusal(reply.status, message=f"{path}: {reply.body}")
    return reply


def without(url: str) -> SplitResult:
    """Split a URL into its parts, after removing the prefix `trust+` of its scheme."""
    return urlsplit(url.removeprefix(TRUSTED))


def of(actions: Iterable[str]) -> set[str]:
    """Return the ids of those trusts in action URLs that were created by the alarm service."""
    parts = (without(url) for url in actions if url.startswith(TRUSTED))
    return {address.username for address in parts if address.username and address.password == _OWN}


def completed(call: Call, actions: Mapping[str, list[str]], trust_ids: set[str]) -> Body:
    """Return the action URLs by state, with a trust inserted into each URL that needs one.

    A trust in `trust_ids` (ids of the alarm's trusts) is reused; otherwise a new one is created.
    """
    lacking = [
        url
        for urls in actions.values()
        for url in urls
        if url.startswith(TRUSTED) and "@" not in without(url).netloc
    ]
    if not lacking:
        return dict(actions)
    trust = next(iter(sorted(trust_ids)), None) or _made(call)
    return {
        state: [_with(url, trust) if url in lacking else url for url in urls]
        for state, urls in actions.items()
    }


def _with(url: str, trust: str) -> str:
    parts = without(url)
    netloc = f"{trust}:{_OWN}@{parts.netloc}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{TRUSTED}{parts.scheme}://{netloc}{parts.path}{query}"


def _made(call: Call) -> str:
    """Create a trust from the caller to the alarm service; return its id."""
    caller = call.caller
    roles = sorted(caller.roles)
    attributes: Body = {
        "trustor_user_id": caller.user_id,
        "trustee_user_id": _user(call.cloud),
        "impersonation": True,
        "project_id": caller.project_id,
        "roles": [{"name": name} for name in roles],
    }
    path = "/identity/v3/OS-TRUST/trusts"
    reply = given(call.cloud, "POST", path, caller.token, {"trust": attributes})
    return str(reply.body["trust"]["id"])


def dropped(cloud: Cloud, trusts: Iterable[str]) -> None:
    """Delete the trusts with these ids; ids without a trust are ignored."""
    for trust_id in trusts:
        trust = cloud.store.get(tables.TRUSTS, trust_id)
        if trust is not None:
            cloud.store.remove(trust)
            cloud.callers.clear()


def token(cloud: Cloud, trust_id: str) -> str:
    """Return a new token for the trust. Raises Refusal if the trust is invalid."""
    user = {"id": _user(cloud), "password": cloud.settings.password}
    identity = {"methods": ["password"], "password": {"user": user}}
    auth = {"identity": identity, "scope": {"OS-TRUST:trust": {"id": trust_id}}}
    reply = given(cloud, "POST", "/identity/v3/auth/tokens", None, {"auth": auth})
    return str(reply.headers["X-Subject-Token"])


def _user(cloud: Cloud) -> str:
    return cloud.store.where(tables.USERS, name=USER)[0].id
