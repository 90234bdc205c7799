"""The API of users' credentials: generic credentials, EC2 key pairs, application credentials."""

from __future__ import annotations

import hashlib
import json

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    Collection,
    Field,
    Invalid,
    boolean,
    list_of,
    mapping,
    nullable,
    text,
)
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.keystone import access_rules
from hearth_devcloud.keystone.people import drop, roles
from hearth_devcloud.keystone.rest import (
    bad,
    find,
    forbidden,
    link,
    listed,
    missing,
    self_or_admin,
)
from hearth_devcloud.keystone.role_grants import expanded
from hearth_devcloud.store import Resource

CREDENTIALS = Collection(
    "identity",
    "credentials",
    "credential",
    {
        "user_id": Field(text(null=True)),
        "project_id": Field(text(null=True)),
        "type": Field(text(), required=True),
        "blob": Field(text(1_000_000), required=True),
    },
)
APPLICATION_CREDENTIALS = Collection(
    "identity",
    "application_credentials",
    "application_credential",
    {
        "name": Field(text(), required=True),
        "description": Field(text(10000, null=True)),
        "secret": Field(text(null=True)),
        "expires_at": Field(text(null=True)),
        "unrestricted": Field(boolean),
        "roles": Field(list_of(mapping), default=list),
        "access_rules": Field(nullable(list_of(mapping))),
    },
)


def _view(call: Call, credential: Resource) -> Body:
    return {**credential.body, "links": {"self": link(call, f"credentials/{credential.id}")}}


def create(call: Call) -> Reply:
    """Handle POST /v3/credentials; reply with status 201.

    The id of a credential of type `ec2` is the SHA-256 hash of its access key.
    """
    try:
        values = CREDENTIALS.for_create(call.object("credential"))
    except Invalid as error:
        raise bad(error.message) from None
    values["user_id"] = values["user_id"] or call.caller.user_id
    self_or_admin(call, values["user_id"])
    credential_id = call.cloud.store.new_hex()
    if values["type"] == "ec2":
        try:
            access = json.loads(values["blob"])["access"]
        except (ValueError, KeyError, TypeError):
            raise bad("The blob of an ec2 credential must be JSON with an access key") from None
        if not values["project_id"]:
            raise bad("An ec2 credential needs a project_id")
        credential_id = _ec2_id(access)
        if call.cloud.store.get(CREDENTIALS.table, credential_id) is not None:
            raise Refusal(409, message="Duplicate entry")
    credential = Resource(
        credential_id, CREDENTIALS.table, values["project_id"], {"id": credential_id, **values}
    )
    call.cloud.store.insert(credential)
    return Reply(201, {"credential": _view(call, credential)})


def credentials(call: Call) -> Reply:
    """Handle GET /v3/credentials: list the caller's credentials; for an administrator, all."""
    filters = {key: value for key in ("user_id", "type") if (value := call.argument(key))}
    if not call.caller.is_admin:
        filters["user_id"] = call.caller.user_id
    owned = call.cloud.store.where(CREDENTIALS.table, **filters)
    return listed(call, "credentials", [_view(call, credential) for credential in owned])


def _own(call: Call) -> Resource:
    credential = find(call, "credentials", call.ids[0])
    self_or_admin(call, credential.body["user_id"])
    return credential


def show(call: Call) -> Reply:
    """Handle GET of a credential."""
    return Reply(200, {"credential": _view(call, _own(call))})


def update(call: Call) -> Reply:
    """Handle PATCH of a credential."""
    credential = _own(call)
    try:
        credential.body.update(CREDENTIALS.for_update(call.object("credential")))
    except Invalid as error:
        raise bad(error.message) from None
    return Reply(200, {"credential": _view(call, credential)})


def delete(call: Call) -> Reply:
    """Handle DELETE of a credential; reply with status 204."""
    call.cloud.store.remove(_own(call))
    return Reply(204)


def _ec2_id(access: str) -> str:
    return hashlib.sha256(access.encode()).hexdigest()


