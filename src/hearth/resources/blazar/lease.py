"""OS::Blazar::Lease: hosts or instances that are reserved for a time."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.blazar.base import SERVICE, BlazarResource
from hearth.resources.capabilities import GivesWay
from hearth.resources.collection import Collection, forgiving
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedPattern,
    AllowedValues,
    Attr,
    Each,
    NotAbove,
    Prop,
    Range,
    RequiredFor,
    Support,
)

HOST, INSTANCE = "physical:host", "virtual:instance"
INT_MAX = 2147483647
NAME_MAX = 80  # characters
DATE = (AllowedPattern(r"\d{4}-\d{2}-\d{2}\s\d{2}:\d{2}"),)
SIZE = (Range(min=0, max=INT_MAX),)
FIELDS = {
    HOST: ("min", "max", "hypervisor_properties", "resource_properties", "before_end"),
    INSTANCE: ("amount", "vcpus", "memory_mb", "disk_gb", "affinity", "resource_properties"),
}
"""The fields of a reservation, by the type of the resource."""

RESERVATION = {
    "affinity": Prop(
        BOOLEAN,
        "true: all instances on one host; false: each instance on a different host.",
        default=False,
    ),
    "amount": Prop(INTEGER, "Number of instances.", constraints=SIZE),
    "before_end": Prop(
        STRING,
        "Action before the end of the lease.",
        default="default",
        constraints=(AllowedValues(["default", "snapshot"]),),
    ),
    "disk_gb": Prop(INTEGER, "Size of the disk of each instance, in GB.", constraints=SIZE),
    "hypervisor_properties": Prop(
        STRING, 'Required properties of the hosts, such as [">=", "$vcpus", "4"].'
    ),
    "max": Prop(INTEGER, "Highest number of hosts.", constraints=(Range(min=1),)),
    "memory_mb": Prop(INTEGER, "Memory of each instance, in MB.", constraints=SIZE),
    "min": Prop(INTEGER, "Lowest number of hosts.", constraints=(Range(min=1),)),
    "resource_properties": Prop(
        STRING, 'Extra capabilities that a host must have, such as ["==", "$gpu", "yes"].'
    ),
    "resource_type": Prop(
        STRING,
        "What is reserved: hosts or instances.",
        required=True,
        constraints=(AllowedValues([INSTANCE, HOST]),),
    ),
    "vcpus": Prop(INTEGER, "Processors of each instance.", constraints=SIZE),
}


class Lease(BlazarResource, GivesWay):
    """Hosts or instances that are reserved for a time. All times are in UTC.

    Two leases cannot have the same name. Before an update replaces a lease, it renames the old one.
    """

    type_name = "OS::Blazar::Lease"
    support = Support(version="12.0.0")
    properties = {
        "before_end_date": Prop(
            STRING,
            "Time of the notification that the lease ends soon, such as 2030-01-31 12:00.",
            constraints=DATE,
        ),
        "end_date": Prop(STRING, "End of the lease.", required=True, constraints=DATE),
        "events": Prop(
            LIST,
            "Further events of the lease.",
            default=[],
            schema=Prop(
                MAP,
                schema={
                    "event_type": Prop(STRING, "Type of the event.", required=True),
                    "time": Prop(STRING, "Time of the event.", required=True),
                },
            ),
        ),
        "name": Prop(STRING, "Name of the lease.", required=True),
        "reservations": Prop(
            LIST, "What is reserved.", required=True, schema=Prop(MAP, schema=RESERVATION)
        ),
        "start_date": Prop(STRING, "Start of the lease.", required=True, constraints=DATE),
    }
    attributes = {
        "created_at": Attr(STRING, "When it was created."),
        "degraded": Attr(BOOLEAN, "true: some of its hosts have failed."),
        "end_date": Attr(STRING, "Its end."),
        "events": Attr(LIST, "Its events."),
        "name": Attr(STRING, "Its name."),
        "project_id": Attr(STRING, "Id of its project."),
        "reservations": Attr(LIST, "Its reservations."),
        "start_date": Attr(STRING, "Its start."),
        "status": Attr(STRING, "Its status."),
        "trust_id": Attr(STRING, "Id of the trust that the service uses."),
        "updated_at": Attr(STRING, "When it was changed."),
        "user_id": Attr(STRING, "Id of its user."),
    }
    collection = Collection(
        SERVICE,
        "/leases",
        body="",
        answer="lease",
        key_field=None,
        ready=frozenset(
            {"CREATING", "PENDING", "STARTING", "ACTIVE", "UPDATING", "TERMINATING", "TERMINATED"}
        ),
    )
    unobserved = {"events": "the service adds events of its own"}
    relations = (
        Each(
            "reservations",
            *(RequiredFor(name, "resource_type", HOST) for name in ("min", "max")),
            *(RequiredFor(name, "resource_type", INSTANCE) for name in FIELDS[INSTANCE][:4]),
            NotAbove("min", "max"),
        ),
    )

    def as_sent(self, name: str, value: Any) -> Any:
        return [reservation(entry) for entry in value] if name == "reservations" else value

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        """Return the lease with the name and the dates of the properties."""
        return [
            lease
            for lease in await self.members(ctx)
            if lease["name"] == ctx.properties["name"]
            and all(
                same_date(lease[end], ctx.properties[end]) for end in ("start_date", "end_date")
            )
        ]

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("release-name", self.release_name),) if ctx.physical_id else ()

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("take-name", self.take_name),) if ctx.physical_id else ()

    async def release_name(self, ctx: ResourceContext) -> Made | None:
        """Rename the lease, so that its replacement can have the name; "not found" is success."""
        await forgiving(self.change(ctx, {"name": ctx.physical_name[-NAME_MAX:]}))
        return None

    async def take_name(self, ctx: ResourceContext) -> Made | None:
        """Give the lease its name again."""
        return await self.change(ctx, {"name": ctx.properties["name"]})


def same_date(service_date: str, property_date: str) -> bool:
    """Return whether a date of the service is that of a property, such as 2030-01-31 12:00."""
    return service_date.replace("T", " ").startswith(" ".join(property_date.split()))


def reservation(properties: Mapping[str, Any]) -> Body:
    """Return a reservation in the format of the service: only with the fields of its type.

    Requirements that are not given are empty texts.
    """
    kind = properties["resource_type"]
    fields = {name: properties.get(name) for name in FIELDS[kind]}
    texts = {name: value or "" for name, value in fields.items() if name.endswith("_properties")}
    return {"resource_type": kind, **fields, **texts}
