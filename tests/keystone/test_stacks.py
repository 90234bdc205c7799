"""Stacks on either Keystone: their users, and what works for their owner when a token has ended."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.clients.dev import wait_for
from tests.keystone.identity import Identity, Person, token_of
from tests.keystone.prepare import PASSWORD
from tests.keystone.site import Site, hearth_serve
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

VERSION = "2021-04-16"
SECRET = {"heat_template_version": VERSION, "resources": {"r": {"type": "OS::Heat::RandomString"}}}
USERS = {
    "heat_template_version": VERSION,
    "resources": {
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "signed": {"type": "AWS::CloudFormation::WaitConditionHandle"},
        "wait": {
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": "handle"}, "timeout": 60},
        },
    },
    "outputs": {
        "curl": {"value": {"get_attr": ["handle", "curl_cli"]}},
        "token": {"value": {"get_attr": ["handle", "token"]}},
        "endpoint": {"value": {"get_attr": ["handle", "endpoint"]}},
        "signed": {"value": {"get_resource": "signed"}},
    },
}  # fmt: skip


def outputs(stack: dict[str, Any]) -> dict[str, Any]:
    return {one["output_key"]: one.get("output_value") for one in stack["outputs"]}


def name() -> str:
    return f"s-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def owner(identity: Identity) -> Person:
    """A user of its own: it has no trusts yet."""
    return identity.person(f"owner-{uuid.uuid4().hex[:8]}", "stacks", "member")


def trusts_of(identity: Identity, who: Person) -> list[dict[str, Any]]:
    return identity.there("/OS-TRUST/trusts", "trusts", trustor_user_id=who.user_id)


def stack_users(identity: Identity) -> list[dict[str, Any]]:
    """Users and projects of the stacks' domain, but its administrator."""
    domain = identity.find("domains", "heat")["id"]
    people = identity.there("/users", "users", domain_id=domain)
    places = identity.there("/projects", "projects", domain_id=domain)
    return [one for one in people if one["name"] != "heat_domain_admin"] + places


def test_the_users_of_a_stack_live_in_its_domain_and_go_with_it(
    site: Site, identity: Identity, owner: Person
):
    token = identity.log_in(owner.name, project=owner.project)
    before = stack_users(identity)
    stack_id = site.create(owner, token, name(), USERS)

    def ready() -> dict[str, Any] | None:
        found = outputs(site.stack(owner, token, stack_id))
        return found if all(found.values()) else None

    told = wait_for(ready, "the outputs")
    made = [one for one in stack_users(identity) if one not in before]
    assert len([one for one in made if "password_expires_at" in one]) >= 2
    guest = identity.facts(told["token"])
    assert guest["user"]["domain"]["name"] == "heat"
    assert {role["name"] for role in guest["roles"]} == {"heat_stack_user"}

    headers = {"X-Auth-Token": told["token"]}
    signal = json.dumps({"status": "SUCCESS"})
    url = told["endpoint"]
    assert requests.post(url, data=signal, headers=headers, timeout=20).status_code == 200
    done = json.dumps({"Status": "SUCCESS", "Reason": "r", "UniqueId": "u", "Data": "d"})
    signed = requests.put(told["signed"], data=done, timeout=20)
    assert signed.status_code == 200, signed.text
    altered = told["signed"].replace("Signature=", "Signature=x")
    assert requests.put(altered, data="{}", timeout=20).status_code == 403
    # no more than its own resource: neither the list of stacks nor another resource's metadata
    listed = site.ask("GET", f"{owner.project_id}/stacks", token=told["token"])
    assert listed.status_code == 403
    site.until(owner, token, stack_id, "CREATE_COMPLETE")
    site.delete(owner, token, stack_id)
    assert stack_users(identity) == before
    assert requests.post(url, data=signal, headers=headers, timeout=20).status_code != 200
    assert trusts_of(identity, owner) == []


def user_chain(seconds: float) -> dict[str, Any]:
    """A wait, and behind it what can only be made with a token that works."""
    return {
        "heat_template_version": VERSION,
        "resources": {
            "first": {"type": "OS::Heat::TestResource", "properties": {
                "action_wait_secs": {"create": seconds}}},
            "user": {"type": "OS::Keystone::Project", "depends_on": "first",
                     "properties": {"name": name(), "domain": "default"}},
        },
    }  # fmt: skip


@pytest.fixture
def admin(identity: Identity) -> Person:
    return identity.person(f"boss-{uuid.uuid4().hex[:8]}", "stacks", "admin")


def test_a_stack_goes_on_by_its_trust_after_the_token_was_revoked(
    site: Site, identity: Identity, admin: Person
):
    token = identity.log_in(admin.name, project=admin.project)
    fresh = identity.log_in(admin.name, project=admin.project)
    stack_id = site.create(admin, token, name(), user_chain(1.5))
    wait_for(lambda: trusts_of(identity, admin) or None, "a trust")
    identity.revoke(token)
    site.until(admin, fresh, stack_id, "CREATE_COMPLETE")
    assert len(trusts_of(identity, admin)) == 1
    site.delete(admin, fresh, stack_id)
    assert trusts_of(identity, admin) == []


