"""Policies on plans: what they deny, of what they warn, and mistakes in their files."""

from pathlib import Path

import pytest

from hearth.cli.apply.api import UserError
from hearth.cli.apply.policy import read_policy
from tests.cli.apply.test_plan_text import entry

NESTED = {"resources": [entry("volume", "may replace"), entry("in", "create")]}
PLAN = {
    "resources": [
        entry("db", "replace"),
        entry("net", "keep"),
        entry("tier", "update", nested=NESTED),
        *(entry(f"old{n}", "delete") for n in range(7)),
    ]
}


def judged(tmp_path: Path, text: str) -> tuple[list[str], list[str]]:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    denied, warned = read_policy(path).check(PLAN)
    return (
        [one.removeprefix(f"{tmp_path}/") for one in denied],
        [one.removeprefix(f"{tmp_path}/") for one in warned],
    )


def test_protected_resources_are_neither_replaced_nor_deleted(tmp_path: Path):
    denied, warned = judged(tmp_path, "protect: [net, db, '*.volume']\n")
    assert denied == [
        "p.yaml:1:16: db is protected, but its planned action is replace",
        "p.yaml:1:20: tier.volume is protected, but its planned action is may replace",
    ]
    assert warned == []


def test_rules_deny_or_warn_and_name_what_they_found(tmp_path: Path):
    denied, warned = judged(
        tmp_path,
        "rules:\n"
        "  - {name: few, deny: $.resources.where($.action = delete).len() > 3}\n"
        "  - name: deletes\n"
        "    warn: $.resources.where($.action = delete)\n"
        "    message: this deletes\n"
        "  - {name: none, deny: $.resources.where($.type = X)}\n",
    )
    assert denied == ["p.yaml:2:5: few"]
    assert warned == ["p.yaml:3:5: this deletes: old0, old1, old2, old3, old4 and 2 more"]


def test_a_rule_can_name_plans_that_delete_data(tmp_path: Path):
    path = tmp_path / "p.yaml"
    path.write_text("rules: [{name: keep, deny: $.resources.where($.deletes_data)}]\n")
    policy, kept = read_policy(path), entry("net", "delete")
    inner = {"resources": [entry("disk", "may replace", deletes_data=True), kept]}
    assert policy.check({"resources": [kept]}) == ([], [])
    denied, _ = policy.check({"resources": [kept, entry("tier", "update", nested=inner)]})
    assert denied == [f"{path}:1:9: keep: tier.disk"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "expected a map"),
        ("protects: []", "p.yaml:1:11: unknown key protects"),
        ("protect: db", "protect must be a list"),
        ("protect: [[1]]", "expected the name of a resource"),
        ("rules: [{name: x}]", "either deny or warn"),
        ("rules: [{deny: $, warn: $}]", "either deny or warn"),
        ("rules: [{deny: $, because: x}]", "either deny or warn"),
        ("rules: [{name: odd, deny: 1 +}]", "odd cannot be evaluated"),
        ("rules: [{name: odd, deny: $.resources.nonsense()}]", "odd cannot be evaluated"),
        ("a: [", "p.yaml"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, text: str, said: str):
    with pytest.raises(UserError) as caught:
        judged(tmp_path, text)
    assert said in str(caught.value)
    assert "p.yaml" in str(caught.value)


def test_a_file_that_cannot_be_parsed_is_reported_with_the_place(tmp_path: Path):
    path = tmp_path / "p.yaml"
    for text, words in ((b"rules: [", "2:1: not well-formed YAML"), (b"a: \xff", "not in UTF-8")):
        path.write_bytes(text)
        with pytest.raises(UserError) as caught:
            read_policy(path)
        assert str(caught.value).startswith(str(path))
        assert words in str(caught.value)


WHY = "its properties are known after web"


def unexpanded(action: str) -> dict[str, object]:
    return {"resources": [{**entry("tier", action), "unexpanded": WHY}]}


@pytest.mark.parametrize(
    ("action", "pattern", "denied"),
    [
        ("update", "tier.db", True),
        ("update", "*db", True),
        ("may replace", "t?er.[d]b", True),
        ("update", "tier", False),  # an update in place of the nested stack itself
        ("update", "net*", False),
        ("update", "other.db", False),
        ("create", "*db", False),
        ("replace", "other*", False),
    ],
)
def test_what_a_plan_cannot_show_is_denied_if_it_may_be_protected(
    tmp_path: Path, action: str, pattern: str, denied: bool
):
    path = tmp_path / "p.yaml"
    path.write_text(f"protect: ['{pattern}']\n")
    said, _ = read_policy(path).check(unexpanded(action))
    assert bool(said) is denied, said
    assert all("tier may contain protected resources" in one and WHY in one for one in said)


@pytest.mark.parametrize("action", ["create", "update"])
def test_a_rule_that_denies_needs_the_whole_plan(tmp_path: Path, action: str):
    path = tmp_path / "p.yaml"
    path.write_text("rules:\n  - {name: small, deny: $.resources.len() > 9}\n")
    said, _ = read_policy(path).check(unexpanded(action))
    assert [one.partition("p.yaml:")[2] for one in said] == [
        f"2:5: small cannot be evaluated: the plan does not contain the resources in tier: {WHY}"
    ]
    path.write_text("rules:\n  - {name: small, warn: $.resources.len() > 9}\n")
    assert read_policy(path).check(unexpanded(action)) == ([], [])


def test_the_old_nested_stack_of_a_replacement_is_protected_too(tmp_path: Path):
    path = tmp_path / "p.yaml"
    path.write_text("protect: ['*.db']\n")
    old = {"resources": [entry("db", "delete")]}
    new = {"resources": [entry("db", "create")]}
    plan = {"resources": [{**entry("tier", "replace", nested=new), "removed": old}]}
    assert [one.partition(": ")[2] for one in read_policy(path).check(plan)[0]] == [
        "tier.db is protected, but its planned action is delete"
    ]
