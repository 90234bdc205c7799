"""Named constraints: which exist, and that lint and a create judge them alike."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hearth.authoring.lint import lint
from hearth.resources.lookup import KINDS, check_constraints
from hearth.schema.named import CHECKS, IN_CLOUD, unknown_constraint, wrong_value

HOT = "heat_template_version: 2021-04-16\n"
BAD = {
    "cron_expression": "soon", "dns_domain": "nodot", "dns_name": "a_b", "expiration": "never",
    "ip_addr": "10.0.0.999", "ip_or_cidr": "10.0.0.0/99", "iso_8601": "noon",
    "json_string": "{", "mac_addr": "zz", "net_cidr": "10.0.0.0", "rel_dns_name": "a.",
    "timezone": "Mars/Crater", "zaqar.queue": 65 * "a",
}  # fmt: skip
PROPERTIES = [
    "type: OS::Neutron::Net\n    properties: {dns_domain: BAD}",
    "type: OS::Neutron::Port\n    properties: {network: n, mac_address: BAD}",
    "type: OS::Neutron::Port\n    properties: {network: n, fixed_ips: [{ip_address: BAD}]}",
    "type: OS::Neutron::Subnet\n    properties: {network: n, cidr: BAD}",
]


def said(folder: Path, text: str, values: str = "") -> list[str]:
    """Return the errors that lint reports in a template and an environment."""
    (folder / "t.yaml").write_text(HOT + text)
    (folder / "e.yaml").write_text(values)
    environments = [folder / "e.yaml"] if values else []
    found = lint(folder / "t.yaml", environments)
    return [one.message for one in found if one.severity.value == "error"]


def test_the_names_are_those_that_a_create_knows():
    assert set(KINDS) == IN_CLOUD
    assert BAD.keys() == CHECKS.keys() - {"test_constr"}


@pytest.mark.parametrize("name", BAD)
def test_lint_and_a_create_refuse_the_same_values(tmp_path: Path, name: str):
    words = wrong_value(name, BAD[name])
    assert words is not None
    cloud: Any = None  # no call is made
    (problem,) = asyncio.run(check_constraints([(name, BAD[name], None)], cloud))
    assert problem.text == words
    declared = "parameters:\n  p: {type: string, DEFAULTconstraints: [{custom_constraint: %s}]}\n"
    used = "outputs:\n  o: {value: {get_param: p}}\n"
    text = declared % name + used
    default = text.replace("DEFAULT", f"default: {BAD[name]!r}, ")
    assert any(words in one for one in said(tmp_path, default))
    plain = text.replace("DEFAULT", "")
    assert said(tmp_path, plain) == []
    assert any(words in one for one in said(tmp_path, plain, f"parameters: {{p: {BAD[name]!r}}}"))
    replaced = said(tmp_path, default, 'parameters: {p: ""}')
    assert not any("default" in one for one in replaced)


@pytest.mark.parametrize("resource", PROPERTIES)
@pytest.mark.parametrize("value", ["zz.zz", "{list_join: ['', [zz, '.zz']]}"])
def test_lint_judges_literal_and_computed_properties(tmp_path: Path, resource: str, value: str):
    text = f"resources:\n  one:\n    {resource.replace('BAD', value)}\n"
    (words,) = said(tmp_path, text)
    assert "zz.zz" in words


def test_lint_refuses_a_constraint_that_does_not_exist(tmp_path: Path):
    text = "parameters:\n  p: {type: string, constraints: [{custom_constraint: net_cdir}]}\n"
    (words,) = said(tmp_path, f"{text}outputs:\n  o: {{value: {{get_param: p}}}}\n")
    assert words == unknown_constraint("net_cdir")
    assert words.endswith("did you mean net_cidr?")
