"""The APIs `ec2tokens` and `s3tokens`, which issue a token for a request with an AWS signature."""

from __future__ import annotations

import hmac
import json
from datetime import UTC, datetime

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.keystone import signature, tokens
from hearth_devcloud.keystone.auth import unauthorized
from hearth_devcloud.keystone.credentials import ec2_pair
from hearth_devcloud.keystone.rest import bad, forbidden
from hearth_devcloud.keystone.role_grants import expanded, has_roles, roles_on

SIGNATURE_LIFE_S = 15 * 60  # for signatures with a time; Keystone's [credential] auth_ttl


JUDGES = frozenset({"admin", "service"})  # roles that may ask of signatures


def _given(call: Call) -> Body:
    if not call.caller.roles & JUDGES:
        raise forbidden()
    body = call.json()
    credentials = None
    if isinstance(body, dict):
        credentials = body.get("credentials") or body.get("ec2Credentials")
    if not isinstance(credentials, dict) or "access" not in credentials:
        raise bad("credentials with an access key are required")
    return credentials


def ec2_tokens(call: Call) -> Reply:
    """Handle POST /v3/ec2tokens: issue a token if the signature is valid and not too old."""
    credentials, now = _given(call), call.cloud.store.time
    return _token(
        call,
        credentials,
        lambda secret: signature.verifies(secret, credentials) and _in_time(credentials, now),
    )


def _in_time(credentials: Body, now: float) -> bool:
    """Return whether a signature has not expired. A signature without a time never expires."""
    params, headers = credentials.get("params") or {}, credentials.get("headers") or {}
    timestamp = params.get("Timestamp") or headers.get("X-Amz-Date") or params.get("X-Amz-Date")
    if not timestamp:
        return True
    try:
        signed_at = datetime.fromisoformat(str(timestamp))
    except ValueError:
        return False
    if signed_at.tzinfo is None:
        signed_at = signed_at.replace(tzinfo=UTC)
    return now <= signed_at.timestamp() + SIGNATURE_LIFE_S


def s3_tokens(call: Call) -> Reply:
    """Handle POST /v3/s3tokens: issue a token if the signature of an S3 request is valid."""
    credentials = _given(call)

    def holds(secret: str) -> bool:
        expected = signature.s3(secret, str(credentials.get("token", "")))
        return hmac.compare_digest(expected, str(credentials.get("signature", "")))

    return _token(call, credentials, holds)


def _token(call: Call, credentials: Body, holds: object) -> Reply:
    assert callable(holds)
    store = call.cloud.store
    pair = ec2_pair(call, str(credentials["access"]))
    if pair is None:
        raise Refusal(404, message="EC2 access key not found.")
    if not holds(json.loads(pair.body["blob"])["secret"]):
        raise unauthorized()
    user = store.get(tables.USERS, pair.body["user_id"])
    project = store.get("identity.projects", pair.body["project_id"])
    if user is None or project is None or not user.body["enabled"] or not project.body["enabled"]:
        raise unauthorized()
    roles = expanded(store, roles_on(store, user.id, project.id))
    trust_id = json.loads(pair.body["blob"]).get("trust_id")
    trust = store.get(tables.TRUSTS, trust_id) if trust_id else None
    if trust is not None:
        roles = expanded(store, trust.hidden["roles"])
    trustor_id = user.id if trust is None else trust.body["trustor_user_id"]
    if not roles or not has_roles(store, trustor_id, project.id, [role.id for role in roles]):
        raise unauthorized()
    token = tokens.issue(
        call.cloud,
        user=user,
        methods=["ec2credential"],
        roles=roles,
        project_id=project.id,
        trust=trust,
    )
    body = {"token": tokens.view(call.cloud, token, with_catalogue=True)}
    return Reply(200, body, {"X-Subject-Token": token.id})


ROUTES: list[Route] = [
    ("POST", "/v3/ec2tokens", ec2_tokens),
    ("POST", "/v3/s3tokens", s3_tokens),
]
