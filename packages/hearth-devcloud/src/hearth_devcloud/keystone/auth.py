"""The API below `/v3/auth`: authentication, and the projects and domains of a token."""

from __future__ import annotations

from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.keystone import people, tokens
from hearth_devcloud.keystone.names import named
from hearth_devcloud.keystone.rest import bad, link, listed, missing
from hearth_devcloud.keystone.role_grants import expanded, has_roles, roles_on
from hearth_devcloud.store import Resource, Store

_METHODS = {"password", "token", "application_credential"}


def unauthorized() -> Refusal:
    """Return a Refusal with status 401 that does not reveal the reason."""
    return Refusal(401, message="The request you have made requires authentication.")


def log_in(call: Call) -> Reply:
    """Handle POST /v3/auth/tokens; reply with status 201 and the new token in a header."""
    body = call.json()
    auth = body.get("auth") if isinstance(body, dict) else None
    if not isinstance(auth, dict) or not isinstance(auth.get("identity"), dict):
        raise bad("auth.identity is required")
    methods = auth["identity"].get("methods")
    if not isinstance(methods, list) or not methods or not set(methods) <= _METHODS:
        raise bad(f"auth.identity.methods must be a list of {', '.join(sorted(_METHODS))}")
    try:
        return _log_in(call, auth, methods)
    except (KeyError, TypeError, AttributeError):
        raise bad("The body is not a valid authentication request") from None


def _log_in(call: Call, auth: Body, methods: list[str]) -> Reply:
    store, identity = call.cloud.store, auth["identity"]
    user: Resource | None = None
    parent: Resource | None = None
    credential: Resource | None = None
    for method in methods:
        match method:
            case "password":
                user = _by_password(store, identity["password"]["user"])
            case "token":
                parent = tokens.valid(store, identity["token"]["id"])
                if parent is None:
                    raise missing("token", identity["token"]["id"])
                user = store.get(tables.USERS, parent.body["user_id"])
            case _:
                credential = _by_credential(store, identity["application_credential"])
                user = store.get(tables.USERS, credential.body["user_id"])
    if user is None or not user.body["enabled"]:
        raise unauthorized()
    if parent is not None:
        methods = list(dict.fromkeys([*parent.body["methods"], *methods]))
    if credential is not None:
        token = _for_credential(call, user, credential)
    else:
        token = _scoped(call, user, auth.get("scope"), methods, parent)
    with_catalogue = "nocatalog" not in call.query
    body = {"token": tokens.view(call.cloud, token, with_catalogue=with_catalogue)}
    return Reply(201, body, {"X-Subject-Token": token.id})


def _by_password(store: Store, attributes: Body) -> Resource:
    user: Resource | None = None
    if attributes.get("id"):
        user = store.get(tables.USERS, attributes["id"])
    else:
        domain = _domain(store, attributes.get("domain") or {})
        users = named(store, tables.USERS, attributes["name"], domain_id=domain.id)
        user = users[0] if users else None
    if user is None or user.hidden.get("password") != attributes["password"]:
        raise unauthorized()
    return user


def _domain(store: Store, reference: Body) -> Resource:
    if reference.get("id"):
        domain = store.get("identity.domains", reference["id"])
    else:
        domain = next(iter(named(store, "identity.domains", reference["name"])), None)
    if domain is None or not domain.body["enabled"]:
        raise unauthorized()
    return domain


def _by_credential(store: Store, reference: Body) -> Resource:
    credential: Resource | None = None
    if reference.get("id"):
        credential = store.get("identity.application_credentials", reference["id"])
    elif reference.get("name"):
        owner = reference["user"]
        user_id = owner.get("id")
        if not user_id:
            domain = _domain(store, owner.get("domain") or {})
            users = named(store, tables.USERS, owner["name"], domain_id=domain.id)
            user_id = users[0].id if users else ""
        filters = {"name": reference["name"], "user_id": user_id}
        owned = store.where("identity.application_credentials", **filters)
        credential = owned[0] if owned else None
    if credential is None:
        raise missing("application credential", str(reference.get("id") or reference.get("name")))
    if credential.hidden["secret"] != reference.get("secret"):
        raise unauthorized()
    expires = credential.body["expires_at"]
    if expires and tokens.parse_time(expires) <= store.time:
        raise unauthorized()
    return credential


