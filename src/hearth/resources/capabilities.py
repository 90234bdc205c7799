"""Optional capabilities of resource types; `isinstance` shows whether a type has one."""

from collections.abc import Mapping, Sequence, Set
from enum import StrEnum
from typing import Any, ClassVar

from msgspec.structs import replace

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import NotSupported, Problem, Rejected
from hearth.resources.base import ResourceType
from hearth.resources.context import Child, Made, ResourceContext, SignalResult, Step
from hearth.resources.mark import unmarked
from hearth.resources.observed import observed_value
from hearth.template import walk

OF_USERS = frozenset({"user_id", "password", "access_key", "secret_key"})
"""The keys in a record's private data that hold the user which the resource created for itself."""
REFERENCE_OUTPUT = "OS::stack_id"
VISIBILITY_DELAY_S = 5.0


class IntentKey(StrEnum):
    """How Hearth finds the result of a create call whose answer was lost.

    The members are ordered by reliability; the most reliable comes first.
    """

    OWN_ID = "an id that Hearth chooses"
    NATURAL_KEY = "a natural unique key"
    TAG = "a tag, metadata entry or description"
    OWN_NAME = "the generated name"
    RENAME = "a temporary generated name"
    NONE = "nothing"


class MakesObject(ResourceType):
    """A type whose resources stand for objects in the cloud, which are found by an intent key."""

    identified_by: IntentKey = IntentKey.NONE
    known_by: ClassVar[str] = ""  # the key in words; without a key, why, and what may be left over
    keyless_with: ClassVar[Set[str]] = frozenset()  # if all these are given, there is no key
    natural_key: ClassVar[Set[str]] = frozenset()  # properties that name an object without an id
    orphan_prefixes: ClassVar[
        tuple[str, ...]
    ] = ()  # prefixes of orphans that are parts, not the object
    visibility_delay_s: float = VISIBILITY_DELAY_S
    undescribed: ClassVar[str | None] = ""  # the service's value of a description that is not set
    holds_data: ClassVar[bool] = False  # its object has data of users, which a delete destroys
    ends_with: ClassVar[str | None] = None  # the property with the object whose delete ends it, too
    substitute: str | None = None  # an update may change to this type without a replacement

    def has_key(self, properties: Mapping[str, Any]) -> bool:
        """Return whether an object with these properties has an intent key.

        It has none if all properties in `keyless_with` are given. Without a key, Hearth cannot find
        the object if the answer to its create call is lost.
        """
        return not self.keyless_with or not all(map(properties.get, self.keyless_with))

    def key_in_words(self) -> str:
        """Return the text for the documentation that names the intent key of this type.

        If there is no key, the text says why and what a crash may leave behind in the cloud.
        """
        return self.known_by

    def as_sent(self, name: str, value: Any) -> Any:
        """Convert the value of the property `name` to the form that the service expects."""
        return value

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

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        """Find orphans: objects that carry the record's intent key but are not the recorded object.

        Returns their physical ids. This implementation suits types with at most one object per key:
        if an id is recorded, there is no orphan.
        """
        if ctx.physical_id is not None:
            return ()
        finds = [step.find for step in self.create_steps(ctx) if step.find is not None]
        candidates = [await find(ctx) for find in finds]
        return [
            candidate.physical_id
            for candidate in candidates
            if candidate is not None and candidate.physical_id
        ]

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        """Delete the orphan with this physical id."""
        doomed = replace(ctx, physical_id=physical_id)
        for step in self.delete_steps(doomed):
            await step.do(doomed)


class Observable(MakesObject):
    """A type whose objects can be read, so that drift is found: by `show` or by `observe`."""

    unobserved: ClassVar[Mapping[str, str]] = {}  # property → why its real value is not compared
    only_grow: ClassVar[Set[str]] = frozenset()  # properties that no update can lower

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the current values of the object's properties, or None if the object is gone.

        Only properties with a stored value are returned, and only those whose values can be
        compared. A value that means the same as the stored value is returned as stored. The engine
        ignores properties that cannot be updated. Raises CloudFault.
        """
        body = await self.show(ctx)
        return None if body is None else self.observed(ctx, unmarked(body))

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values of those properties that a response body shows under their own names.

        See `observe`. `body` has no intent keys.
        """
        return {
            name: observed_value(prop, desired, self.as_sent(name, desired), body[name])
            for name, prop in self.properties.items()
            if (desired := ctx.properties.get(name)) is not None
            and name in body
            and name not in self.unobserved
        }

    def at_rest(self, body: Mapping[str, Any]) -> bool:
        """Return whether a body shows that no change of the object is under way.

        A server whose resize waits for its confirmation is not at rest either.
        """
        return True

    def is_dead(self, body: Mapping[str, Any]) -> bool:
        """Return whether a body shows that the object is in a state that nothing leaves."""
        return False


