"""What all alarms have in common: the URLs and queues they notify, evaluation, and updates.

The service accepts only complete alarms: an update sends all fields and keeps the alarm's state.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from hearth.cloud.contract import Body
from hearth.model.problem import Rejected, StackValidationFailed
from hearth.resources.aodh.samples import conditions
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import IntentKey, Suspends
from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.neutron.order import at
from hearth.resources.properties import OPTIONAL_DESCRIPTION
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    NUMBER,
    STRING,
    AllowedValues,
    Prop,
    Range,
    Support,
)
from hearth.template.expr import Const

SERVICE = "alarming"
COMPARISONS = AllowedValues(["le", "ge", "eq", "lt", "gt", "ne"])
STATES = ("alarm", "ok", "insufficient_data")
KEPT = ("state", "user_id", "project_id")


def _receivers(state: str) -> dict[str, Prop]:
    state_name = state.replace("_", " ")
    return {
        f"{state}_actions": Prop(
            LIST, f"URLs to call when the state becomes {state_name}.", update_allowed=True
        ),
        f"{state}_queues": Prop(
            LIST,
            f"Queues that get a message when the state becomes {state_name}.",
            default=[],
            update_allowed=True,
            since="8.0.0",
            schema=Prop(STRING, constraint="zaqar.queue"),
        ),
    }


COMMON: Mapping[str, Prop] = {
    **{name: prop for state in STATES for name, prop in _receivers(state).items()},
    "description": OPTIONAL_DESCRIPTION,
    "enabled": Prop(
        BOOLEAN, "true: the service evaluates the alarm.", default="true", update_allowed=True
    ),
    "repeat_actions": Prop(
        BOOLEAN,
        "true: URLs and queues are called at each evaluation, not only when the state changes.",
        default="true",
        update_allowed=True,
    ),
    "severity": Prop(
        STRING,
        "Severity of the alarm.",
        default="low",
        update_allowed=True,
        constraints=(AllowedValues(["low", "moderate", "critical"]),),
        since="5.0.0",
    ),
    "time_constraints": Prop(
        LIST,
        "Periods in which the service evaluates the alarm; always when none is given.",
        default=[],
        since="5.0.0",
        schema=Prop(
            MAP,
            schema={
                "description": Prop(STRING, "Description of the period."),
                "duration": Prop(
                    INTEGER,
                    "Duration of the period, in seconds.",
                    required=True,
                    constraints=(Range(min=0),),
                ),
                "name": Prop(STRING, "Its name.", required=True),
                "start": Prop(
                    STRING,
                    "Start of the period, as a cron expression.",
                    required=True,
                    constraint="cron_expression",
                ),
                "timezone": Prop(
                    STRING,
                    "Time zone of the cron expression; UTC when not given.",
                    constraint="timezone",
                ),
            },
        ),
    ),
}
"""The properties that every alarm type has."""

THRESHOLD: Mapping[str, Prop] = {
    "comparison_operator": Prop(
        STRING,
        "How values are compared with the threshold.",
        update_allowed=True,
        constraints=(COMPARISONS,),
    ),
    "threshold": Prop(
        NUMBER, "Value that the measures are compared with.", required=True, update_allowed=True
    ),
}
"""The properties of alarm types that compare measured values with a threshold."""


class Alarm(CollectionResource, Suspends):
    """Base class of the alarm types. Properties that are specific to one type form the alarm's
    rule.
    """

    service = SERVICE
    support = Support(version="2015.1")
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which the object keeps"
    alarm_type: ClassVar[str]
    unobserved = {"query": "the service shows it in a form of its own"}
    collection = Collection(SERVICE, "/v2/alarms", body="", id_field="alarm_id", key_field=None)

    def fields(self, ctx: ResourceContext) -> Body:
        values = ctx.properties
        rule_properties = frozenset(self.properties) - frozenset(COMMON)
        receivers = {f"{state}_{kind}" for state in STATES for kind in ("actions", "queues")}
        return {
            "name": ctx.physical_name,
            "type": self.alarm_type,
            **self.fields_of(ctx, values, frozenset(COMMON) - receivers),
            **{f"{state}_actions": _urls(ctx, state) for state in STATES},
            f"{self.alarm_type}_rule": self.rule(self.fields_of(ctx, values, rule_properties)),
        }

    def rule(self, fields: Body) -> Body:
        """Convert the type-specific fields into the alarm's rule, in the format of the service.

        Metadata of samples become conditions of the query.
        """
        metadata = fields.pop("matching_metadata", None)
        if metadata:
            also = conditions(fields["meter_name"], metadata)
            fields["query"] = [*fields.get("query", []), *also]
        return fields

    def changed_fields(self, ctx: ResourceContext) -> Body:
        return self.fields(ctx) if ctx.changed else {}

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        now = await self.show(ctx) or {}
        current = {name: now[name] for name in KEPT if name in now}
        return await super().change(ctx, {**self.fields(ctx), **current, **fields})

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("disable", self.disable),)

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("enable", self.enable),)

    async def disable(self, ctx: ResourceContext) -> Made | None:
        """Disable the alarm: the service no longer evaluates it."""
        return await self.change(ctx, {"enabled": False})

    async def enable(self, ctx: ResourceContext) -> Made | None:
        """Enable the alarm again, unless the template disables it."""
        return await self.change(ctx, {"enabled": ctx.given("enabled")})

    async def members(self, ctx: ResourceContext) -> list[Body]:
        filters = {"q.field": "name", "q.op": "eq", "q.value": ctx.physical_name}
        path = f"{self.collection.path}?{urlencode(filters)}"
        return list(await ctx.cloud.listing(SERVICE, path))

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        answer = await ctx.cloud.request(SERVICE, "GET", self.url(ctx, ctx.physical))
        return dict(answer.body)

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return super().observed(ctx, {**body, **body.get(f"{self.alarm_type}_rule", {})})

    def implicit_requires(self, name: str, definition: Any, program: Any) -> Iterable[str]:
        """Return the names of resources that must exist first.

        Raises Rejected if an action is the name of a resource in the template; it must be a URL.
        """
        problems = []
        for state in STATES:
            for end in at(f"{state}_actions")(definition.properties):
                word = end.value if isinstance(end, Const) else None
                if isinstance(word, str) and word in program.resources:
                    span = definition.span.under("properties").under(f"{state}_actions")
                    instead = f"{{get_attr: [{word}, alarm_url]}}"
                    message = f'"{word}" is a resource, not a URL; use {instead}'
                    problems.append(StackValidationFailed(span, message))
        if problems:
            raise Rejected(problems)
        return super().implicit_requires(name, definition, program)


def _urls(ctx: ResourceContext, state: str) -> list[str]:
    """Return the URLs that the alarm calls when it enters a state: its actions, then its queues."""
    actions = [_called(ctx, str(url)) for url in ctx.given(f"{state}_actions") or [] if url]
    queues = ctx.given(f"{state}_queues") or []
    return actions + [f"trust+zaqar://?queue_name={quote(str(name), safe='')}" for name in queues]


def _called(ctx: ResourceContext, url: str) -> str:
    """Return `url`; prefix it with "trust+" if it is a signal URL of this Orchestration API.

    The alarming service then sends a token with the request, which such a URL requires.
    """
    stack = ctx.stack
    root = stack.heat_url.rstrip("/").removesuffix(stack.project_id)
    ours = root and url.startswith(root) and url.endswith("/signal")
    return f"trust+{url}" if ours else url
