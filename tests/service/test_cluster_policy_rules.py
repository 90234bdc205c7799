"""The policy rules of the cluster service: Magnum's names and defaults, and what they mean."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from hearth.service.caller import Caller
from hearth.service.cluster_policy_rules import defaults
from hearth.service.policy import Owner, Policy
from tests.service.test_policy import policy as heat_policy_with

FILE = Path(__file__).parents[1] / "facts" / "magnum" / "policies.json"
FACTS = json.loads(FILE.read_text())
RULES = {rule["rule"]: rule for rule in FACTS["rules"]}
MEMBER = frozenset({"member", "reader"})
OWNER = Caller("u", "", "p", MEMBER)
PEOPLE = {
    "owner": OWNER,
    "colleague": replace(OWNER, user_id="v"),
    "reader": replace(OWNER, user_id="v", roles=frozenset({"reader"})),
    "stranger": replace(OWNER, user_id="v", project_id="q"),
    "nobody": replace(OWNER, roles=frozenset()),
    "admin": Caller("a", "", "q", frozenset({"admin", "member", "reader"})),
}
TARGET = Owner("p", "u")


def test_names_and_defaults_are_those_of_magnum():
    found = {name: check for name, (check, _) in defaults(owner_only_certificates=True).items()}
    wanted = FACTS["base_rules"] | {name: r["default"] for name, r in RULES.items()}
    assert found == wanted


def test_only_rules_of_certificates_differ_by_default():
    ours, theirs = defaults(), defaults(owner_only_certificates=True)
    assert {name for name in ours if ours[name] != theirs[name]} == {
        "certificate:create", "certificate:get",
    }  # fmt: skip


def test_scopes_are_those_of_magnum():
    rules = Policy(rules=defaults())._enforcer.registered_rules
    found = {name: rules[name].scope_types for name in RULES}
    assert found == {name: rule["scope"] for name, rule in RULES.items()}


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        ("certificate:get", {"owner", "colleague", "reader", "admin"}),
        ("certificate:create", {"owner", "colleague", "admin"}),
        ("certificate:rotate_ca", {"owner", "colleague", "admin"}),
        ("credential:rotate", {"owner", "colleague"}),
        ("cluster:get", {"owner", "colleague", "reader", "admin"}),
        ("cluster:resize", {"owner", "colleague", "admin"}),
        ("cluster:update_health_status", {"owner", "admin"}),
        ("cluster:update_all_projects", {"admin"}),
        ("quota:create", {"admin"}),
        ("stats:get_all", {"owner", "colleague", "reader", "admin"}),
    ],
)
def test_the_defaults_allow(rule, allowed):
    policy = Policy(rules=defaults())
    found = {name for name, caller in PEOPLE.items() if policy.allows(rule, caller, TARGET)}
    assert found == allowed


def test_the_strict_rules_ask_for_the_owner():
    policy = Policy(rules=defaults(owner_only_certificates=True))
    for rule in ("certificate:get", "certificate:create"):
        found = {name for name, caller in PEOPLE.items() if policy.allows(rule, caller, TARGET)}
        assert found == {"owner", "admin"}


def test_an_answer_about_one_owner_is_not_used_for_another():
    policy = Policy(rules=defaults())
    asked = [
        policy.allows("cluster:get", OWNER, owner)
        for owner in (TARGET, Owner("q", "u"), TARGET, Owner("p", "w"))
    ]
    assert asked == [True, False, True, True]


def test_the_rules_of_stacks_and_clusters_share_a_file(tmp_path):
    """A rule of clusters in the policy file changes the policy of clusters alone."""
    stacks = heat_policy_with(tmp_path, "!")
    (tmp_path / "policy.yaml").write_text('"stacks:index": "!"\n"cluster:get": "!"\n')
    clusters = Policy(stacks._conf, defaults())
    assert not stacks.allows("stacks:index", OWNER)
    assert not clusters.allows("cluster:get", PEOPLE["admin"], TARGET)
    assert clusters.allows("cluster:resize", OWNER, TARGET)
