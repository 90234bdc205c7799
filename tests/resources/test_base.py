"""The base class of resource types is small: what not every type has is a capability."""

from hearth.resources.base import ResourceType

NAMES_MAX = 25


def test_an_author_meets_few_names_in_the_base_class():
    names = {name for name in vars(ResourceType) if not name.startswith("_")}
    names |= ResourceType.__annotations__.keys()
    assert len(names) <= NAMES_MAX, f"make it a capability: {sorted(names)}"
