"""Delegation to services of the cloud: trusts that a service creates for a user."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.caller import Caller
from hearth_devcloud.http import Body, Cloud, Refusal
from hearth_devcloud.keystone import people, tokens
from hearth_devcloud.keystone.role_grants import expanded, has_roles
from hearth_devcloud.store import Resource


def entrust(cloud: Cloud, caller: Caller, service: str) -> Resource:
    """Create a trust from the caller to the user `service`, and return it.

    It delegates all roles of the caller's token. Raises Refusal 403 if the caller uses a trust or
    an application credential.
    """
    if caller.delegated or not caller.user_id:
        message = "A trust or an application credential cannot be used to delegate to a service."
        raise Refusal(403, "Forbidden", message)
    ident = cloud.store.new_hex()
    body: Body = {
        "id": ident,
        "trustor_user_id": caller.user_id,
        "trustee_user_id": _user(cloud, service).id,
        "impersonation": True,
        "project_id": caller.project_id,
        "expires_at": None,
        "remaining_uses": None,
        "redelegation_count": 0,
        "redelegated_trust_id": None,
        "deleted_at": None,
    }
    hidden: Body = {"roles": list(caller.role_ids), "made_by": service}
    return cloud.store.insert(
        Resource(ident, tables.TRUSTS, caller.project_id, body, hidden), implicit=True
    )


def gave(cloud: Cloud, caller: Caller, service: str, trust_id: str) -> bool:
    """Return whether the trust is from the caller, in the caller's project, to a service."""
    trust = cloud.store.get(tables.TRUSTS, trust_id)
    fields = {
        "trustor_user_id": caller.user_id,
        "trustee_user_id": _user(cloud, service).id,
        "project_id": caller.project_id,
    }
    return trust is not None and fields.items() <= trust.body.items()


def token(cloud: Cloud, service: str, trust_id: str) -> str | None:
    """Return a new token for a trust to a service, or None if the trust is not valid any more."""
    store, trust = cloud.store, cloud.store.get(tables.TRUSTS, trust_id)
    user = _user(cloud, service)
    if trust is None or trust.body["trustee_user_id"] != user.id:
        return None
    trustor = store.get(tables.USERS, trust.body["trustor_user_id"])
    if trustor is None or not trustor.body["enabled"]:
        return None
    project_id = trust.body["project_id"]
    roles = expanded(store, trust.hidden["roles"])
    if not has_roles(store, trustor.id, project_id, [role.id for role in roles]):
        return None
    new_token = tokens.issue(
        cloud,
        user=trustor,
        authenticated=user,
        roles=roles,
        project_id=project_id,
        methods=["password"],
        trust=trust,
    )
    return new_token.id


def end(cloud: Cloud, trust_id: str | None) -> None:
    """Delete a trust and its tokens. Do nothing if a user created the trust."""
    trust = cloud.store.get(tables.TRUSTS, trust_id)
    if trust is not None and "made_by" in trust.hidden:
        cloud.store.remove(trust)
        people.drop(cloud.store, "tokens", trust_id=trust.id)
        cloud.callers.clear()


def _user(cloud: Cloud, service: str) -> Resource:
    return cloud.store.where(tables.USERS, name=service, domain_id="default")[0]