def _for_credential(call: Call, user: Resource, credential: Resource) -> Resource:
    store, project_id = call.cloud.store, credential.body["project_id"]
    if not has_roles(store, user.id, project_id, credential.hidden["roles"]):
        raise unauthorized()
    roles = [store.table(tables.ROLES)[role_id] for role_id in credential.hidden["roles"]]
    return tokens.issue(
        call.cloud,
        user=user,
        methods=["application_credential"],
        roles=roles,
        project_id=project_id,
        application_credential_id=credential.id,
        expires=tokens.parse_time(expires) if (expires := credential.body["expires_at"]) else None,
    )


def _scoped(
    call: Call, user: Resource, scope: Any, methods: list[str], parent: Resource | None
) -> Resource:
    store = call.cloud.store
    if parent and (parent.body["trust_id"] or parent.body["application_credential_id"]):
        raise Refusal(
            403, message="Using a delegated token to create another token is not allowed."
        )
    expires = parent.body["expires"] if parent is not None else None
    options: Body = {"methods": methods, "parent": parent, "expires": expires}
    if isinstance(scope, dict) and "OS-TRUST:trust" in scope:
        return _in_trust(call, user, scope["OS-TRUST:trust"]["id"], options)
    if isinstance(scope, dict) and "domain" in scope:
        domain = _domain(store, scope["domain"])
        roles = expanded(store, roles_on(store, user.id, domain.id))
        if not roles:
            raise unauthorized()
        return tokens.issue(call.cloud, user=user, roles=roles, domain_id=domain.id, **options)
    project_id: str | None = None
    if isinstance(scope, dict) and "project" in scope:
        project_id = _project(store, scope["project"]).id
    elif isinstance(scope, dict) and "system" in scope:
        raise unauthorized()
    elif scope is None and parent is None:
        project_id = user.body.get("default_project_id")
    if project_id is None:
        return tokens.issue(call.cloud, user=user, roles=[], **options)
    roles = expanded(store, roles_on(store, user.id, project_id))
    if not roles:
        if scope is None:
            return tokens.issue(call.cloud, user=user, roles=[], **options)
        raise unauthorized()
    return tokens.issue(call.cloud, user=user, roles=roles, project_id=project_id, **options)


def _project(store: Store, reference: Body) -> Resource:
    if reference.get("id"):
        project = store.get("identity.projects", reference["id"])
    else:
        domain = _domain(store, reference.get("domain") or {})
        projects = named(store, "identity.projects", reference["name"], domain_id=domain.id)
        project = projects[0] if projects else None
    if project is None or not project.body["enabled"]:
        raise unauthorized()
    return project


def _in_trust(call: Call, user: Resource, trust_id: str, options: Body) -> Resource:
    store = call.cloud.store
    trust = store.get(tables.TRUSTS, trust_id)
    if trust is None:
        raise unauthorized()
    body = trust.body
    if body["trustee_user_id"] != user.id:
        raise Refusal(403, message="The user is not the trustee of this trust.")
    if body["expires_at"] and tokens.parse_time(body["expires_at"]) <= store.time:
        raise unauthorized()
    trustor = store.get(tables.USERS, body["trustor_user_id"])
    if trustor is None or not trustor.body["enabled"]:
        raise unauthorized()
    roles = expanded(store, trust.hidden["roles"])
    if not has_roles(store, trustor.id, body["project_id"], [role.id for role in roles]):
        raise Refusal(403, message="The trustor has lost a role of this trust.")
    if body["remaining_uses"] is not None:
        if body["remaining_uses"] <= 0:
            raise unauthorized()
        body["remaining_uses"] -= 1
    return tokens.issue(
        call.cloud,
        user=trustor if body["impersonation"] else user,
        authenticated=user,
        roles=roles,
        project_id=body["project_id"],
        trust=trust,
        **options,
    )


