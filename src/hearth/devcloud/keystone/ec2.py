"""`ec2tokens` and `s3tokens`: a signed request of another cloud's protocol for a token."""

from __future__ import annotations

import hmac
import json

from hearth.devcloud.http import Body, Call, Reply, Route
from hearth.devcloud.keystone import signature, tokens
from hearth.devcloud.keystone.assignments import expanded, roles_on
from hearth.devcloud.keystone.auth import unauthorized
from hearth.devcloud.keystone.credentials import ec2_pair
from hearth.devcloud.keystone.rest import bad


def _given(call: Call) -> Body:
    body = call.json()
    given = None
    if isinstance(body, dict):
        given = body.get("credentials") or body.get("ec2Credentials")
    if not isinstance(given, dict) or "access" not in given:
        raise bad("credentials with an access key are required")
    return given


def ec2_tokens(call: Call) -> Reply:
    """POST /v3/ec2tokens: 200 and a token when the signature holds."""
    given = _given(call)
    return _token(call, given, lambda secret: signature.verifies(secret, given))


def s3_tokens(call: Call) -> Reply:
    """POST /v3/s3tokens."""
    given = _given(call)

    def holds(secret: str) -> bool:
        expected = signature.s3(secret, str(given.get("token", "")))
        return hmac.compare_digest(expected, str(given.get("signature", "")))

    return _token(call, given, holds)


def _token(call: Call, given: Body, holds: object) -> Reply:
    assert callable(holds)
    store = call.cloud.store
    pair = ec2_pair(call, str(given["access"]))
    if pair is None or not holds(json.loads(pair.body["blob"])["secret"]):
        raise unauthorized()
    user = store.get("identity.users", pair.body["user_id"])
    project = store.get("identity.projects", pair.body["project_id"])
    if user is None or project is None or not user.body["enabled"] or not project.body["enabled"]:
        raise unauthorized()
    roles = expanded(store, roles_on(store, user.id, project.id))
    trust_id = json.loads(pair.body["blob"]).get("trust_id")
    trust = store.get("identity.trusts", trust_id) if trust_id else None
    if trust is not None:
        roles = expanded(store, trust.hidden["roles"])
    if not roles:
        raise unauthorized()
    token = tokens.issue(
        call.cloud,
        user=user,
        methods=["ec2credential"],
        roles=roles,
        project_id=project.id,
        trust=trust,
    )
    shown = {"token": tokens.view(call.cloud, token, with_catalogue=True)}
    return Reply(200, shown, {"X-Subject-Token": token.id})


ROUTES: list[Route] = [
    ("POST", "/v3/ec2tokens", ec2_tokens),
    ("POST", "/v3/s3tokens", s3_tokens),
]
