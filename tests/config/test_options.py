"""The settings: Heat's names with Heat's meaning, and a page that tells them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hearth.cli.docs_options import page
from hearth.config import options
from hearth.config.options import OPTIONS, no_effect

PLACE = Path(__file__).resolve()
COPY = PLACE.parents[1] / "facts" / "config_options.json"
ORIGINAL = PLACE.parents[3] / "shared" / "facts" / "config_options.json"
PAGE = PLACE.parents[2] / "docs" / "options.md"
FACTS: dict[str, dict[str, Any]] = json.loads(COPY.read_text())
HERE = {(option.group, option.name): option for option in OPTIONS}
LIBRARIES = frozenset(
    ("keystone_authtoken", "oslo_policy", "oslo_middleware", "oslo_messaging_notifications",
     "cors", "healthcheck", "heat_api", "heat_api_cfn")
)  # fmt: skip
OF_LOG = frozenset(
    ("debug", "log_file", "log_dir", "use_json", "transport_url", "control_exchange",
     "default_log_levels")
)  # fmt: skip


MAGNUM = json.loads((PLACE.parents[1] / "facts" / "magnum" / "config.json").read_text())


def facts() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (group, name.replace("-", "_"), fact)
        for group, found in FACTS.items()
        for name, fact in found.items()
    ]


def test_every_option_of_heat_is_known():
    missing = [
        f"[{group}] {name}"
        for group, name, _ in facts()
        if not options.is_known(group, name) and options.reason(group, name) is None
    ]
    assert missing == []


def test_an_option_with_heats_name_has_heats_default_or_says_why_not():
    different = [
        f"{option.place}: {fact['default']} in Heat, {option.default} here"
        for group, name, fact in facts()
        if (option := HERE.get((group, name))) is not None
        and option.default != fact["default"]
        and not option.differs
    ]
    assert different == []
    secret = {(group, name) for group, name, fact in facts() if fact.get("secret")}
    assert [place for place in secret if place in HERE and not HERE[place].secret] == []


def test_an_option_that_heat_has_not_is_said_to_be_our_own():
    of_heat = {(group, name) for group, name, _ in facts()}
    of_heat |= {(fact["group"], fact["name"]) for fact in MAGNUM["options"]}
    ours = {
        option.place
        for option in OPTIONS
        if (option.group, option.name) not in of_heat
        and option.group not in LIBRARIES
        and option.name not in OF_LOG
        and not option.group.startswith("ec2authtoken")
        and option.group != "trustee"
    }
    assert ours == {option.place for option in OPTIONS if option.hearth_only}


def test_an_option_with_magnums_name_has_magnums_default_or_says_why_not():
    of_magnum = {(fact["group"], fact["name"]): fact["default"] for fact in MAGNUM["options"]}
    empty: tuple[Any, ...] = (None, "")
    different = [
        f"{option.place}: {of_magnum[place]} in Magnum, {option.default} here"
        for place, option in HERE.items()
        if place in of_magnum
        and option.default != of_magnum[place]
        and not (option.default in empty and of_magnum[place] in empty)
        and not option.differs
    ]
    assert different == []


def test_no_option_is_said_both_to_count_and_not_to():
    twice = [option.place for option in OPTIONS if options.reason(option.group, option.name)]
    assert twice == []
    assert len(HERE) == len(OPTIONS)
    assert not no_effect.GROUPS.keys() & no_effect.OPTIONS.keys()


def test_the_page_is_that_of_the_tables():
    assert PAGE.read_text() == page(), "hearth docs options >docs/options.md"


def test_the_copied_facts_are_the_shared_ones():
    if not ORIGINAL.exists():
        assert not os.environ.get("CI"), "the shared facts are missing"
        pytest.skip("no shared facts beside the repository")
    assert COPY.read_bytes() == ORIGINAL.read_bytes(), "tests/facts is out of date"
