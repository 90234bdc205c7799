"""What the comparison of attributes settles; `make attributes` asks a running Heat."""

import pytest

from tests.comparison.attributes import SETTLED, declared, reason, template_of
from tests.comparison.differences import ABSENT, Difference
from tests.types.case import subject


@pytest.mark.parametrize(
    ("place", "original", "here", "settled"),
    [
        ("shown.mtu", ABSENT, 1450, True),
        ("shown.mtu", 1450, ABSENT, False),
        ("get_attr.size", "1", 1, True),
        ("get_attr.size", "1", 2, False),
        ("get_attr.output", '{"a": 1}', {"a": 1}, True),
        ("get_attr.mtu", "The Referenced Attribute (net mtu) is incorrect.", 1450, True),
        ("get_attr.name", "one", "two", False),
        ("get_attr.show.mac_address", "fa:16:3e:00:00:01", "fa:16:3e:00:00:02", True),
        ("get_attr.id", 1, 2, True),
        ("get_attr.id", "a", "b", False),
    ],
)
def test_what_is_settled(place: str, original: object, here: object, settled: bool) -> None:
    found = reason("OS::Neutron::Net", Difference(place, original, here))
    assert (found is not None) is settled


def test_reasons_are_said_once() -> None:
    reasons = [one.reason for one in SETTLED]
    assert len(reasons) == len(set(reasons))


def test_each_attribute_is_asked_for() -> None:
    one = subject("OS::Neutron::Net")
    assert {"show", "mtu", "subnets"} <= set(declared(one)) == set(template_of(one)["outputs"])
