"""A plan in words: marks, reasons, values that are not known, and the last line."""

from typing import Any

import click

from hearth.authoring.terminal import printable
from hearth.cli.apply import plan_text


def entry(name: str, action: str, *reasons: dict[str, Any], **more: Any) -> dict[str, Any]:
    found = {"resource": name, "type": "T", "action": action, "certain": True}
    return {**found, "reasons": list(reasons), **more}


PLAN = {
    "hash": "h",
    "resources": [
        entry("same", "keep"),
        entry("new", "create", later={"network": ["net"]}),
        entry(
            "net", "update", {"property": "name", "reason": "changed", "before": "a", "after": "b"}
        ),
        entry(
            "server",
            "replace",
            {"property": "image", "reason": "image cannot be changed", "before": 1, "after": [2]},
        ),
        entry("port", "may update", {"property": "ip", "reason": "known only after server",
                                     "before": "x"}),
        entry("old", "delete", {"reason": "no longer in the template"}),
        entry("quiet", "keep", nested={"hash": "", "resources": [entry("in", "keep")]}),
        entry("group", "update", nested={"hash": "", "resources": [entry("one", "create")]}),
    ],
}  # fmt: skip


def said() -> list[str]:
    return [click.unstyle(printable(line)) for line in plan_text.lines(PLAN)]


def test_each_change_has_a_mark_and_its_reasons():
    assert said() == [
        "   + new     T  create",
        "       network: (known after net)",
        "   ~ net     T  update",
        '       name: "a" -> "b"',
        " -/+ server  T  replace",
        "       image: 1 -> [2]  (cannot be changed)",
        "  ~? port    T  may update",
        '       ip: "x" -> (known after apply)  (known only after server)',
        "   - old     T  delete",
        "       no longer in the template",
        "   ~ group   T  update",
        "     + one  T  create",
    ]


def test_the_summary_counts_each_line_of_the_plan():
    assert plan_text.summary(PLAN) == (
        "Plan: 2 to create, 2 to update, 1 that may be updated, 1 to replace, 1 to delete, "
        "3 unchanged."
    )
    marks = [mark for mark, _ in plan_text.MARKS.values() if mark.strip()]
    shown = [line for line in said() if line.split()[0] in marks]
    changed = {action: n for action, n in plan_text.counted(PLAN).items() if action != "keep"}
    assert sum(changed.values()) == len(shown)
    assert plan_text.changes(PLAN)


def test_a_plan_without_changes_says_so():
    still = {"hash": "", "resources": [entry("same", "keep"), PLAN["resources"][6]]}
    assert plan_text.summary(still) == "No changes: 3 resources are as they should be."
    assert not plan_text.changes(still)
    assert list(plan_text.lines(still)) == []


def test_what_deletes_data_says_so():
    plan = {"resources": [entry("disk", "replace", deletes_data=True), entry("net", "replace")]}
    told = [click.unstyle(printable(line)) for line in plan_text.lines(plan)]
    assert told[0].endswith("replace, deletes its data")
    assert told[1].endswith("replace")


def test_long_values_are_cut():
    assert plan_text.value("x" * 100) == f'"{"x" * 57}..."'
    assert plan_text.value("a\n b") == '"a b"'
