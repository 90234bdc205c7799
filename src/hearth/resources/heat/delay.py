"""OS::Heat::Delay: waits for some time."""

import hashlib
from collections.abc import Mapping
from typing import Any

from hearth.resources.base import (
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import Suspends, TakesTime
from hearth.schema import LIST, NUMBER, AllowedValues, Prop, Range, Support


class Delay(Suspends, TakesTime):
    """Waits for a fixed and a random time during the chosen actions."""

    type_name = "OS::Heat::Delay"
    support = Support(version="11.0.0")
    properties = {
        "actions": Prop(
            LIST,
            "Actions that wait.",
            default=["CREATE"],
            update_allowed=True,
            constraints=(AllowedValues(["CREATE", "DELETE", "SUSPEND", "RESUME"]),),
        ),
        "jitter_multiplier": Prop(
            NUMBER,
            "Factor for the random waiting time.",
            default=1.0,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "max_jitter": Prop(
            NUMBER,
            "Maximum of the random waiting time before the factor, in seconds.",
            default=0,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "min_wait": Prop(
            NUMBER,
            "Minimum waiting time, in seconds.",
            default=0,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
    }

    def longest_s(self, properties: Mapping[str, Any]) -> float:
        return wait_s(properties, 1.0)

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("create", self.begin, poll=self.wait),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self.begin, poll=self.wait),) if ctx.physical_id else ()

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("suspend", self.begin, poll=self.wait),)

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("resume", self.begin, poll=self.wait),)

    async def begin(self, ctx: ResourceContext) -> Made:
        """Return the physical id; a delay creates nothing in the cloud."""
        return Made(physical_id=ctx.physical_id or ctx.physical_name)

    async def wait(self, ctx: ResourceContext) -> Progress:
        """Report whether the waiting time is over; ready at once if the action is not in
        `actions`.
        """
        if ctx.action.value not in (ctx.given("actions") or []):
            return Ready()
        left_s = ctx.started_at + wait_s(ctx.properties, random_fraction(ctx)) - ctx.now
        return Later(left_s) if left_s > 0 else Ready()


def wait_s(properties: Mapping[str, Any], fraction: float) -> float:
    """Return the waiting time in seconds; the random `fraction` of the jitter is in [0, 1)."""
    jitter = float(properties.get("max_jitter") or 0) * fraction
    factor = float(properties.get("jitter_multiplier", 1.0))
    return float(properties.get("min_wait") or 0) + jitter * factor


def random_fraction(ctx: ResourceContext) -> float:
    """Return a pseudo-random number in [0, 1), the same for each attempt of one action on one
    record.
    """
    digest = hashlib.sha256(f"{ctx.key}:{ctx.action}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
