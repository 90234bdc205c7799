"""Read the real properties of an object back, for drift and for updates with `converge`."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.fault import CloudFault
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.lookup import KINDS, Names
from hearth.schema import Custom, Prop


async def read_back(
    rtype: ResourceType, ctx: ResourceContext, names: Names | None = None
) -> Mapping[str, Any] | None:
    """Return the result of `ResourceType.observe`, in which names and ids of an object are equal.

    A value that names the same object as the stored value is returned as stored. `names` may
    contain lists that were fetched before. Raises CloudFault; with `names` also if a service fails
    while names are compared, which without `names` counts as a difference.
    """
    found = await rtype.observe(ctx)
    if not found:
        return found
    strict, names = names is not None, names or Names(ctx.cloud)
    same = {}
    for name, value in found.items():
        stored, prop = ctx.properties.get(name), rtype.properties.get(name)
        kind = None if prop is None or value == stored else _kind(prop)
        if kind is not None and await _same(names, kind, stored, value, strict=strict):
            same[name] = stored
    return {**found, **same}


def _kind(prop: Prop) -> str | None:
    """Return the kind of the objects that a property refers to; None if it refers to none."""
    for one in (prop, prop.item):
        for constraint in one.constraints if one is not None else ():
            if isinstance(constraint, Custom) and constraint.name in KINDS:
                return None if KINDS[constraint.name].alone else constraint.name
    return None


async def _same(names: Names, kind: str, stored: Any, value: Any, *, strict: bool) -> bool:
    """Return whether two names or ids, or two lists of them, refer to the same objects.

    If `strict` is true, raises CloudFault if the service fails.
    """
    pair = [one if isinstance(one, list) else [one] for one in (stored, value)]
    if not all(isinstance(one, str) for both in pair for one in both):
        return False
    try:
        ids = [[await names.id_of(kind, one) for one in both] for both in pair]
    except CloudFault as fault:
        if strict and (fault.passing or fault.status >= 500):
            raise
        return False
    return all(isinstance(one, str) for both in ids for one in both) and (
        sorted(map(str, ids[0])) == sorted(map(str, ids[1]))
    )
