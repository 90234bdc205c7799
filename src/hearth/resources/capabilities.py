"""Optional capabilities of resource types; `isinstance` shows whether a type has one."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, ClassVar

from hearth.model.problem import NotSupported, Problem, Rejected
from hearth.resources.base import IntentKey, ResourceType
from hearth.resources.context import Child, ResourceContext, SignalResult

REFERENCE_OUTPUT = "OS::stack_id"


class NestedType(ResourceType):
    """A type whose resource is a nested stack. A failed nested stack is updated, never replaced."""

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
        """Return the desired nested stack according to the properties."""
        raise NotImplementedError(self.type_name)

    async def prepare(self, ctx: ResourceContext) -> None:
        """Read what `child` needs from the cloud into `ctx.found`. Raises CloudFault."""

    def addresses(self, properties: Mapping[str, Any]) -> Sequence[str]:
        """Return the URLs of the templates that `prepare` fetches."""
        return ()

    def next_child(self, ctx: ResourceContext) -> Child | None:
        """Return the next desired state of the nested stack, or None after the last one."""
        return None

    def metadata_after(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the metadata after a create or update, or None to leave it unchanged."""
        return None

    def after_scaling(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the metadata of a group after scaling, or None to leave it unchanged."""
        return None

    def balancers(self, ctx: ResourceContext) -> Sequence[str]:
        """Return the reference ids of the load balancers that distribute requests to the members of
        a group.
        """
        return ()


class LoadBalancer(ResourceType):
    """A load balancer whose members the groups of a stack may change."""

    async def set_instances(self, ctx: ResourceContext, instances: Sequence[str]) -> None:
        """Make these servers the only members."""
        raise NotImplementedError(self.type_name)


class Signalled(ResourceType):
    """A type that accepts signals."""

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        """Return the effect of a signal. Raises Rejected if the resource does not accept it."""
        raise Rejected([self.no_signal(ctx)])

    def no_signal(self, ctx: ResourceContext) -> Problem:
        """Return the problem to report for a signal to a resource that accepts none."""
        return NotSupported(None, f"signal is not supported for {ctx.type_name}.")


class DeliversSignals(Signalled):
    """A type that makes a call to the cloud for each signal."""

    async def deliver(self, ctx: ResourceContext, details: Any) -> Any:
        """Make the call for a signal, once; return the details that `signal` receives instead.

        Raises Rejected, or CloudFault if the call fails.
        """
        raise NotImplementedError(self.type_name)


class CollectsSignals(Signalled):
    """A type whose signals may be stored in the cloud, from where Hearth fetches them."""

    async def collect(self, ctx: ResourceContext) -> SignalResult | None:
        """Return the signals from the cloud, or None if there are none."""
        raise NotImplementedError(self.type_name)


class ReportsResults(Signalled):
    """A type whose signals are the results of a software deployment: see `ctx.deployments`."""

    async def given_up(self, ctx: ResourceContext) -> None:
        """Record that the stack no longer waits for the results."""
        raise NotImplementedError(self.type_name)


def identifier(ctx: ResourceContext) -> str:
    """Return the identifier of a nested stack as clients write it."""
    project = ctx.stack.project_id
    return f"arn:openstack:heat::{project}:stacks/{ctx.physical_name}/{ctx.physical_id}"


def of_member(members: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    """Return the reference id of `resource.MEMBER`, or the attribute `resource.MEMBER.ATTRIBUTE`.

    Raises LookupError if there is no such member.
    """
    _, _, rest = name.partition(".")
    member, _, attribute = rest.partition(".")
    found = members.get(member)
    if found is None:
        raise LookupError(f"Attribute '{name}': the group has no member '{member}'.")
    return found["attributes"].get(attribute) if attribute else found["reference"]
