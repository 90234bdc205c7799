"""What a service shows means the same as what it was sent, or it does not."""

import pytest

from hearth.resources.observed import in_own_words, observed_value, same_value, within
from hearth.schema import ANY, BOOLEAN, INTEGER, LIST, MAP, NUMBER, STRING, AllowedValues, Prop

PLAIN = Prop(ANY)
CHOICE = Prop(STRING, constraints=(AllowedValues(["TCP", "UDP"]),))
FREE = Prop(MAP)
NAMED = Prop(
    MAP,
    schema={"ip": Prop(STRING), "mac": Prop(STRING), "late": Prop(BOOLEAN, default=False)},
)
SEVERAL = Prop(LIST, schema=NAMED)


@pytest.mark.parametrize(
    ("prop", "sent", "shown"),
    [
        (Prop(STRING), "", None),
        (Prop(LIST), [], None),
        (Prop(INTEGER), 0, ""),
        (Prop(BOOLEAN), True, "True"),
        (Prop(BOOLEAN), False, 0),
        (Prop(BOOLEAN), False, ""),
        (Prop(NUMBER), 80, "80.0"),
        (Prop(STRING), "80", 80),
        (Prop(STRING), "true", True),
        (CHOICE, "TCP", "tcp"),
        (Prop(STRING), "2001:DB8::0:1", "2001:db8::1"),
        (Prop(STRING), "10.0.0.0/24", "10.0.0.0/24"),
        (Prop(STRING), "FA-16-3E-00-00-01", "fa:16:3e:00:00:01"),
        (Prop(STRING), "2099-01-01T00:00:00Z", "2099-01-01 00:00:00.000000"),
        (Prop(STRING), "ssh-rsa AAA\n", "ssh-rsa AAA"),
        (Prop(STRING), "42", {"id": "42", "links": []}),
        (Prop(LIST), ["a", "b"], ["b", "a"]),
        (Prop(LIST), ["42"], [{"id": "42"}]),
        (FREE, {"a": 1}, {"a": "1"}),
        (NAMED, {"ip": "10.0.0.1", "mac": None}, {"ip": "10.0.0.1", "mac": "fa:16:3e:00:00:01"}),
        (NAMED, {"ip": "10.0.0.1", "late": False}, {"ip": "10.0.0.1"}),
        (SEVERAL, [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1", "mac": "x"}],
         [{"ip": "1.1.1.1", "mac": "x"}, {"ip": "1.1.1.1", "mac": "y"}]),
    ],
)  # fmt: skip
def test_another_form_means_the_same(prop: Prop, sent: object, shown: object):
    assert same_value(prop, sent, shown)
    assert observed_value(prop, sent, sent, shown) == sent


@pytest.mark.parametrize(
    ("prop", "sent", "shown"),
    [
        (Prop(STRING), "a", None),
        (Prop(STRING), "a", "A"),
        (CHOICE, "TCP", "udp"),
        (Prop(BOOLEAN), True, None),
        (Prop(BOOLEAN), True, "perhaps"),
        (Prop(INTEGER), 1, "one"),
        (Prop(STRING), "10.0.0.1", "10.0.0.2"),
        (Prop(STRING), "10.0.0.1/8", "10.0.0.1/16"),
        (Prop(LIST), ["a"], ["a", "a"]),
        (Prop(LIST), ["a", "a"], ["a", "b"]),
        (FREE, {"a": 1}, {"a": 1, "b": 2}),
        (FREE, {"a": None}, {"a": "x"}),
        (NAMED, {"ip": "10.0.0.1"}, {"mac": "x"}),
        (NAMED, {"ip": "10.0.0.1", "late": True}, {"ip": "10.0.0.1"}),
        (PLAIN, {"a": 1}, "text"),
        (PLAIN, ["a"], "a"),
    ],
)
def test_another_meaning_is_a_difference(prop: Prop, sent: object, shown: object):
    assert not same_value(prop, sent, shown)
    assert observed_value(prop, sent, sent, shown) != sent


@pytest.mark.parametrize(
    ("prop", "stored", "shown", "found"),
    [
        (Prop(INTEGER), 1, "2", 2),
        (Prop(STRING), "1", 2, "2"),
        (Prop(BOOLEAN), True, "false", False),
        (Prop(STRING), "1", {"id": "2", "links": []}, "2"),
        (SEVERAL, [{"ip": "1.1.1.1"}], [{"ip": "2.2.2.2", "more": 1}], [{"ip": "2.2.2.2"}]),
    ],
)
def test_a_difference_has_the_form_of_the_property(
    prop: Prop, stored: object, shown: object, found: object
):
    assert observed_value(prop, stored, stored, shown) == found


def test_keys_of_the_service_become_those_of_the_property():
    renamed = {"pairs.ip": "ip_address"}
    shown = [{"ip_address": "10.0.0.1", "mac": "x", "more": 1}]
    assert in_own_words(SEVERAL, shown, "pairs", renamed) == [{"ip": "10.0.0.1", "mac": "x"}]


def test_what_others_add_is_left_out():
    assert within({"a": 1}, {"a": 2, "b": 3}) == {"a": 2}
    assert within(["a"], ["b", "a"]) == ["a"]
    assert within({"a": 1}, "text") == "text"
