"""Files named by their content."""

import pytest

from hearth.clusters.bundle import ROOT, bundle

FILES = {
    ROOT: "type: outer.yaml\nconfig: scripts/a.sh\n",
    "outer.yaml": "type: inner.yaml",
    "inner.yaml": "nothing",
    "not-inner.yaml": "also nothing",
    "scripts/a.sh": "echo inner.yaml",
    "env.yaml": "resource_registry: {X: not-inner.yaml}",
}


def test_references_follow_the_unique_names():
    found = bundle(FILES)
    inner, outer = found.by_name["inner.yaml"], found.by_name["outer.yaml"]
    assert outer.text == f"type: {inner.name}"
    assert outer.name in found.template
    assert inner.name.startswith("inner-")
    assert inner.name.endswith(".yaml")


def test_a_changed_text_changes_the_names_of_all_files_above_and_of_no_other():
    before, after = bundle(FILES), bundle({**FILES, "inner.yaml": "something"})
    changed = {
        name for name, file in before.by_name.items() if after.by_name[name].name != file.name
    }
    assert changed == {ROOT, "outer.yaml", "inner.yaml"}


def test_only_the_needed_files_are_sent():
    found = bundle(FILES)
    names = {found.by_name[name].name for name in ("outer.yaml", "inner.yaml", "scripts/a.sh")}
    assert found.files([]).keys() == names
    more = {found.by_name[name].name for name in ("env.yaml", "not-inner.yaml")}
    assert found.files(["env.yaml"]).keys() == names | more
    assert set(found.named(["env.yaml"])) <= more


def test_scripts_are_sent_as_they_are():
    assert bundle(FILES).by_name["scripts/a.sh"].text == "echo inner.yaml"


def test_a_cycle_is_an_error():
    with pytest.raises(ValueError, match="refer to each other in a cycle"):
        bundle({ROOT: "a.yaml", "a.yaml": ROOT})
