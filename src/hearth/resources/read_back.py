"""Read the real properties of an object back, for drift and for updates with `converge`."""

from collections.abc import Mapping, Set
from typing import Any

from hearth.cloud.fault import CloudFault, NotFound
from hearth.model.state import Action
from hearth.resources.actions import handles
from hearth.resources.base import Failed, ResourceContext, ResourceType
from hearth.resources.capabilities import MakesObject, Observable
from hearth.resources.lookup import KINDS, Names
from hearth.schema import Custom, Prop

WRITE_ONLY = frozenset(
    {"admin_pass", "password", "payload", "personality", "private_key", "psk", "user_data"}
)
"""Names of properties whose values no service shows."""
NOT_SHOWN = "the service does not show it in a form that can be compared"


class Unfit(CloudFault):
    """The service has answered, and the type's check does not accept the state of the object."""


def can_be_read(rtype: ResourceType) -> bool:
    """Return whether `real_state` reads anything: the properties, or whether the object exists."""
    return isinstance(rtype, Observable) or handles(rtype, Action.CHECK)


def only_grow(rtype: ResourceType) -> Set[str]:
    """Return the properties of a type that no update can lower."""
    return rtype.only_grow if isinstance(rtype, Observable) else frozenset()


def unobserved_reason(rtype: ResourceType, name: str) -> str:
    """Return why the real value of the property `name` is not read."""
    if isinstance(rtype, Observable) and name in rtype.unobserved:
        return rtype.unobserved[name]
    if name in WRITE_ONLY or name in getattr(rtype, "hidden_properties", ()):
        return "write-only: the service never shows it"
    return NOT_SHOWN


async def real_state(
    rtype: ResourceType, ctx: ResourceContext, names: Names | None = None
) -> Mapping[str, Any] | None:
    """Return the result of `read_back`, or None if the object is gone.

    The result is empty if only the existence of the object can be examined. Raises CloudFault, also
    if the cloud does not have the service: nothing is known of its objects then.
    """
    try:
        values = await read_back(rtype, ctx, names)
        if values is None or isinstance(rtype, Observable) or await exists(rtype, ctx):
            return values
        return None
    except NotFound:
        return None


async def is_lost(rtype: ResourceType, ctx: ResourceContext) -> bool:
    """Return whether only a replacement helps: the object is gone, or in a state that nothing
    leaves.

    Raises CloudFault if the service gives no answer about the object.
    """
    if not isinstance(rtype, MakesObject):
        return False
    if ctx.physical_id is None:
        return True
    try:
        if type(rtype).show is ResourceType.show:
            return not await exists(rtype, ctx)
        body = await rtype.show(ctx)
    except NotFound:
        return True
    except Unfit:
        return False
    return body is None or (isinstance(rtype, Observable) and rtype.is_dead(body))


async def at_rest(rtype: ResourceType, ctx: ResourceContext) -> bool:
    """Return whether no change of the object is under way, as far as its body shows."""
    if type(rtype).show is ResourceType.show:
        return True
    body = await rtype.show(ctx) or {}
    return not isinstance(rtype, Observable) or rtype.at_rest(body)


async def exists(rtype: ResourceType, ctx: ResourceContext) -> bool:
    """Return whether the object exists, as the type's check sees it. Raises CloudFault."""
    for step in rtype.check_steps(ctx):
        if step.poll is not None:
            try:
                progress = await step.poll(ctx)
            except NotFound:
                return False
            if isinstance(progress, Failed):
                raise Unfit(str(rtype.service), 0, progress.error, progress.reason)
    return True


async def read_back(
    rtype: ResourceType, ctx: ResourceContext, names: Names | None = None
) -> Mapping[str, Any] | None:
    """Return the result of `Observable.observe`, in which names and ids of an object are equal.

    A value that names the same object as the stored value is returned as stored. `names` may
    contain lists that were fetched before. Raises CloudFault; with `names` also if a service fails
    while names are compared, which without `names` counts as a difference.
    """
    values = await rtype.observe(ctx) if isinstance(rtype, Observable) else {}
    if not values:
        return values
    strict, names = names is not None, names or Names(ctx.cloud)
    unchanged = {}
    for name, value in values.items():
        stored_value, prop = ctx.properties.get(name), rtype.properties.get(name)
        kind = None if prop is None or value == stored_value else _kind(prop)
        if kind is not None and await _same_objects(
            names, kind, stored_value, value, strict=strict
        ):
            unchanged[name] = stored_value
    return {**values, **unchanged}


def _kind(prop: Prop) -> str | None:
    """Return the kind of the objects that a property refers to; None if it refers to none."""
    for candidate in (prop, prop.item):
        for constraint in candidate.constraints if candidate is not None else ():
            if isinstance(constraint, Custom) and constraint.name in KINDS:
                return None if KINDS[constraint.name].alone else constraint.name
    return None


async def _same_objects(
    names: Names, kind: str, stored_value: Any, value: Any, *, strict: bool
) -> bool:
    """Return whether two names or ids, or two lists of them, refer to the same objects.

    If `strict` is true, raises CloudFault if the service fails.
    """
    pair = [entry if isinstance(entry, list) else [entry] for entry in (stored_value, value)]
    if not all(isinstance(ident, str) for refs in pair for ident in refs):
        return False
    try:
        ids = [[await names.id_of(kind, ident) for ident in refs] for refs in pair]
    except CloudFault as fault:
        if strict and (fault.passing or fault.status >= 500):
            raise
        return False
    return all(isinstance(ident, str) for refs in ids for ident in refs) and (
        sorted(map(str, ids[0])) == sorted(map(str, ids[1]))
    )
