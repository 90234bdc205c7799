"""`ResourceType`: the interface of resource types for the engine and the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
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
from hearth.template import walk

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


OF_USERS = frozenset({"user_id", "password", "access_key", "secret_key"})
"""The keys in a record's private data that hold the user which the resource created for itself."""

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
    attributes: Mapping[str, Attr] = {}
    update_policy: Mapping[str, Prop] = {}
    support: Support = Support()
    translation: Sequence[Rule] = ()
    relations: Sequence[Relation] = ()  # rules about several properties
    mirrors: Mapping[str, str] = {}  # attribute → the property that it always shows
    physical_name_limit: int = 255
    has_show: ClassVar[bool] = True
    accepts_any_attribute: bool = False
    accepts_any_property: bool = False
    hidden_properties: ClassVar[Set[str]] = frozenset()  # properties whose values are always hidden
    needs_users: ClassVar[bool] = False  # it uses users of the stack's domain project
    replaced_at_every_update: ClassVar[bool] = False  # even if its definition has not changed
    updated_always: ClassVar[bool] = False  # every update of the stack is passed on to the object
    replaced_for: ClassVar[Mapping[str, str]] = {}  # property → why a change of it replaces
    holds_data: ClassVar[bool] = False  # its object has data of users, which a delete destroys
    comes_after: ClassVar[Sequence[Before]] = ()  # rules for dependencies without a reference
    secret_reference: ClassVar[bool] = False  # `get_resource` gives a secret, as a signed URL
    refers_to: ClassVar[Sequence[str]] = ()  # properties that must name a resource of the stack
    runs_on: ClassVar[Sequence[str]] = ()  # properties that refer to servers of deployments
    ends_with: ClassVar[str | None] = None  # the property with the object whose delete ends it, too
    substitute: str | None = None  # an update may change to this type without a replacement
    service: str | None = None  # if the service catalogue lacks it, the type is unavailable
    extension: ClassVar[str | None] = None  # the extension of the network service that is needed

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.has_show and "show" not in cls.attributes:
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
        return next(
            (reason for n, reason in self.replaced_for.items() if n in change.changed), None
        )

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

    def within(self, attribute: str, value: Any, path: Sequence[Any]) -> Any:
        """Return the part of an attribute's value at a path such as ["addresses", 0]; None if it is
        missing.
        """
        return walk(value, path)

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Fetch the object and return its body, or None if the object is gone."""
        return ctx.body

    def brought(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the private data that an adopted or restored resource takes over from the document
        `data`.

        Data about users is left out, because a user belongs to the resource that created it.
        """
        if self.needs_users:
            return {}
        return {name: value for name, value in data.items() if name not in OF_USERS}

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

    def location(self, ctx: ResourceContext) -> tuple[str, str, str | None]:
        """Return the service, the path and the microversion with which to call the object itself.

        If the microversion is None, the service uses its default.
        """
        raise NotImplementedError(self.type_name)