def ec2_pair(call: Call, access: str) -> Resource | None:
    """Return the EC2 credential with this access key, or None."""
    return call.cloud.store.get(CREDENTIALS.table, _ec2_id(access))


def _ec2_view(call: Call, credential: Resource) -> Body:
    blob = json.loads(credential.body["blob"])
    path = f"users/{credential.body['user_id']}/credentials/OS-EC2/{blob['access']}"
    return {
        "user_id": credential.body["user_id"],
        "tenant_id": credential.body["project_id"],
        "access": blob["access"],
        "secret": blob["secret"],
        "trust_id": blob.get("trust_id"),
        "links": {"self": link(call, path)},
    }


def _in_project(call: Call, user_id: str) -> None:
    """Raise Refusal 403 unless the caller may use the EC2 key pairs of a user.

    The caller must be this user, or an administrator whose token is scoped to a project. Tokens of
    trusts and application credentials are refused.
    """
    if call.caller.delegated:
        raise Refusal(403, message="Delegated tokens cannot access credentials directly.")
    self_or_admin(call, user_id)
    if call.caller.project_id is None and call.caller.user_id != user_id:
        raise forbidden()


def create_ec2(call: Call) -> Reply:
    """Handle POST /v3/users/{id}/credentials/OS-EC2: create an EC2 key pair."""
    user = find(call, "users", call.ids[0])
    _in_project(call, user.id)
    request = call.json()
    tenant = request.get("tenant_id") if isinstance(request, dict) else None
    if not tenant:
        raise bad("tenant_id is required")
    find(call, "projects", tenant)
    store = call.cloud.store
    blob = {"access": store.new_hex(), "secret": store.new_hex(), "trust_id": call.caller.trust_id}
    credential_id = _ec2_id(str(blob["access"]))
    body = {"id": credential_id, "user_id": user.id, "project_id": tenant, "type": "ec2"}
    body["blob"] = json.dumps(blob)
    credential = store.insert(Resource(credential_id, CREDENTIALS.table, tenant, body))
    return Reply(201, {"credential": _ec2_view(call, credential)})


def ec2_pairs(call: Call) -> Reply:
    """Handle GET of a user's EC2 key pairs."""
    _in_project(call, call.ids[0])
    owned = call.cloud.store.where(CREDENTIALS.table, user_id=call.ids[0], type="ec2")
    return listed(call, "credentials", [_ec2_view(call, credential) for credential in owned])


def _ec2_own(call: Call) -> Resource:
    self_or_admin(call, call.ids[0])
    credential = ec2_pair(call, call.ids[1])
    if credential is None or credential.body["user_id"] != call.ids[0]:
        raise missing("credential", call.ids[1])
    return credential


def show_ec2(call: Call) -> Reply:
    """Handle GET of an EC2 key pair."""
    return Reply(200, {"credential": _ec2_view(call, _ec2_own(call))})


def delete_ec2(call: Call) -> Reply:
    """Handle DELETE of an EC2 key pair; reply with status 204."""
    call.cloud.store.remove(_ec2_own(call))
    return Reply(204)


def _application_view(call: Call, credential: Resource) -> Body:
    body = dict(credential.body)
    views = []
    for role_id in credential.hidden["roles"]:
        role = call.cloud.store.get(tables.ROLES, role_id)
        if role is not None:
            view = roles.view(call, role)
            view.pop("links")
            views.append(view)
    body["roles"] = views
    rules = access_rules.of_credential(call.cloud.store, credential)
    if rules is not None:
        body["access_rules"] = rules
    body["links"] = {"self": link(call, f"application_credentials/{credential.id}")}
    return body


