"""Issuing and validation of tokens, and their format in the API."""

from __future__ import annotations

import calendar
import time
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.caller import AccessRule, Caller
from hearth_devcloud.http import Cloud
from hearth_devcloud.keystone.access_rules import of_credential
from hearth_devcloud.keystone.role_grants import has_roles
from hearth_devcloud.store import Resource, Store, stamp_micro_z

Body = dict[str, Any]


def authenticate(cloud: Cloud, token: str | None) -> Caller | None:
    """Return the caller behind a token, or None if it is unknown, expired or invalid."""
    if not token:
        return None
    cached = cloud.callers.get(token)
    if cached is not None and cached.expires > cloud.store.time:
        return cached
    resource = valid(cloud.store, token)
    if resource is None:
        return None
    body = resource.body
    names = frozenset(
        role.body["name"]
        for role_id in body["roles"]
        if (role := cloud.store.get(tables.ROLES, role_id)) is not None
    )
    caller = Caller(
        token=token,
        user_id=body["user_id"],
        project_id=body["project_id"],
        domain_id=body["domain_id"],
        roles=names,
        role_ids=tuple(body["roles"]),
        expires=body["expires"],
        trust_id=body["trust_id"],
        application_credential_id=body["application_credential_id"],
        access_rules=access_rules_of(cloud.store, resource),
    )
    cloud.callers[token] = caller
    return caller


def access_rules_of(store: Store, token: Resource) -> tuple[AccessRule, ...] | None:
    """Return the access rules of the application credential of a token; None for other tokens.

    None also stands for a credential without access rules.
    """
    by = token.body["application_credential_id"]
    credential = store.get("identity.application_credentials", by) if by else None
    rules = None if credential is None else of_credential(store, credential)
    if rules is None:
        return None
    return tuple(AccessRule(rule["service"], rule["method"], rule["path"]) for rule in rules)


EXPIRED_ALLOWED_S = 2 * 24 * 3600.0  # Keystone's [token] allow_expired_window


def valid(store: Store, token: str, *, expired_s: float = 0) -> Resource | None:
    """Return the object of a valid token, or None if the token is not valid.

    The token is valid if it has not expired, or expired less than `expired_s` seconds ago, and if
    all objects that it depends on, such as its user and project, exist and are enabled.
    """
    resource = store.get("identity.tokens", token)
    if resource is None or resource.body["expires"] + expired_s <= store.time:
        return None
    body = resource.body
    for table, key in (
        ("users", "user_id"),
        ("users", "authenticated_id"),
        ("projects", "project_id"),
        ("domains", "domain_id"),
        ("trusts", "trust_id"),
        ("application_credentials", "application_credential_id"),
    ):
        if body[key] is None:
            continue
        owner = store.get(f"identity.{table}", body[key])
        if owner is None or owner.body.get("enabled") is False:
            return None
    return resource


def issue(
    cloud: Cloud,
    *,
    user: Resource,
    methods: list[str],
    roles: list[Resource],
    project_id: str | None = None,
    domain_id: str | None = None,
    authenticated: Resource | None = None,
    trust: Resource | None = None,
    application_credential_id: str | None = None,
    parent: Resource | None = None,
    expires: float | None = None,
) -> Resource:
    """Issue a token for `user` and return its object.

    `authenticated` is the user who authenticated, if that is not `user`, as with a trust. `parent`
    is the token that was used to authenticate. `expires`, in seconds since 1970, can only shorten
    the lifetime.
    """
    store = cloud.store
    token = "gAAAA" + store.new_secret(80)
    audit = [store.new_secret(22)]
    if parent is not None:
        audit.append(parent.body["audit_ids"][-1])
    body: Body = {
        "user_id": user.id,
        "authenticated_id": (authenticated or user).id,
        "project_id": project_id,
        "domain_id": domain_id,
        "roles": [role.id for role in roles],
        "methods": methods,
        "issued": store.time,
        "expires": min(expires or float("inf"), store.time + cloud.settings.token_life_s),
        "audit_ids": audit,
        "trust_id": trust.id if trust is not None else None,
        "application_credential_id": application_credential_id,
    }
    return store.insert(Resource(token, "identity.tokens", project_id, body, seed=True))


