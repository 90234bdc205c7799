"""The API of access rules, which are the calls that an application credential may make.

A rule belongs to a user. Credentials of the user with equal rules share one rule. The rule
stays when the credentials are deleted.
"""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.keystone.rest import bad, find, link, listed, missing, self_or_admin
from hearth_devcloud.store import Resource, Store

_TABLE = "identity.access_rules"
_CREDENTIALS = "identity.application_credentials"
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def chosen(call: Call, rules: list[Body]) -> list[str]:
    """Return the ids of the access rules in the request for a new credential.

    Rules that do not exist yet are created. Raises Refusal 400 or 404.
    """
    return [_chosen(call, rule) for rule in rules]


def _chosen(call: Call, rule: Body) -> str:
    store, user_id = call.cloud.store, call.caller.user_id
    if "id" in rule and len(rule) == 1:
        existing = store.get(_TABLE, str(rule["id"]))
        if existing is None or existing.body["user_id"] != user_id:
            raise missing("access rule", str(rule["id"]))
        return existing.id
    if rule.keys() - {"id"} != {"service", "method", "path"}:
        raise bad("An access rule needs a service, a method and a path")
    if not all(isinstance(value, str) for value in rule.values()):
        raise bad("The values of an access rule must be strings")
    if rule["method"] not in _METHODS or not rule["path"].startswith("/"):
        raise bad(
            f"An access rule needs a method of {', '.join(_METHODS)}, and a path that begins with /"
        )
    about = {"user_id": user_id, **{k: rule[k] for k in ("service", "method", "path")}}
    for twin in store.where(_TABLE, **about):
        return twin.id
    rule_id = store.new_hex()
    return store.insert(Resource(rule_id, _TABLE, None, {"id": rule_id, **about}), implicit=True).id


def of_credential(store: Store, credential: Resource) -> list[Body] | None:
    """Return the access rules of an application credential, or None if it is not restricted."""
    ids = credential.hidden.get("access_rules")
    if ids is None:
        return None
    rules = (store.get(_TABLE, rule_id) for rule_id in ids)
    return [_shown(rule) for rule in rules if rule is not None]


def _shown(rule: Resource) -> dict[str, Any]:
    return {name: rule.body[name] for name in ("id", "service", "method", "path")}


def _view(call: Call, rule: Resource) -> Body:
    path = f"users/{rule.body['user_id']}/access_rules/{rule.id}"
    return {**_shown(rule), "links": {"self": link(call, path)}}


def rules(call: Call) -> Reply:
    """Handle GET of a user's access rules."""
    self_or_admin(call, call.ids[0])
    user_rules = call.cloud.store.where(_TABLE, user_id=call.ids[0])
    return listed(call, "access_rules", [_view(call, rule) for rule in user_rules])


def _own(call: Call) -> Resource:
    self_or_admin(call, call.ids[0])
    rule = find(call, "access_rules", call.ids[1])
    if rule.body["user_id"] != call.ids[0]:
        raise missing("access rule", call.ids[1])
    return rule


def show(call: Call) -> Reply:
    """Handle GET of an access rule."""
    return Reply(200, {"access_rule": _view(call, _own(call))})


def delete(call: Call) -> Reply:
    """Handle DELETE of an access rule; reply with status 204, or 403 if a credential uses it."""
    rule = _own(call)
    for credential in call.cloud.store.where(_CREDENTIALS, user_id=rule.body["user_id"]):
        if rule.id in (credential.hidden.get("access_rules") or ()):
            raise Refusal(403, message="An application credential uses this access rule.")
    call.cloud.store.remove(rule)
    return Reply(204)


_RULES = "/v3/users/{}/access_rules"

ROUTES: list[Route] = [
    ("GET", _RULES, rules),
    ("GET", _RULES + "/{}", show),
    ("DELETE", _RULES + "/{}", delete),
]