def create_application(call: Call) -> Reply:
    """Handle POST /v3/users/{id}/application_credentials; reply with status 201.

    Only this reply contains the secret.
    """
    caller, store = call.caller, call.cloud.store
    if caller.user_id != call.ids[0] or caller.project_id is None:
        raise forbidden()
    if caller.trust_id:
        raise forbidden()
    _manages_applications(call)
    try:
        values = APPLICATION_CREDENTIALS.for_create(call.object("application_credential"))
    except Invalid as error:
        raise bad(error.message) from None
    table = APPLICATION_CREDENTIALS.table
    if store.where(table, name=values["name"], user_id=caller.user_id):
        raise Refusal(409, message="An application credential with this name already exists.")
    secret = values.pop("secret") or store.new_secret(64)
    requested = values.pop("roles")
    rules = values.pop("access_rules")
    chosen = list(caller.role_ids)
    if requested:
        has = {role.body["name"]: role.id for role in expanded(store, caller.role_ids)}
        chosen = [role.get("id") or has.get(role.get("name", ""), "") for role in requested]
        if not set(chosen) <= set(has.values()):
            raise bad("The user does not have all of the requested roles in the project")
    credential_id = store.new_hex()
    body = {
        "id": credential_id,
        "name": values["name"],
        "description": values["description"],
        "user_id": caller.user_id,
        "project_id": caller.project_id,
        "system": None,
        "expires_at": values["expires_at"],
        "unrestricted": values["unrestricted"],
    }
    hidden: Body = {
        "secret": secret,
        "roles": [role.id for role in expanded(store, chosen)],
        "access_rules": None if rules is None else access_rules.chosen(call, rules),
    }
    credential = store.insert(Resource(credential_id, table, caller.project_id, body, hidden))
    view = _application_view(call, credential)
    view["secret"] = secret
    return Reply(201, {"application_credential": view})


def _manages_applications(call: Call) -> None:
    """Raise Refusal 403 if the caller uses a restricted application credential."""
    by = call.caller.application_credential_id
    if by and not find(call, "application_credentials", by).body["unrestricted"]:
        message = "Using method 'application_credential' is not allowed for managing additional "
        raise Refusal(403, message=f"{message}application credentials.")


def applications(call: Call) -> Reply:
    """Handle GET of a user's application credentials."""
    self_or_admin(call, call.ids[0])
    if call.caller.trust_id:
        raise forbidden()
    filters = {"user_id": call.ids[0]}
    if name := call.argument("name"):
        filters["name"] = name
    owned = call.cloud.store.where(APPLICATION_CREDENTIALS.table, **filters)
    return listed(call, "application_credentials", [_application_view(call, t) for t in owned])


def _application_own(call: Call) -> Resource:
    self_or_admin(call, call.ids[0])
    credential = find(call, "application_credentials", call.ids[1])
    if credential.body["user_id"] != call.ids[0]:
        raise missing("application credential", call.ids[1])
    return credential


def show_application(call: Call) -> Reply:
    """Handle GET of an application credential."""
    credential = _application_own(call)
    return Reply(200, {"application_credential": _application_view(call, credential)})


def delete_application(call: Call) -> Reply:
    """Handle DELETE of an application credential and its tokens; reply with status 204."""
    credential = _application_own(call)
    _manages_applications(call)
    call.cloud.store.remove(credential)
    drop(call.cloud.store, "tokens", application_credential_id=credential.id)
    return Reply(204)


_EC2 = "/v3/users/{}/credentials/OS-EC2"
_APPLICATION = "/v3/users/{}/application_credentials"

ROUTES: list[Route] = [
    ("POST", "/v3/credentials", create),
    ("GET", "/v3/credentials", credentials),
    ("GET", "/v3/credentials/{}", show),
    ("PATCH", "/v3/credentials/{}", update),
    ("DELETE", "/v3/credentials/{}", delete),
    ("POST", _EC2, create_ec2),
    ("GET", _EC2, ec2_pairs),
    ("GET", _EC2 + "/{}", show_ec2),
    ("DELETE", _EC2 + "/{}", delete_ec2),
    ("POST", _APPLICATION, create_application),
    ("GET", _APPLICATION, applications),
    ("GET", _APPLICATION + "/{}", show_application),
    ("DELETE", _APPLICATION + "/{}", delete_application),
]