def _subject(call: Call) -> Resource:
    subject = call.headers.get("X-Subject-Token") or ""
    late = tokens.EXPIRED_ALLOWED_S if call.argument("allow_expired") == "1" else 0
    token = tokens.valid(call.cloud.store, subject, expired_s=late)
    if token is None:
        raise missing("token", subject)
    if tokens.access_rules_of(call.cloud.store, token) is not None and not _knows_rules(call):
        raise missing("token", subject)
    is_own = subject == call.caller.token and not call.caller.trust_id
    if not is_own and not call.caller.is_admin:
        roles = call.caller.roles
        is_foreign = call.caller.trust_id or token.body["user_id"] != call.caller.user_id
        if "service" not in roles and is_foreign:
            raise Refusal(403, message="You are not authorized to validate this token.")
    return token


def _knows_rules(call: Call) -> bool:
    """Return whether the caller, a service that validates a token, enforces access rules.

    A service declares this in the header OpenStack-Identity-Access-Rules.
    """
    return (call.headers.get("OpenStack-Identity-Access-Rules") or "") >= "1.0"


def validate(call: Call) -> Reply:
    """Handle GET or HEAD /v3/auth/tokens: validate and show the token in X-Subject-Token."""
    token = _subject(call)
    with_catalogue = "nocatalog" not in call.query
    body = {"token": tokens.view(call.cloud, token, with_catalogue=with_catalogue)}
    return Reply(200, body, {"X-Subject-Token": token.id})


def revoke(call: Call) -> Reply:
    """Handle DELETE /v3/auth/tokens: revoke the token in X-Subject-Token; reply with status 204."""
    call.cloud.store.remove(_subject(call))
    call.cloud.callers.clear()
    return Reply(204)


def own_catalogue(call: Call) -> Reply:
    """Handle GET /v3/auth/catalog: show the service catalogue of the caller's token."""
    catalogue = tokens.catalogue(call.cloud, call.caller.project_id)
    return Reply(200, {"catalog": catalogue, "links": {"self": link(call, "auth/catalog")}})


def own_projects(call: Call) -> Reply:
    """Handle GET /v3/auth/projects: list the projects in which the caller has a role."""
    return people.projects_for(call, call.caller.user_id)


def own_domains(call: Call) -> Reply:
    """Handle GET /v3/auth/domains: list the domains on which the caller has a role."""
    store = call.cloud.store
    domains = [
        d for d in store.all("identity.domains") if roles_on(store, call.caller.user_id, d.id)
    ]
    return listed(call, "domains", [people.domains.view(call, domain) for domain in domains])


def _version(call: Call) -> Body:
    return {
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": f"{call.base}/identity/v3/"}],
        "media-types": [
            {
                "base": "application/json",
                "type": "application/vnd.openstack.identity-v3+json",
            }
        ],
    }


def versions(call: Call) -> Reply:
    """Handle GET of the API versions; reply with status 300."""
    location = {"Location": f"{call.base}/identity/v3/"}
    return Reply(300, {"versions": {"values": [_version(call)]}}, location)


def version(call: Call) -> Reply:
    """Handle GET /v3: show the API version."""
    return Reply(200, {"version": _version(call)})


ROUTES: list[Route] = [
    ("GET", "/", versions),
    ("GET", "/v3", version),
    ("POST", "/v3/auth/tokens", log_in),
    ("GET", "/v3/auth/tokens", validate),
    ("DELETE", "/v3/auth/tokens", revoke),
    ("GET", "/v3/auth/catalog", own_catalogue),
    ("GET", "/v3/auth/projects", own_projects),
    ("GET", "/v3/auth/domains", own_domains),
]
