"""What an adapter finds at an object is, as the values before a change, what the object has."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from hearth.resources import base, capabilities
from hearth.resources.adapter import AdapterType
from hearth.resources.registry import builtin_types
from tests.resources.fake import context_of
from tests.types.case import subject

ADAPTERS = sorted(n for n, one in builtin_types().items() if isinstance(one, AdapterType))
ANY_ID = "5c1f8b0e-6a3d-4a57-9a1c-0d2b7f6f2f11"


def given_of(type_name: str) -> dict[str, Any]:
    """All properties of the type's example, with an id for each reference."""
    one = subject(type_name)
    full = next(start for start in one.starts() if start.name == "full")
    return {n: _plain(v) for n, v in full.template["resources"][one.resource]["properties"].items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith(("get_", "Ref", "Fn::")):
            return ANY_ID
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def another(value: Any) -> Any:
    """Another value of the same form."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case dict():
            return {**{name: another(one) for name, one in value.items()}, "found": "there"}
        case list():
            return [another(one) for one in value] or ["found"]
        case _:
            return f"{value}-found"


@pytest.mark.parametrize("type_name", ADAPTERS)
def test_what_is_found_is_what_was_there_before(type_name, monkeypatch):
    ctx = context_of(type_name, given_of(type_name), physical_id=ANY_ID)
    kind = builtin_types()[type_name]
    inner = kind.adapted_context(ctx)
    hidden = kind.adapted.unobserved
    there = {n: another(value) for n, value in inner.properties.items() if n not in hidden}

    async def observe(other, ctx):
        return there

    async def inner_context(self, ctx):
        return self.adapted_context(ctx)

    monkeypatch.setattr(type(kind.adapted), "observe", observe)
    monkeypatch.setattr(type(kind), "inner_context", inner_context)
    found = asyncio.run(kind.observe(ctx))
    for name, value in found.items():
        if not kind.properties[name].update_allowed:
            continue
        theirs = kind._determined(ctx)[name]
        before = {**ctx.properties, name: value}
        changed = replace(ctx, before=before, changed=frozenset({name}))
        outer = kind.adapted_context(changed)
        assert theirs <= outer.changed
        if name in kind.turned_back:
            assert {n: outer.before.get(n) for n in theirs} == {n: there[n] for n in theirs}
        without = replace(
            changed, properties={n: v for n, v in ctx.properties.items() if n != name}
        )
        if not kind.properties[name].required:
            assert theirs <= kind.adapted_context(without).changed


OWN_MATTER = {  # what an adapter answers itself, or what `observe` of the other type calls
    "as_sent", "drop_snapshot", "must_replace", "observed", "refused", "reserved_metadata",
    "restored", "snapshot_delete_steps", "snapshot_steps",
}  # fmt: skip


@pytest.mark.parametrize("type_name", ADAPTERS)
def test_what_the_other_type_knows_an_adapter_knows(type_name):
    kind = builtin_types()[type_name]
    homes = {base.__name__, capabilities.__name__}
    usual = {
        name: one
        for home in type(kind.adapted).__mro__
        if home.__module__ in homes
        for name, one in vars(home).items()
        if callable(one) and name[0] != "_"
    }
    missing = {
        name
        for name, one in usual.items()
        if getattr(type(kind.adapted), name) is not one and getattr(type(kind), name, one) is one
    }
    assert missing <= OWN_MATTER
    assert kind.holds_data == kind.adapted.holds_data
