"""Who may ask for what, as a token says: the same with either Keystone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.clients.dev import wait_for
from tests.keystone.identity import Identity, Person, token_of
from tests.keystone.site import KEPT_S, Site
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

BRIEF_S = 4


@pytest.fixture(scope="module")
def ann(identity: Identity) -> Person:
    return identity.person("ann", "first", "member")


@pytest.fixture(scope="module")
def token(identity: Identity, ann: Person) -> str:
    return identity.log_in(ann.name, project=ann.project)


def unauthorized(site: Site, answer: Any) -> None:
    """The 401 of spec/errors.md."""
    assert answer.status_code == 401, answer.text
    assert answer.headers["WWW-Authenticate"] == f'Keystone uri="{site.identity.url}"'
    error = answer.json()["error"]
    assert (error["code"], error["title"]) == (401, "Unauthorized")


def forbidden(answer: Any) -> None:
    assert answer.status_code == 403, answer.text
    assert answer.json()["code"] == 403


def test_a_token_of_the_project_is_let_in(site: Site, ann: Person, token: str):
    answer = site.ask("GET", f"{ann.project_id}/stacks", token=token)
    assert (answer.status_code, answer.json()) == (200, {"stacks": []})


def test_nobody_comes_in_without_a_good_token(site: Site, ann: Person, token: str):
    path = f"{ann.project_id}/stacks"
    unauthorized(site, site.ask("GET", path))
    for wrong in ("x", token[:-4], "gAAAAA", "a" * 300, token + token, "ä".encode(), "%00", '"'):
        unauthorized(site, site.ask("GET", path, headers={"X-Auth-Token": wrong}))
    for header in ("X-Subject-Token", "X-Storage-Token", "X-Service-Token"):
        unauthorized(site, site.ask("GET", path, headers={header: token}))
    unauthorized(site, site.ask("GET", path, headers={"Authorization": f"Bearer {token}"}))


def test_a_scope_that_is_no_project_has_no_stacks(site: Site, ann: Person):
    identity = site.identity
    path = f"{ann.project_id}/stacks"
    forbidden(site.ask("GET", path, token=identity.log_in(ann.name)))
    identity.grant("member", ann.user_id, domain="default")
    domain = {"domain": {"id": "default"}}
    forbidden(site.ask("GET", path, token=identity.log_in(ann.name, scope=domain)))


def test_the_project_in_the_path_is_the_tokens(site: Site, ann: Person, token: str):
    bob = site.identity.person("bob", "second", "member")
    theirs = site.identity.log_in("bob", project="second")
    forbidden(site.ask("GET", f"{ann.project_id}/stacks", token=theirs))
    forbidden(site.ask("GET", f"{bob.project_id}/stacks", token=token))


def test_a_role_decides(site: Site, ann: Person):
    identity = site.identity
    template = {"heat_template_version": "2021-04-16"}
    reader = identity.person("rita", ann.project, "reader")
    token = identity.log_in(reader.name, project=ann.project)
    path = f"{ann.project_id}/stacks"
    assert site.ask("GET", path, token=token).status_code == 200
    body = {"stack_name": "s", "template": template}
    forbidden(site.ask("POST", path, body, token=token))
    outsider = identity.person("otto", ann.project, "heat_stack_user")
    forbidden(site.ask("GET", path, token=identity.log_in(outsider.name, project=ann.project)))


def test_a_token_that_was_revoked_is_refused_after_the_cache_time(site: Site, ann: Person):
    token = site.identity.log_in(ann.name, project=ann.project)
    path = f"{ann.project_id}/stacks"
    assert site.ask("GET", path, token=token).status_code == 200
    site.identity.revoke(token)
    wait_for(
        lambda: site.ask("GET", path, token=token).status_code == 401 or None,
        "a token that was revoked", 10 * KEPT_S,
    )  # fmt: skip
    unauthorized(site, site.ask("GET", path, token=token))


def brief(identity: Identity, who: Person) -> str:
    """A token that ends in a few seconds, with the credential that it was got by."""
    soon = datetime.now(UTC) + timedelta(seconds=BRIEF_S)
    made = identity.make(
        f"/users/{who.user_id}/application_credentials", "application_credential",
        {"name": "brief", "expires_at": soon.strftime("%Y-%m-%dT%H:%M:%S.%f")},
        token=identity.log_in(who.name, project=who.project),
    )  # fmt: skip
    proof = {"id": made["id"], "secret": made["secret"]}
    return token_of(identity.authenticate("application_credential", proof))


def test_an_expired_token_is_good_only_beside_a_service_token(site: Site, ann: Person):
    identity = site.identity
    path = f"{ann.project_id}/stacks"
    ended = brief(identity, ann)
    assert site.ask("GET", path, token=ended).status_code == 200
    wait_for(
        lambda: site.ask("GET", path, token=ended).status_code == 401 or None,
        "the end of a token", 20,
    )  # fmt: skip
    service = {"X-Service-Token": identity.log_in("heat", project="service")}
    assert site.ask("GET", path, token=ended, headers=service).status_code == 200
    other = {"X-Service-Token": identity.log_in(ann.name, project=ann.project)}
    unauthorized(site, site.ask("GET", path, token=ended, headers=other))
    unauthorized(site, site.ask("GET", path, token=ended, headers={"X-Service-Token": "x"}))


def test_a_user_that_is_disabled_or_has_lost_its_role_is_refused(site: Site, ann: Person):
    identity = site.identity
    path = f"{ann.project_id}/stacks"
    cleo = identity.person("cleo", ann.project, "member")
    token = identity.log_in(cleo.name, project=ann.project)
    assert site.ask("GET", path, token=token).status_code == 200
    off = identity.call("PATCH", f"/users/{cleo.user_id}", {"user": {"enabled": False}})
    assert off.status_code == 200, off.text
    wait_for(
        lambda: site.ask("GET", path, token=token).status_code == 401 or None,
        "a user that is disabled", 10 * KEPT_S,
    )  # fmt: skip
