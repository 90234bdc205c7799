"""`ResourceType`: the interface of resource types for the engine and the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, ClassVar, Protocol

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import ResourcePropertyConflict
from hearth.model.state import Action
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

    A subclass declares its properties and attributes and overrides methods. The engine runs its
    steps for an action; for an immediate type (one without cloud calls) it calls `make` and `amend`
    instead.
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
    immediate: ClassVar[bool] = False
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
    member_property: ClassVar[str | None] = None  # the property that defines a group's members
    member_keys: ClassVar[Set[str] | None] = None  # the keys in it that count; None: the schema's
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

    def handles(self, action: Action) -> bool:
        """Return whether the type overrides the method `ACTION_steps`, for example
        `suspend_steps`.
        """
        method = f"{action.value.lower()}_steps"
        return getattr(type(self), method, None) is not getattr(ResourceType, method, None)

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

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return ()

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return ()

    def adopt_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return ()

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that make the old resource release what its replacement needs.

        An example is a fixed address. The steps run after the engine has decided to replace the
        resource.
        """
        return ()

    async def may_go_first(self, ctx: ResourceContext) -> bool:
        """Return whether the old object may be deleted before its replacement is created.

        The engine calls this if the object refuses a step of `replaced_steps`, as a server in an
        error state does. If the result is false, the replacement fails. May raise CloudFault.
        """
        return False

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that undo `replaced_steps`, for a rollback to the old resource."""
        return ()

    def make(self, ctx: ResourceContext) -> Made:
        """Return the result of creating a resource of an immediate type; no I/O is allowed."""
        return Made(physical_id=ctx.physical_name)

    def amend(self, ctx: ResourceContext) -> Made:
        """Return the result of updating a resource of an immediate type; no I/O is allowed."""
        return Made()

    # what is decided

    def must_replace(self, change: Change) -> str | None:
        """Return the reason why this change requires a replacement, or None if it does not.

        Changes of properties that cannot be updated are detected elsewhere.
        """
        return next(
            (reason for n, reason in self.replaced_for.items() if n in change.changed), None
        )

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        """Return whether the service refused a call only because the object is busy.

        The engine then repeats the call after a pause, until the operation times out.
        """
        return False

    async def used_by(self, ctx: ResourceContext) -> Sequence[str]:
        """Return a short text for each object that still uses this one; empty if that is unknown.

        The engine calls this after a delete was refused with a conflict. May raise CloudFault.
        """
        return ()

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

    def reserved_metadata(self, properties: Mapping[str, Any]) -> Set[str]:
        """Return the metadata keys that a template must not set on a resource with these
        properties.
        """
        return frozenset()

    def without_agent(self, properties: Mapping[str, Any]) -> str | None:
        """Return why no agent on such a server asks for software deployments; None if one may.

        Unknown values are missing or null.
        """
        return None

    def longest_s(self, properties: Mapping[str, Any]) -> float:
        """Return the seconds that one action takes at most if nothing but these properties decides;
        0 if something else decides.
        """
        return 0.0

    async def refused(self, properties: Mapping[str, Any], cloud: Cloud) -> Sequence[str]:
        """Return an error message for each reason why the cloud would refuse these properties.

        Called before anything is stored or created; values that are not known yet are null. Raises
        CloudFault if the cloud gives no answer.
        """
        return ()

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

    def nested_definition(self, properties: Mapping[str, Any]) -> Any:
        """Return a template for the validation of the nested stack that a group generates.

        For many equal members, it may contain one (see `nested_copies`). Return None if there is
        nothing to validate.
        """
        return None

    def nested_copies(self, properties: Mapping[str, Any]) -> int:
        """Return how many members of the group one member of `nested_definition` represents."""
        return 1

    def location(self, ctx: ResourceContext) -> tuple[str, str, str | None]:
        """Return the service, the path and the microversion with which to call the object itself.

        If the microversion is None, the service uses its default.
        """
        raise NotImplementedError(self.type_name)
