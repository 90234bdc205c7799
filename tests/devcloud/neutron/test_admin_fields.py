"""Fields that only administrators set: others may name them with what they are anyway."""

import importlib
import pkgutil
from typing import Any

import pytest

from hearth_devcloud import neutron
from hearth_devcloud.collection import Collection, Fault, Invalid
from tests.devcloud.neutron.caller import Network


def collections() -> dict[str, Collection]:
    """Every collection of Neutron."""
    modules = [
        importlib.import_module(f"{neutron.__name__}.{one.name}")
        for one in pkgutil.iter_modules(neutron.__path__)
    ]
    found = [value for module in modules for value in vars(module).values()]
    return {one.plural: one for one in found if isinstance(one, Collection)}


FIELDS = [
    (plural, name)
    for plural, collection in sorted(collections().items())
    for name, field in collection.fields.items()
    if field.admin and field.create
]


def refusal(collection: Collection, given: dict[str, Any], *, creating: bool = True) -> Any:
    try:
        if creating:
            collection.for_create(given, admin=False)
        else:
            collection.for_update(given, admin=False)
    except Invalid as refused:
        return refused.fault
    return None


@pytest.mark.parametrize(("plural", "name"), FIELDS)
def test_a_default_may_be_named_at_creation_only(plural: str, name: str):
    collection = collections()[plural]
    field = collection.fields[name]
    usual = field.initial()
    refused = refusal(collection, {name: usual})
    if usual is None:  # it stands for what was not given, which cannot be said
        assert refused is not None
    else:
        assert refused is not Fault.FORBIDDEN
    if isinstance(usual, bool):
        assert refusal(collection, {name: not usual}) is Fault.FORBIDDEN
        if field.update:
            assert refusal(collection, {name: usual}, creating=False) is Fault.FORBIDDEN


def test_there_are_such_fields():
    assert {("networks", "shared"), ("networks", "provider:network_type")} <= set(FIELDS)


def test_a_member_makes_a_network_that_is_not_shared(demo: Network):
    made = demo.make("networks", "network", name="mine", shared=False)
    assert made["shared"] is False
    refused = demo.refused("POST", "networks", {"network": {"name": "ours", "shared": True}})
    assert refused == (403, "PolicyNotAuthorized")
