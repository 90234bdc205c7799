"""`ResourceType`: the interface of resource types for the engine and the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from hearth.model.problem import ResourcePropertyConflict
from hearth.resources.context import (
    Change,
    Child,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Scaling,
    SignalResult,
    StackFacts,
    Step,
    Users,
)
from hearth.resources.declarations import check_names
from hearth.resources.translate import move
from hearth.schema import Attr, Prop, Relation, Rule, Support, ValueKind, Violation

__all__ = [
    "Change",
    "Child",
    "Failed",
    "Later",
    "Made",
    "Progress",
    "Ready",
    "ResourceContext",
    "ResourceType",
    "Scaling",
    "SignalResult",
    "StackFacts",
    "Step",
    "Users",
]

SHOW = Attr(ValueKind.MAP, "All fields of the object that the service returns.", cached=False)


class Before(Protocol):
    """A rule that finds dependencies which the template does not express by references."""

    def names(self, definition: Any, program: Any) -> Iterable[str]:
        """Return the names of the resources that must exist before the resource with this
        definition.

        `definition` and `program` are the compiler's representation of the resource and the
        template.
        """


FOR_HEARTH = "only Hearth uses it; the cloud has no such property"
FOR_CREATE = "it matters only while the object is created"


_lookups: list[Callable[[str], ResourceType]] = []


def unpickles_types(lookup: Callable[[str], ResourceType]) -> Callable[[str], ResourceType]:
    """Let this function return the type of a kind when one comes from another process.

    The catalogue of types declares itself so, because it knows all types, and they know this
    module.
    """
    _lookups[:] = [lookup]
    return lookup


def _named(kind: str) -> ResourceType:
    """Return the resource type of this kind; called to unpickle one."""
    (lookup,) = _lookups
    return lookup(kind)


class ResourceType:
    """Base class of all resource types. A type has no state; each process has one instance of it.

    A subclass declares its properties and attributes and overrides methods. What not every type
    can do is a capability, see `capabilities.py`.
    """

    type_name: ClassVar[str]
    properties: Mapping[str, Prop] = {}
    attributes: Mapping[str, Attr] = {"show": SHOW}
    update_policy: Mapping[str, Prop] = {}
    support: Support = Support()
    translation: Sequence[Rule] = ()
    relations: Sequence[Relation] = ()  # rules about several properties
    physical_name_limit: int = 255
    comes_after: ClassVar[Sequence[Before]] = ()  # rules for dependencies without a reference
    service: str | None = None  # if the service catalogue lacks it, the type is unavailable
    extension: ClassVar[str | None] = None  # the extension of the network service that is needed

    def __init_subclass__(cls, *, has_show: bool = True, **options: Any) -> None:
        """Give the type the attribute `show`, unless it or its base class has `has_show=False`."""
        super().__init_subclass__(**options)
        bases = [base for base in cls.__bases__ if issubclass(base, ResourceType)]
        if not has_show:
            cls.attributes = {n: attr for n, attr in cls.attributes.items() if n != "show"}
        elif "show" not in cls.attributes and all("show" in base.attributes for base in bases):
            cls.attributes = {**cls.attributes, "show": SHOW}
        check_names(cls)

    @property
    def name(self) -> str:
        """The name of the type in templates, such as OS::Neutron::Net."""
        return self.type_name

    @property
    def recorded_as(self) -> str:
        """The name of the type in records; only revived types have another one in templates."""
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.recorded_as,)

    # what is done

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return ()

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return ()

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps of a delete.

        The engine calls this even without a physical id: an earlier step may have created
        something. Without recorded data, the required properties then have values.
        """
        return ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return ()

    # what is decided

    def must_replace(self, change: Change) -> str | None:
        """Return the reason why this change requires a replacement, or None if it does not.

        Changes of properties that cannot be updated are detected elsewhere.
        """
        return None

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        """Return whether the next update replaces this resource, whose create failed; if not, it
        updates the resource.

        After any other failed action it replaces a resource only if its object is lost.
        """
        return True

    def conflicts(self, properties: Mapping[str, Any]) -> Iterable[Violation]:
        """Yield each violation of a rule in `relations`. Values may be unknown in part."""
        if not self.relations:
            return
        moved = move(properties, self.translation)
        for problem in moved.problems:
            yield Violation((), str(problem), ResourcePropertyConflict)
        for relation in self.relations:
            yield from relation.violations(moved.properties)

    # what is shown

    def reference(self, ctx: ResourceContext) -> str:
        """Return the value of the template function `get_resource`: the physical id, else the
        name.
        """
        return ctx.physical_id or ctx.name

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        """Return the value of an attribute, from the last response body or from a new call.

        An attribute that is not cached always needs a call. The attribute `show` is the whole body.
        Return None if the body does not contain the attribute.
        """
        declared = self.attributes.get(name)
        body = ctx.body
        if body is None or name not in body or (declared is not None and not declared.cached):
            body = await self.show(ctx)
        if name == "show":
            return body
        return (body or {}).get(name)

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Fetch the object and return its body, or None if the object is gone."""
        return ctx.body

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        """Return the cached attributes that the last response body contains; makes no call."""
        body = ctx.body or {}
        return {
            name: body[name]
            for name, declared in self.attributes.items()
            if declared.cached and name in body
        }

    # what the compiler asks

    def implicit_requires(self, name: str, definition: Any, program: Any) -> Iterable[str]:
        """Return the names of resources that must exist first, although the template has no
        reference to them.
        """
        for before in self.comes_after:
            yield from before.names(definition, program)
