"""Plans and policies see all levels of nested stacks, without a cloud."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.apply.test_commands import CHANGES, Shell

pytestmark = pytest.mark.slow

LEVELS = 8
HEAD = "heat_template_version: 2021-04-16\nparameters: {text: {type: string, default: a}}\n"
LEAF = f"""{HEAD}resources:
  leaf: {{type: OS::Heat::TestResource, properties: {{value: {{get_param: text}}}}}}
outputs:
  out: {{value: {{get_attr: [leaf, output]}}}}
"""
WITHOUT = f"{HEAD}resources:\n  other: {{type: OS::Heat::Value, properties: {{value: 1}}}}\n"


def level(number: int) -> str:
    child = f"type: t{number + 1}.yaml, properties: {{text: {{get_param: text}}}}"
    return f"{HEAD}resources:\n  n{number}: {{{child}}}\n"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    nowhere = SimpleNamespace(environment={})
    found = Shell(tmp_path, nowhere, {"OS_CLOUD": ""})  # type: ignore[arg-type]
    for number in range(1, LEVELS):
        found.write(f"t{number}.yaml", level(number))
    found.write(f"t{LEVELS}.yaml", LEAF)
    found.write("policy.yaml", 'protect: ["*leaf*"]\n')
    return found


def test_a_plan_and_a_policy_see_the_last_level(shell: Shell) -> None:
    assert f"Plan: {LEVELS} to create." in shell.run("plan", "t1.yaml", status=CHANGES)
    shell.run("apply", "t1.yaml", "--yes")
    changed = shell.run("plan", "t1.yaml", "--parameter", "text=b", status=CHANGES)
    assert "leaf" in changed
    denied = shell.run("destroy", "t1", "--yes", "--policy", "policy.yaml", status=1)
    path = ".".join(f"n{number}" for number in range(1, LEVELS))
    assert f"{path}.leaf is protected, but its planned action is delete" in denied
    assert "leaf" in shell.run("graph", "t1")
    assert f"Plan: {LEVELS} to delete." in shell.run("destroy", "t1", "--yes")


def test_a_nested_stack_that_leaves_the_template_is_planned_with_all_that_is_in_it(
    shell: Shell,
) -> None:
    shell.run("apply", "t1.yaml", "--yes")
    shell.write("t1.yaml", WITHOUT)
    said = shell.run("plan", "t1.yaml", status=CHANGES)
    assert f"Plan: 1 to create, {LEVELS} to delete." in said
    denied = shell.run("apply", "t1.yaml", "--yes", "--policy", "policy.yaml", status=1)
    assert "leaf is protected, but its planned action is delete" in denied


def test_a_nested_stack_that_is_replaced_is_planned_with_all_that_is_in_the_old_one(
    shell: Shell,
) -> None:
    shell.run("apply", "t1.yaml", "--yes")
    shell.write("t1.yaml", f"{HEAD}resources:\n  n1: {{type: OS::Heat::RandomString}}\n")
    said = shell.run("plan", "t1.yaml", status=CHANGES)
    assert f"1 to replace, {LEVELS - 1} to delete" in said
    denied = shell.run("apply", "t1.yaml", "--yes", "--policy", "policy.yaml", status=1)
    assert "leaf is protected, but its planned action is delete" in denied


def test_what_is_not_known_yet_is_said_and_denied(shell: Shell) -> None:
    group = """heat_template_version: 2021-04-16
resources:
  word: {type: OS::Heat::Value, properties: {value: SIZE}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: {get_attr: [word, value]}, resource_def: {type: OS::Heat::TestResource}}
"""
    shell.write("g.yaml", group.replace("SIZE", "2"))
    said = shell.run("plan", "g.yaml", status=CHANGES)
    assert "the plan does not contain the resources in it: its properties are known after" in said
    shell.run("apply", "g.yaml", "--yes")
    shell.write("policy.yaml", 'protect: ["group.1"]\n')
    shell.write("g.yaml", group.replace("SIZE", "1"))
    denied = shell.run("apply", "g.yaml", "--yes", "--policy", "policy.yaml", status=1)
    assert "group may contain protected resources" in denied
