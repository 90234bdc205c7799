"""Names that reach into nested stacks."""

import pytest

from hearth.template.members import attributes_below, full_attribute, names_read

WAYS = [
    (("y",), "y", ()),
    (("m", "k", 1), "m", ("k", 1)),
    (("resource.q",), "resource.q", ()),
    (("resource.q", "value"), "resource.q.value", ()),
    (("resource.q.value", "k"), "resource.q.value", ("k",)),
    (("resource.1", "value", 0), "resource.1.value", (0,)),
    (("resource.m", "resource.q"), "resource.m.resource.q", ()),
    (("resource.m", "resource.q", "value", "k"), "resource.m.resource.q.value", ("k",)),
    (("resource.m.resource.q", "value"), "resource.m.resource.q.value", ()),
    (("resource.m.resource.q.value",), "resource.m.resource.q.value", ()),
]


@pytest.mark.parametrize(("read", "name", "left"), WAYS)
def test_every_way_to_write_a_member_is_one_name(read, name, left):
    assert full_attribute(read[0], read[1:]) == (name, left)
    assert names_read([read]) == {read[0], name}


def test_a_stack_below_hears_of_words_and_of_names_that_lead_on():
    below = attributes_below([("resource.m", "resource.q", "value"), ("y", "k")])
    assert below == {"resource", "m", "q", "value", "y", "k", "resource.q.value"}
    assert "resource.q.value" not in attributes_below([("resource.q", "value")])
    assert attributes_below([("resource.q.value",)]) == {"resource", "q", "value"}
