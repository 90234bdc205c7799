"""Plans and policies see each resource in a nested stack that an update deletes."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.apply.test_commands import CHANGES, Shell

pytestmark = pytest.mark.slow

HEAD = "heat_template_version: 2021-04-16\nparameters: {some: {type: boolean, default: true}}\n"
OTHER = "  other: {type: OS::Heat::Value, properties: {value: 1}}\n"
TIER = f"{HEAD}resources:\n  db: {{type: OS::Heat::TestResource}}\n"
OUTER = f"{HEAD}resources:\n  tier: {{type: tier.yaml}}\n"
FAILED = f"{TIER}  bad: {{type: OS::Heat::TestResource, properties: {{fail: true}}}}\n"


def parent(resources: str, more: str = "") -> str:
    return f"{HEAD}{more}resources:\n{OTHER}{resources}"


def group(count: int, rtype: str = "tier.yaml", more: str = "") -> str:
    return parent(
        "  group:\n    type: OS::Heat::ResourceGroup\n"
        f"    properties: {{count: {count}, resource_def: {{type: {rtype}}}{more}}}\n"
    )


def scaled(capacity: int, rtype: str = "tier.yaml", more: str = "") -> str:
    return parent(
        "  group:\n    type: OS::Heat::AutoScalingGroup\n    properties:\n"
        f"      {{min_size: 0, max_size: 3, resource: {{type: {rtype}}}, "
        f"desired_capacity: {capacity}{more}}}\n"
    )


def chain(links: int) -> str:
    types = ", ".join(["tier.yaml"] * links)
    return parent(
        "  chain:\n    type: OS::Heat::ResourceChain\n"
        f"    properties: {{concurrent: true, resources: [{types}]}}\n"
    )


ONE = parent("  tier: {type: tier.yaml}\n")
NONE = parent("")
IF = "  tier: {type: tier.yaml, condition: wanted}\n"
CASES: Mapping[str, tuple[str, str, str]] = {
    "a nested stack": (ONE, NONE, "tier.db"),
    "a group": (group(2), NONE, "group.1.db"),
    "a member of a group": (group(2), group(1), "group.1.db"),
    "all members of a group": (group(2), group(0), "group.0.db"),
    "a member of a scaling group": (scaled(2), scaled(1), ".db"),
    "a scaling group": (scaled(1), NONE, ".db"),
    "a link of a chain": (chain(2), chain(1), "chain.1.db"),
    "a chain": (chain(2), NONE, "chain.0.db"),
    "a member that is named": (
        group(2),
        group(2, more=", removal_policies: [{resource_list: ['0']}]"),
        "group.0.db",
    ),
    "what members of another template lack": (group(2), group(2, "other.yaml"), "group.0.db"),
    "what members of another type replace": (
        group(2),
        group(2, "OS::Heat::RandomString"),
        "group.1.db",
    ),
    "what a scaling group changes in batches": (
        scaled(2),
        scaled(2, "other.yaml", ", rolling_updates: {max_batch_size: 1, min_in_service: 1}")
        + "  spare: {type: tier.yaml}\n",  # the batches need this file
        ".db",
    ),
    "a condition": (
        parent(IF, "conditions: {wanted: {get_param: some}}\n"),
        parent(IF, "conditions: {wanted: {not: {get_param: some}}}\n"),
        "tier.db",
    ),
    "a nested stack in a nested stack": (parent("  outer: {type: outer.yaml}\n"), NONE, "tier.db"),
}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    nowhere = SimpleNamespace(environment={})
    found = Shell(tmp_path, nowhere, {"OS_CLOUD": ""})  # type: ignore[arg-type]
    found.write("tier.yaml", TIER)
    found.write("outer.yaml", OUTER)
    found.write("other.yaml", NONE)
    found.write("protect.yaml", 'protect: ["*.db"]\n')
    found.write(
        "deny.yaml",
        "rules: [{name: kept, deny: $.resources.where("
        "$.type = 'OS::Heat::TestResource' and $.action = delete)}]\n",
    )
    return found


def demand_denied(shell: Shell, name: str) -> None:
    """Fail unless the plan shows the delete, and both kinds of policies deny it."""
    plan = shell.run("plan", "p.yaml", status=CHANGES)
    assert "OS::Heat::TestResource  delete" in plan
    denied = shell.run("plan", "p.yaml", "--policy", "protect.yaml", status=1)
    assert f"{name} is protected, but its planned action is delete" in denied
    for policy in ("protect.yaml", "deny.yaml"):
        said = shell.run("apply", "p.yaml", "--yes", "--policy", policy, status=1)
        assert name in said


@pytest.mark.parametrize("case", CASES)
def test_a_policy_sees_each_delete_in_a_nested_stack(shell: Shell, case: str) -> None:
    before, after, name = CASES[case]
    shell.write("p.yaml", before)
    shell.run("apply", "p.yaml", "--yes")
    shell.write("p.yaml", after)
    demand_denied(shell, name)
    shell.run("apply", "p.yaml", "--yes")
    assert "No changes" in shell.run("plan", "p.yaml")


@pytest.mark.parametrize("mapped", [False, True])
def test_a_policy_sees_what_a_failed_nested_stack_left(shell: Shell, *, mapped: bool) -> None:
    shell.write("tier.yaml", FAILED)
    rtype = "My::Tier" if mapped else "tier.yaml"
    shell.write("env.yaml", "resource_registry: {'My::Tier': tier.yaml}\n")
    shell.write("p.yaml", parent(f"  tier: {{type: '{rtype}'}}\n"))
    shell.run("apply", "p.yaml", "--yes", "-e", "env.yaml", status=1)
    shell.write("p.yaml", NONE)
    demand_denied(shell, "tier.db")
