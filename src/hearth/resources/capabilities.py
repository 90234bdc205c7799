"""What some resource types can do beyond the rest; `isinstance` is the question."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, ClassVar

from hearth.model.problem import NotSupported, Problem, Rejected
from hearth.resources.base import IntentKey, ResourceType
from hearth.resources.context import Child, ResourceContext, SignalResult

REFERENCE_OUTPUT = "OS::stack_id"


class NestedType(ResourceType):
    """A resource that is a stack of its own. A failed one is updated, never replaced."""

    regroups: ClassVar[bool] = False  # what its child becomes depends on what the child is
    scalable: ClassVar[bool] = False  # a group that scaling policies may resize
    member_attributes: ClassVar[Set[str]] = frozenset()  # of its child's, read or not
    marked = False

    identified_by = IntentKey.OWN_ID
    known_by = "the id of the nested stack, which is created in the transaction that records it"
    visibility_delay_s = 0
    snapshot_policy_allowed = True
    accepts_any_attribute = True

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        return False

    def reference(self, ctx: ResourceContext) -> str:
        given = ctx.outputs.get(REFERENCE_OUTPUT)
        return str(given) if given is not None else identifier(ctx)

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name.startswith("resource."):
            return of_member(ctx.members, name)
        return None if name == "show" else self.recordable(ctx)[name]

    def child(self, ctx: ResourceContext) -> Child:
        """Return the child stack that the properties ask for."""
        raise NotImplementedError(self.type_name)

    async def prepare(self, ctx: ResourceContext) -> None:
        """Read into `ctx.found` what `child` needs to know of the world. Raises CloudFault."""

    def addresses(self, properties: Mapping[str, Any]) -> Sequence[str]:
        """Return the addresses of templates that `prepare` fetches."""
        return ()

    def next_child(self, ctx: ResourceContext) -> Child | None:
        """Return what follows when the child is as it was asked for; None: that was all."""
        return None

    def metadata_after(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the metadata of the resource after its create or update; None: as it is."""
        return None

    def after_scaling(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the metadata of a group after it was scaled; None: as it is."""
        return None

    def balancers(self, ctx: ResourceContext) -> Sequence[str]:
        """Return references of the load balancers that are to know the members of a group."""
        return ()


class LoadBalancer(ResourceType):
    """A load balancer that the groups of a stack may keep up to date."""

    async def set_instances(self, ctx: ResourceContext, instances: Sequence[str]) -> None:
        """Have exactly these servers behind it."""
        raise NotImplementedError(self.type_name)


class Signalled(ResourceType):
    """A type that takes signals."""

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        """Return what a signal does. Raises Rejected where this one is not taken."""
        raise Rejected([self.no_signal(ctx)])

    def no_signal(self, ctx: ResourceContext) -> Problem:
        """Return the problem of a signal that is not taken."""
        return NotSupported(None, f"signal is not supported for {ctx.type_name}.")


class DeliversSignals(Signalled):
    """A type that calls the cloud for a signal."""

    async def deliver(self, ctx: ResourceContext, details: Any) -> Any:
        """Call the cloud, once for each signal; return what `signal` gets in place of the details.

        Raises Rejected or CloudFault where nothing came of it.
        """
        raise NotImplementedError(self.type_name)


class CollectsSignals(Signalled):
    """A type some of whose signals wait elsewhere to be fetched."""

    async def collect(self, ctx: ResourceContext) -> SignalResult | None:
        """Fetch them; None where there are none."""
        raise NotImplementedError(self.type_name)


def identifier(ctx: ResourceContext) -> str:
    """The name of a child stack as clients know it."""
    project = ctx.stack.project_id
    return f"arn:openstack:heat::{project}:stacks/{ctx.physical_name}/{ctx.physical_id}"


def of_member(members: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    """`resource.MEMBER` is its reference id, `resource.MEMBER.ATTRIBUTE` an attribute.

    Raises LookupError for a member that is not there.
    """
    _, _, rest = name.partition(".")
    member, _, attribute = rest.partition(".")
    found = members.get(member)
    if found is None:
        raise LookupError(f"Member '{member}' not found in group resource '{name}'.")
    return found["attributes"].get(attribute) if attribute else found["reference"]