class NestedType(MakesObject):
    """A type whose resource is a nested stack. If the nested stack fails, it is updated, not
    replaced.
    """

    regroups: ClassVar[bool] = False  # the desired nested stack depends on the current members
    scalable: ClassVar[bool] = False  # a group that scaling policies may resize
    member_attributes: ClassVar[Set[str]] = frozenset()  # the nested stack always reports these
    refers_to: ClassVar[Sequence[str]] = ()  # properties that must name a resource of the stack
    member_property: ClassVar[str | None] = None  # the property that defines a group's members
    member_keys: ClassVar[Set[str] | None] = None  # the keys in it that count; None: the schema's
    identified_by = IntentKey.OWN_ID
    known_by = "the id of the nested stack, which is created in the transaction that records it"
    visibility_delay_s = 0
    snapshot_policy_allowed = True
    accepts_any_attribute = True

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        return False

    def reference(self, ctx: ResourceContext) -> str:
        output = ctx.outputs.get(REFERENCE_OUTPUT)
        return str(output) if output is not None else identifier(ctx)

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name.startswith("resource."):
            return of_member(ctx.members, name)
        return None if name == "show" else self.recordable(ctx)[name]

    def within(self, attribute: str, value: Any, path: Sequence[Any]) -> Any:
        """Return the part of an attribute's value at a path such as ["addresses", 0]; None if it is
        missing.
        """
        return walk(value, path)

    def nested_definition(self, properties: Mapping[str, Any]) -> Any:
        """Return a template for the validation of the nested stack that a group generates.

        For many equal members, it may contain one (see `nested_copies`). Return None if there is
        nothing to validate.
        """
        return None

    def nested_copies(self, properties: Mapping[str, Any]) -> int:
        """Return how many members of the group one member of `nested_definition` represents."""
        return 1

    def child(self, ctx: ResourceContext) -> Child:
        """Return the nested stack that the properties describe, or its first intermediate state.

        Raises ValueError if the properties are invalid together with the current state.
        """
        raise NotImplementedError(self.type_name)

    async def prepare(self, ctx: ResourceContext) -> None:
        """Read from the cloud the values that `child` needs, and store them in `ctx.prepared`.

        Raises CloudFault.
        """

    def addresses(self, properties: Mapping[str, Any]) -> Sequence[str]:
        """Return the URLs of the templates that `prepare` will fetch."""
        return ()

    def next_child(self, ctx: ResourceContext) -> Child | None:
        """Return the next intermediate state of the nested stack, or None if the last one is
        reached.

        The engine calls this after each state, so a group can change in batches.
        """
        return None

    def metadata_after(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the resource's metadata after a create or update, or None to leave it
        unchanged.
        """
        return None

    def after_scaling(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the group's metadata after a scaling, or None to leave it unchanged."""
        return None

    def balancers(self, ctx: ResourceContext) -> Sequence[str]:
        """Return the reference ids of the load balancers to which the members of a group are
        added.
        """
        return ()


class Immediate(ResourceType):
    """A type without cloud calls. Its methods return the results, and no I/O is allowed in them."""

    def make(self, ctx: ResourceContext) -> Made:
        """Return the result of creating a resource."""
        return Made(physical_id=ctx.physical_name)

    def amend(self, ctx: ResourceContext) -> Made:
        """Return the result of updating a resource."""
        return Made()


class BalancerType(MakesObject):
    """A load balancer whose members can be changed by a group in the same stack."""

    async def set_instances(self, ctx: ResourceContext, instances: Sequence[str]) -> None:
        """Replace the members of the load balancer by these servers."""
        raise NotImplementedError(self.type_name)


class Signalled(ResourceType):
    """A type whose resources accept signals."""

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        """Return the changes that a signal causes. Raises Rejected if the resource accepts no
        signals.
        """
        raise Rejected([self.no_signal(ctx)])

    def no_signal(self, ctx: ResourceContext) -> Problem:
        """Return the error for a signal to a resource that accepts none."""
        return NotSupported(None, f"signal is not supported for {ctx.type_name}.")


class DeliversSignals(Signalled):
    """A type that makes a cloud call for each signal."""

    async def deliver(self, ctx: ResourceContext, details: Any) -> Any:
        """Make the cloud call for one signal and return the details to pass to `signal`.

        The call is sent once and not repeated. Raises Rejected, or CloudFault if the call fails.
        """
        raise NotImplementedError(self.type_name)


class CollectsSignals(Signalled):
    """A type whose signals may arrive in a cloud object or queue, from which Hearth fetches
    them.
    """

    async def collect(self, ctx: ResourceContext) -> SignalResult | None:
        """Fetch the signals that have arrived in the cloud; return their effect, or None if there
        are none.
        """
        raise NotImplementedError(self.type_name)


class ReportsResults(Signalled):
    """A type whose signals report the results of a software deployment, which `ctx.deployments`
    stores.
    """

    async def given_up(self, ctx: ResourceContext) -> None:
        """Record that the stack no longer waits for the results of the deployment."""
        raise NotImplementedError(self.type_name)


class Suspends(ResourceType):
    """A type whose resources take part in the suspend and the resume of the stack."""

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        raise NotImplementedError(self.type_name)

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        raise NotImplementedError(self.type_name)


class Snapshots(ResourceType):
    """A type whose resources take part in snapshots of the stack."""

    def snapshot_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps of a snapshot; they store the ids of what they make in private data."""
        raise NotImplementedError(self.type_name)

    async def drop_snapshot(self, ctx: ResourceContext) -> None:
        """Delete the cloud objects that belong to a snapshot of the resource.

        `ctx.data` is the private data from the time of the snapshot.
        """
        raise NotImplementedError(self.type_name)

    def restored(self, properties: Mapping[str, Any], data: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the properties with which an update restores a snapshot.

        `properties` and `data` (the private data) are those from the time of the snapshot.
        """
        raise NotImplementedError(self.type_name)


class SnapshotAtDelete(ResourceType):
    """A type that allows the deletion policy Snapshot."""

    snapshot_policy_allowed = True

    def snapshot_delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps of a delete with the deletion policy Snapshot: snapshot, then delete."""
        raise NotImplementedError(self.type_name)


class Adopts(ResourceType):
    """A type that has steps of its own for the adopt of an existing object."""

    def adopt_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        raise NotImplementedError(self.type_name)


class GivesWay(ResourceType):
    """A type whose old resource holds something that its replacement needs."""

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that make the old resource release what its replacement needs.

        An example is a fixed address. The steps run after the engine has decided to replace the
        resource.
        """
        raise NotImplementedError(self.type_name)

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that undo `replaced_steps`, for a rollback to the old resource."""
        raise NotImplementedError(self.type_name)

    async def may_go_first(self, ctx: ResourceContext) -> bool:
        """Return whether the old object may be deleted before its replacement is created.

        The engine calls this if the object refuses a step of `replaced_steps`, as a server in an
        error state does. If the result is false, the replacement fails. May raise CloudFault.
        """
        return False


class AsksCloud(ResourceType):
    """A type whose properties are checked in the cloud before anything is stored or created."""

    async def refused(self, properties: Mapping[str, Any], cloud: Cloud) -> Sequence[str]:
        """Return an error message for each reason why the cloud would refuse these properties.

        Values that are not known yet are null. Raises CloudFault if the cloud gives no answer.
        """
        raise NotImplementedError(self.type_name)


class TakesTime(ResourceType):
    """A type whose actions take a time that its properties say."""

    def longest_s(self, properties: Mapping[str, Any]) -> float:
        """Return the seconds that one action takes at most if nothing but these properties decides;
        0 if something else decides.
        """
        raise NotImplementedError(self.type_name)


class UsesUsers(ResourceType):
    """A type that uses users of the stack's domain project."""

    def brought(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the private data that an adopted or restored resource takes over from the document
        `data`: none, because a user belongs to the resource that created it.
        """
        return {}


class ReplacedAlways(ResourceType):
    """A type whose resources every update replaces, even if the definition has not changed."""


class UpdatedAlways(ResourceType):
    """A type to whose objects every update of the stack is passed on."""


class AnyAttribute(ResourceType):
    """A type of which any attribute may be read, also one that it does not declare."""

    accepts_any_attribute = True


class AnyProperty(ResourceType):
    """A type that accepts any property."""

    accepts_any_property = True


class Mirrors(ResourceType):
    """A type with attributes that repeat properties, so that they are known before a create."""

    mirrors: ClassVar[Mapping[str, str]]  # attribute → the property that it always shows


class SecretReference(ResourceType):
    """A type for which `get_resource` gives a secret, such as a signed URL."""


def visibility_delay_s(rtype: ResourceType) -> float:
    """Return the seconds for which the service may hide what a call of this type has done."""
    if isinstance(rtype, MakesObject):
        return rtype.visibility_delay_s
    return 0.0 if rtype.service is None else VISIBILITY_DELAY_S


def brought(rtype: ResourceType | None, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the private data that an adopted or restored resource takes over from the document
    `data`, without data about users.
    """
    if isinstance(rtype, UsesUsers):
        return rtype.brought(data)
    return {name: value for name, value in data.items() if name not in OF_USERS}


def identifier(ctx: ResourceContext) -> str:
    """Return the ARN of the nested stack, which is its identifier in the API."""
    project = ctx.stack.project_id
    return f"arn:openstack:heat::{project}:stacks/{ctx.physical_name}/{ctx.physical_id}"


def of_member(members: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    """Return the value of `name`, which is `resource.MEMBER` or `resource.MEMBER.ATTRIBUTE`.

    The first form gives the reference id of a group member, the second an attribute of the member.
    Raises LookupError if there is no such member.
    """
    _, _, path = name.partition(".")
    member, _, attribute = path.partition(".")
    entry = members.get(member)
    if entry is None:
        raise LookupError(f"Attribute '{name}': the group has no member '{member}'.")
    return entry["attributes"].get(attribute) if attribute else entry["reference"]
