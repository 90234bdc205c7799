"""The API `OS-TRUST`: by a trust, a user delegates roles in a project to another user."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    Collection,
    Field,
    Invalid,
    boolean,
    integer,
    list_of,
    mapping,
    nullable,
    text,
)
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.keystone import people, tokens
from hearth_devcloud.keystone.rest import bad, find, forbidden, link, listed, missing
from hearth_devcloud.keystone.role_grants import expanded, roles_on
from hearth_devcloud.store import Resource, stamp_micro_z

TRUSTS = Collection(
    "identity",
    "trusts",
    "trust",
    {
        "trustor_user_id": Field(text(), required=True),
        "trustee_user_id": Field(text(), required=True),
        "impersonation": Field(boolean, required=True),
        "project_id": Field(text(null=True)),
        "expires_at": Field(nullable(text())),
        "remaining_uses": Field(integer(1, null=True)),
        "roles": Field(list_of(mapping), default=list),
        "allow_redelegation": Field(boolean),
        "redelegation_count": Field(integer(0, null=True), default=0),
        "redelegated_trust_id": Field(text(null=True)),
        "deleted_at": Field(create=False),
    },
)
ALIKE = ("trustee_user_id", "project_id", "impersonation", "expires_at")


def _view(call: Call, trust: Resource, *, detail: bool) -> Body:
    body = dict(trust.body)
    if detail:
        roles = []
        for role_id in trust.hidden["roles"]:
            role = call.cloud.store.get(tables.ROLES, role_id)
            if role is not None:
                roles.append(people.roles.view(call, role))
        body["roles"] = roles
        body["roles_links"] = {
            "self": link(call, f"{trust.id}/roles"),
            "next": None,
            "previous": None,
        }
    body["links"] = {"self": link(call, f"OS-TRUST/trusts/{trust.id}")}
    return body


def create(call: Call) -> Reply:
    """Handle POST of a trust; reply with status 201.

    Only the trustor may create a trust, and only for roles that the trustor has in the project.
    """
    try:
        values = TRUSTS.for_create(call.object("trust"))
    except Invalid as error:
        raise bad(error.message) from None
    caller, store = call.caller, call.cloud.store
    _not_by_application(call)
    if values["trustor_user_id"] != caller.user_id:
        raise forbidden()
    if caller.trust_id:
        raise forbidden()
    find(call, "users", values["trustee_user_id"])
    project_id = values["project_id"]
    role_ids: list[str] = []
    if project_id is not None:
        find(call, "projects", project_id)
        if not values["roles"]:
            raise bad("At least one role should be specified")
        has = {r.id: r for r in expanded(store, roles_on(store, caller.user_id, project_id))}
        by_name = {role.body["name"]: role_id for role_id, role in has.items()}
        for role in values["roles"]:
            role_id = role.get("id") or by_name.get(role.get("name", ""))
            if role_id not in has:
                raise missing("role", str(role.get("name") or role_id))
            role_ids.append(role_id)
    values.pop("roles")
    values.pop("allow_redelegation")
    if values["expires_at"]:
        try:
            expires = tokens.parse_time(values["expires_at"])
        except ValueError:
            raise bad("expires_at must be a time such as 2026-01-31T12:00:00.000000Z") from None
        if expires <= store.time:
            raise bad("expires_at must be in the future")
        values["expires_at"] = stamp_micro_z(int(expires))  # the database keeps whole seconds
        _unlike_all_before(call, values)
    trust_id = store.new_hex()
    hidden: Body = {"roles": [role.id for role in expanded(store, role_ids)]}
    trust = Resource(trust_id, TRUSTS.table, project_id, {"id": trust_id, **values}, hidden)
    store.insert(trust)
    return Reply(201, {"trust": _view(call, trust, detail=True)})


def _unlike_all_before(call: Call, values: Body) -> None:
    """Raise Refusal 409 if the trustor has created an equal trust before, even a deleted one."""
    trustor = find(call, "users", values["trustor_user_id"])
    alike = [values[name] for name in ALIKE]
    if alike in trustor.hidden.setdefault("trusts", []):
        raise Refusal(409, message="Conflict occurred attempting to store trust - Duplicate entry")
    trustor.hidden["trusts"].append(alike)


def trusts(call: Call) -> Reply:
    """Handle GET of the trusts of a trustor or trustee; administrators can list all trusts."""
    _not_by_application(call)
    keys = ("trustor_user_id", "trustee_user_id")
    filters = {key: value for key in keys if (value := call.argument(key))}
    if not call.caller.is_admin and call.caller.user_id not in filters.values():
        raise forbidden()
    matching = call.cloud.store.where(TRUSTS.table, **filters)
    return listed(call, "trusts", [_view(call, trust, detail=False) for trust in matching])


def _not_by_application(call: Call) -> None:
    if call.caller.application_credential_id:
        raise Refusal(403, message="Delegated tokens cannot manage trusts.")


def _own(call: Call) -> Resource:
    _not_by_application(call)
    trust = find(call, "trusts", call.ids[0])
    parties = (trust.body["trustor_user_id"], trust.body["trustee_user_id"])
    if call.caller.user_id not in parties and not call.caller.is_admin:
        raise forbidden()
    return trust


def show(call: Call) -> Reply:
    """Handle GET of a trust."""
    return Reply(200, {"trust": _view(call, _own(call), detail=True)})


def delete(call: Call) -> Reply:
    """Handle DELETE of a trust by the trustor or an administrator; reply with status 204.

    The tokens of the trust become invalid.
    """
    trust = _own(call)
    if trust.body["trustor_user_id"] != call.caller.user_id and not call.caller.is_admin:
        raise forbidden()
    call.cloud.store.remove(trust)
    people.drop(call.cloud.store, "tokens", trust_id=trust.id)
    return Reply(204)


def roles(call: Call) -> Reply:
    """Handle GET of the roles of a trust."""
    return listed(call, "roles", _view(call, _own(call), detail=True)["roles"])


def role(call: Call) -> Reply:
    """Handle GET of one role of a trust."""
    for role_view in _view(call, _own(call), detail=True)["roles"]:
        if role_view["id"] == call.ids[1]:
            return Reply(200, {"role": role_view})
    raise Refusal(404, message="The trust has no such role")


ROUTES: list[Route] = [
    ("POST", "/v3/OS-TRUST/trusts", create),
    ("GET", "/v3/OS-TRUST/trusts", trusts),
    ("GET", "/v3/OS-TRUST/trusts/{}", show),
    ("DELETE", "/v3/OS-TRUST/trusts/{}", delete),
    ("GET", "/v3/OS-TRUST/trusts/{}/roles", roles),
    ("GET", "/v3/OS-TRUST/trusts/{}/roles/{}", role),
]
