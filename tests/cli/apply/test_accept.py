"""Real values in a template: only the values change, and the rest is told."""

from pathlib import Path
from typing import Any

import pytest

from hearth.cli.apply.accept import accepted
from hearth.cli.apply.api import UserError

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  net:  # ours
    type: OS::Neutron::Net
    properties: {name: blue, mtu: 1400, shared: "no"}   # stays
  port:
    type: OS::Neutron::Port
    properties:
      name: two words  # a comment
      admin_state_up: true
      mac_address: {get_param: mac}
      dns_name: {get_attr: [net, name]}
      fixed_ips:
        - ip_address: 10.0.0.1
"""


def drift(name: str, /, parent: str | None = None, **values: Any) -> dict[str, Any]:
    pairs = [{"property": key, "want": None, "have": have} for key, have in values.items()]
    return {"resource_name": name, "parent_resource": parent, "differences": pairs}


def test_scalars_are_replaced_in_their_lines():
    found = [
        drift("net", name="red", mtu=1500, shared=True),
        drift("port", name="a: b", admin_state_up=False),
    ]
    text, done, left = accepted(TEMPLATE, Path("web.yaml"), found)
    assert text == (
        TEMPLATE.replace("blue", '"red"')
        .replace("1400", "1500")
        .replace('"no"', "true")
        .replace("two words", '"a: b"')
        .replace("admin_state_up: true", "admin_state_up: false")
    )
    assert done[0] == 'web.yaml:5:24: net.name = "red"'
    assert len(done) == 5
    assert left == []


def test_what_is_no_scalar_is_left_to_the_author():
    found = [
        drift("port", mac_address="x", dns_name="y", fixed_ips="z", device_id="d"),
        drift("net", name="******", mtu=[1]),
        drift("inner", parent="tier", name="n"),
    ]
    text, done, left = accepted(TEMPLATE, Path("web.yaml"), found)
    assert text == TEMPLATE
    assert done == []
    assert left == [
        "port.mac_address: it comes from the parameter mac",
        "port.dns_name: it is computed, or a list or a map",
        "port.fixed_ips: it is computed, or a list or a map",
        "port.device_id: the template does not set it",
        "net.name: its value is hidden",
        "net.mtu: its real value is [1]",
        "inner.name: it is in the nested stack of tier",
    ]


def test_a_value_over_several_lines_is_left_alone():
    text = TEMPLATE.replace("name: two words  # a comment", "name: two\n        words")
    after, done, left = accepted(text, Path("web.yaml"), [drift("port", name="x")])
    assert (after, done, left) == (text, [], ["port.name: its value is not on one line"])


def test_a_template_that_is_no_yaml_is_refused_with_the_place():
    with pytest.raises(UserError, match=r"^web\.yaml:2:1: not well-formed YAML"):
        accepted("resources: [", Path("web.yaml"), [])
