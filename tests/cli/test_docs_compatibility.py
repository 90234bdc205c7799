"""The page "Compatibility with Heat" is current, and leaves out no known difference."""

import json
import re
from pathlib import Path

import pytest
import yaml

from hearth.cli.docs_compatibility import page
from hearth.config.options import OPTIONS
from hearth.resources.registry import builtin_types, default_catalog
from hearth.template.versions import GRAMMARS
from tests.comparison.differences import KNOWN

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "compatibility.md"
TYPES = json.loads((TESTS / "facts" / "resource_types.json").read_text())
VERSIONS = json.loads((TESTS / "facts" / "hot_versions.json").read_text())["versions"]


def section(title: str) -> str:
    return page().partition(f"# {title}\n")[2].partition("\n#")[0]


def test_the_page_is_what_the_command_prints():
    assert PAGE.read_text() == page(), "hearth docs compatibility >docs/compatibility.md"
    assert "{{" not in page()


def test_every_type_of_heat_is_in_one_of_the_tables():
    catalog = default_catalog()
    found = {state: section(state) for state in ("Supported types", "Placeholders")}
    missing = section("Types that are not available")
    for name in TYPES:
        if catalog.find(name) is None:
            assert f"| `{name}` |" in missing
        else:
            state = "Supported types" if name in builtin_types() else "Placeholders"
            assert f"`{'::'.join(name.split('::')[2:])}`" in found[state]


def test_a_type_that_is_advised_is_available():
    advised = re.findall(r"\| `([\w:]+)` \|$", section("Types that are not available"), re.M)
    advised += re.findall(r"\| `([\w:]+)` \|$", section("Placeholders"), re.M)
    assert advised
    assert [name for name in advised if name not in builtin_types()] == []


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda one: f"{one.key}.{one.value}")
def test_all_functions_of_heat_are_there_as_the_page_says(grammar):
    fact = VERSIONS[f"{grammar.key}.{grammar.value}"]
    assert fact["functions"].keys() <= grammar.functions.keys()
    assert fact["condition_functions"].keys() <= grammar.condition_functions.keys()


def test_the_page_shows_the_settings_that_differ_with_their_defaults():
    rows = re.findall(r"^\| `(.+?)` \| (\S+) \| (.+) \|$", section("Settings"), re.M)
    found = {place: default.strip("`") for place, default, _ in rows}
    differing = [one for one in OPTIONS if one.differs]
    assert found.keys() == {one.place for one in differing}
    for one in differing:
        default = [str(one.default), str(one.default).lower(), "none"]
        assert found[one.place] in default, one.place


@pytest.mark.parametrize(
    ("place", "default"),
    [
        ("[hearth] template_fetch_enabled", False),
        ("[oslo_middleware] enable_proxy_headers_parsing", False),
        ("auth_encryption_key", None),
    ],
)
@pytest.mark.parametrize("file", ["compatibility.md", "coming-from-heat.md"])
def test_the_pages_name_the_settings_that_are_safer_than_in_heat(place, default, file):
    (option,) = [one for one in OPTIONS if one.place == place]
    assert (option.default, bool(option.differs)) == (default, True)
    text = (PAGE.parent / file).read_text()
    assert place in text or f"\n{place} = " in text


def test_the_types_of_software_deployments_are_there_as_the_page_for_users_of_heat_says():
    software = [name for name in TYPES if re.search(r"::(Software|Structured)", name)]
    assert len(software) > 5
    assert set(software) <= set(builtin_types())
    text = (PAGE.parent / "coming-from-heat.md").read_text()
    about = [line for line in text.splitlines() if "deployment" in line.lower()]
    assert about
    assert [line for line in about if line.startswith("|") and "unchanged" not in line] == []


def test_the_page_has_the_known_differences_of_the_comparison_and_no_others():
    rows = re.findall(r"^\| (.+) \| (\w+) \|$", section("Differences in answers"), re.M)
    told = {(words[:1].lower() + words[1:], kind) for words, kind in rows if kind != "class"}
    meant = {(one.name, one.kind) for one in KNOWN if one.kind not in ("words", "order")}
    assert {(words[:1].lower() + words[1:], kind) for words, kind in meant} == told


def test_every_history_in_which_heat_differs_is_on_the_page():
    differing = [
        vector["name"]
        for path in (TESTS / "vectors" / "convergence").glob("*.yaml")
        for vector in yaml.safe_load(path.read_text())
        if "original_differs" in vector["then"]
    ]
    assert differing
    assert [name for name in differing if f"`{name}`" not in page()] == []


def test_the_page_has_the_counts_of_the_tempest_plugin():
    result = json.loads((TESTS / "tempest" / "result.json").read_text())
    passed, of = result["of these passed here"], result["passed by the original"]
    assert f"{passed} of the {of} tests that pass on Heat" in page()