def test_whoever_acts_by_a_trust_may_ask_for_stacks_too(
    site: Site, identity: Identity, owner: Person
):
    helper = identity.person(f"helper-{uuid.uuid4().hex[:8]}", "elsewhere", "member")
    token = identity.log_in(owner.name, project=owner.project)
    trust = identity.make("/OS-TRUST/trusts", "trust", {
        "trustor_user_id": owner.user_id, "trustee_user_id": helper.user_id,
        "project_id": owner.project_id, "impersonation": True, "roles": [{"name": "member"}],
    }, token=token)  # fmt: skip
    proof = {"user": {"id": helper.user_id, "password": PASSWORD}}
    scope = {"OS-TRUST:trust": {"id": trust["id"]}}
    theirs = token_of(identity.authenticate("password", proof, scope))
    stack_id = site.create(owner, theirs, name(), SECRET)
    site.until(owner, theirs, stack_id, "CREATE_COMPLETE")
    site.delete(owner, theirs, stack_id)
    assert [one["id"] for one in trusts_of(identity, owner)] == [trust["id"]]


def by_application(
    identity: Identity, who: Person, *, unrestricted: bool
) -> tuple[dict[str, Any], str]:
    """An application credential of a user, and a token by it."""
    made = identity.make(
        f"/users/{who.user_id}/application_credentials", "application_credential",
        {"name": name(), "unrestricted": unrestricted},
        token=identity.log_in(who.name, project=who.project),
    )  # fmt: skip
    proof = {"id": made["id"], "secret": made["secret"]}
    return made, token_of(identity.authenticate("application_credential", proof))


@pytest.mark.parametrize("unrestricted", [False, True])
def test_an_application_credential_makes_and_deletes_stacks(
    site: Site, identity: Identity, owner: Person, *, unrestricted: bool
):
    made, token = by_application(identity, owner, unrestricted=unrestricted)
    stack_id = site.create(owner, token, name(), SECRET)
    site.until(owner, token, stack_id, "CREATE_COMPLETE")
    site.delete(owner, token, stack_id)
    assert [one["id"] for one in applications_of(identity, owner)] == [made["id"]]


def applications_of(identity: Identity, who: Person) -> list[dict[str, Any]]:
    path = f"/users/{who.user_id}/application_credentials"
    return identity.there(path, "application_credentials")


def test_what_an_unrestricted_one_began_goes_on_by_one_of_the_stacks_own(
    site: Site, identity: Identity, admin: Person
):
    made, token = by_application(identity, admin, unrestricted=True)
    fresh = identity.log_in(admin.name, project=admin.project)
    stack_id = site.create(admin, token, name(), user_chain(1.5))
    own = wait_for(
        lambda: [a for a in applications_of(identity, admin) if a["id"] != made["id"]] or None,
        "an application credential of the stack",
    )  # fmt: skip
    assert (own[0]["name"], own[0]["unrestricted"]) == (f"hearth-{stack_id}", False)
    identity.revoke(token)
    site.until(admin, fresh, stack_id, "CREATE_COMPLETE")
    site.delete(admin, fresh, stack_id)
    assert [one["id"] for one in applications_of(identity, admin)] == [made["id"]]
    assert trusts_of(identity, admin) == []


def test_what_a_restricted_one_began_ends_with_its_token_and_says_why(
    site: Site, identity: Identity, admin: Person
):
    _, token = by_application(identity, admin, unrestricted=False)
    fresh = identity.log_in(admin.name, project=admin.project)
    stack_id = site.create(admin, token, name(), user_chain(1.5))
    wait_for(lambda: site.stack(admin, fresh, stack_id) or None, "the stack")
    identity.revoke(token)
    with pytest.raises(AssertionError, match="restricted application credential"):
        site.until(admin, fresh, stack_id, "CREATE_COMPLETE")
    site.delete(admin, fresh, stack_id)


@pytest.fixture(scope="module")
def by_credentials(identity: Identity, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Hearth that delegates by application credentials."""
    folder = tmp_path_factory.mktemp("hearth")
    how = {"deferred_auth_method": "application_credential"}
    with hearth_serve(identity, folder, **how, reauthentication_auth_method="trusts") as running:
        yield running


def test_application_credentials_can_take_the_place_of_trusts(
    by_credentials: Site, identity: Identity, admin: Person
):
    site = by_credentials
    token = identity.log_in(admin.name, project=admin.project)
    fresh = identity.log_in(admin.name, project=admin.project)
    stack_id = site.create(admin, token, name(), user_chain(1.5))
    (first,) = wait_for(lambda: applications_of(identity, admin) or None, "a credential")
    identity.revoke(token)
    site.until(admin, fresh, stack_id, "CREATE_COMPLETE")
    assert trusts_of(identity, admin) == []

    other = identity.person(f"boss-{uuid.uuid4().hex[:8]}", admin.project, "admin")
    theirs = identity.log_in(other.name, project=other.project)
    stack = site.stack(admin, fresh, stack_id)
    path = f"{admin.project_id}/stacks/{stack['stack_name']}/{stack_id}"
    begun = site.ask("PATCH", path, {"template": SECRET}, token=theirs)
    assert begun.status_code == 202, begun.text
    site.until(other, theirs, stack_id, "UPDATE_COMPLETE")
    wait_for(lambda: not applications_of(identity, admin) or None, "the end of the first")
    (second,) = applications_of(identity, other)
    assert second["name"] != first["name"]
    site.delete(other, theirs, stack_id)
    assert applications_of(identity, other) == []