def end_without_roles(store: Store) -> None:
    """Remove all tokens with a role that has been taken from their user, or from the trustor of
    their trust.
    """
    for token in store.where("identity.tokens"):
        body = token.body
        target = body["project_id"] or body["domain_id"]
        trust = store.get(tables.TRUSTS, body["trust_id"]) if body["trust_id"] else None
        user_id = trust.body["trustor_user_id"] if trust is not None else body["user_id"]
        if target is not None and not has_roles(store, user_id, target, body["roles"]):
            store.remove(token)


def view(cloud: Cloud, resource: Resource, *, with_catalogue: bool) -> Body:
    """Return a token in the format of Keystone's API."""
    store, body = cloud.store, resource.body
    user = store.table(tables.USERS)[body["user_id"]]
    token: Body = {
        "methods": body["methods"],
        "user": {
            "domain": _domain(store, user.body["domain_id"]),
            "id": user.id,
            "name": user.body["name"],
            "password_expires_at": None,
        },
        "audit_ids": body["audit_ids"],
        "expires_at": stamp_micro_z(body["expires"]),
        "issued_at": stamp_micro_z(body["issued"]),
    }
    if body["trust_id"]:
        trust = store.table(tables.TRUSTS)[body["trust_id"]].body
        token["OS-TRUST:trust"] = {
            "id": body["trust_id"],
            "trustor_user": {"id": trust["trustor_user_id"]},
            "trustee_user": {"id": trust["trustee_user_id"]},
            "impersonation": trust["impersonation"],
        }
    roles = [store.table(tables.ROLES)[role_id] for role_id in body["roles"]]
    if body["project_id"]:
        project = store.table("identity.projects")[body["project_id"]]
        token["project"] = {
            "domain": _domain(store, project.body["domain_id"]),
            "id": project.id,
            "name": project.body["name"],
        }
        if not body["trust_id"]:
            token["is_domain"] = False
    elif body["domain_id"]:
        token["domain"] = _domain(store, body["domain_id"])
    else:
        return token
    if body["trust_id"]:
        token["roles"] = [dict(role.body) for role in roles]
    else:
        token["roles"] = [{"id": role.id, "name": role.body["name"]} for role in roles]
    if body["application_credential_id"]:
        token["application_credential"] = _application_credential(store, body)
    if with_catalogue:
        token["catalog"] = catalogue(cloud, body["project_id"])
    return token


def _domain(store: Store, domain_id: str) -> Body:
    return {"id": domain_id, "name": store.table("identity.domains")[domain_id].body["name"]}


def _application_credential(store: Store, body: Body) -> Body:
    credential = store.table("identity.application_credentials")[body["application_credential_id"]]
    view: Body = {
        "id": credential.id,
        "name": credential.body["name"],
        "restricted": not credential.body["unrestricted"],
    }
    rules = of_credential(store, credential)
    if rules is not None:
        view["access_rules"] = rules
    return view


def catalogue(cloud: Cloud, project_id: str | None) -> list[Body]:
    """Return the service catalogue: all enabled endpoints, with the project id in their URLs."""
    by_service: dict[str, list[Body]] = {}
    for endpoint in cloud.store.all(tables.ENDPOINTS):
        body = endpoint.body
        if not body["enabled"]:
            continue
        url = body["url"]
        for mark in ("$(project_id)s", "$(tenant_id)s", "%(project_id)s", "%(tenant_id)s"):
            if mark in url:
                url = url.replace(mark, project_id or "")
        by_service.setdefault(body["service_id"], []).append(
            {
                "id": endpoint.id,
                "interface": body["interface"],
                "region_id": body["region_id"],
                "url": url,
                "region": body["region_id"],
            }
        )
    return [
        {
            "endpoints": by_service.get(service.id, []),
            "id": service.id,
            "type": service.body["type"],
            "name": service.body.get("name") or "",
        }
        for service in cloud.store.all("identity.services")
        if service.body["enabled"]
    ]


def parse_time(text: str) -> float:
    """Convert a time such as `2026-01-01T00:00:00.000000Z` to seconds since 1970.

    Raises ValueError.
    """
    whole_seconds, _, fraction = text.rstrip("Z").partition(".")
    seconds = calendar.timegm(time.strptime(whole_seconds, "%Y-%m-%dT%H:%M:%S"))
    return seconds + float(f"0.{fraction}") if fraction else float(seconds)
