"""OS::Manila::Share: a file system in the network."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.model.problem import Problem, Rejected
from hearth.resources.base import Failed, Later, Made, Progress, Ready, ResourceContext, Step
from hearth.resources.collection import POLL_S, CollectionResource, unknown_status, went_to
from hearth.resources.lookup import Names
from hearth.resources.manila.base import MICROVERSION, SERVICE, collection_of
from hearth.resources.mark import mark
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Support,
)

REFERENCES = {
    "share_network": "manila.share_network",
    "share_type": "manila.share_type",
    "snapshot": "manila.share_snapshot",
}  # property → the kind of object that it names
RULE_UNDER_WAY = frozenset({"applying", "denying", "new", "queued_to_apply", "queued_to_deny"})
RULE = ("access_type", "access_to", "access_level")
Rule = tuple[str, str, str]


class Share(CollectionResource):
    """A file system in the network, which several servers can mount."""

    type_name = "OS::Manila::Share"
    holds_data = True
    support = Support(version="5.0.0")
    properties = {
        "access_rules": Prop(
            LIST,
            "Who can mount it.",
            default=[],
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "access_level": Prop(
                        STRING,
                        "ro: reading only; rw: reading and writing.",
                        constraints=(AllowedValues(["ro", "rw"]),),
                    ),
                    "access_to": Prop(
                        STRING,
                        "Address or address range, user, common name or Ceph id.",
                        required=True,
                    ),
                    "access_type": Prop(
                        STRING,
                        "What access_to is.",
                        required=True,
                        constraints=(AllowedValues(["ip", "user", "cert", "cephx"]),),
                    ),
                },
            ),
        ),
        "description": OPTIONAL_DESCRIPTION,
        "is_public": Prop(
            BOOLEAN, "true: every project can see it.", default=False, update_allowed=True
        ),
        "metadata": Prop(MAP, "Arbitrary keys and values.", update_allowed=True),
        "name": NAME,
        "share_network": Prop(
            STRING,
            "Share network, by name or id; for types whose driver handles share servers.",
            constraint="manila.share_network",
        ),
        "share_protocol": Prop(
            STRING,
            "Its protocol.",
            required=True,
            constraints=(AllowedValues(["NFS", "CIFS", "GlusterFS", "HDFS", "CEPHFS"]),),
        ),
        "share_type": Prop(
            STRING,
            "Share type, by name or id; the default type of the service when not given.",
            constraint="manila.share_type",
        ),
        "size": Prop(INTEGER, "Size in gibibytes.", required=True),
        "snapshot": Prop(
            STRING, "Snapshot to start from, by name or id.", constraint="manila.share_snapshot"
        ),
    }
    attributes = {
        "availability_zone": Attr(STRING, "Its availability zone."),
        "created_at": Attr(STRING, "When it was created."),
        "export_locations": Attr(LIST, "Paths from which to mount it."),
        "host": Attr(STRING, "Storage on which it is; only for administrators."),
        "project_id": Attr(STRING, "Id of its project."),
        "share_server_id": Attr(STRING, "Id of its share server; only for administrators."),
        "status": Attr(STRING, "Its status."),
    }
    service = SERVICE
    undescribed = None
    collection = collection_of(
        "/shares",
        "share",
        ready=frozenset({"AVAILABLE"}),
        under_way=frozenset(
            {
                "BACKUP_CREATING",
                "BACKUP_RESTORING",
                "CREATING",
                "CREATING_FROM_SNAPSHOT",
                "DELETING",
                "ENSURING",
                "EXTENDING",
                "MANAGE_STARTING",
                "MANAGING",
                "MIGRATING",
                "MIGRATING_TO",
                "REPLICATION_CHANGE",
                "REVERTING",
                "SERVER_MIGRATING",
                "SHRINKING",
            }
        ),
        staying=frozenset({"ERROR", "ERROR_DELETING"}),
    )
    renamed = {
        "share_network": "share_network_id",
        "share_protocol": "share_proto",
        "snapshot": "snapshot_id",
    }
    not_sent = frozenset({"access_rules"})

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return _rule_steps(self) if ctx.given("access_rules") else ()

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps: list[Step] = []
        if ctx.changed & {"name", "description", "is_public"}:
            steps.append(Step("update", self.update))
        if "metadata" in ctx.changed:
            steps.append(Step("metadata", self.put_metadata))
        if "access_rules" in ctx.changed:
            steps += _rule_steps(self)
        return tuple(steps)

    async def create(self, ctx: ResourceContext) -> Made:
        names, properties = Names(ctx.cloud), dict(ctx.properties)
        for name, kind in REFERENCES.items():
            if properties.get(name):
                ident = await names.id_of(kind, str(properties[name]))
                if isinstance(ident, Problem):
                    raise Rejected([ident])
                properties[name] = ident
        if properties.get("metadata"):
            properties["metadata"] = _texts(properties["metadata"])
        return await super().create(replace(ctx, properties=properties))

    async def members(self, ctx: ResourceContext) -> Sequence[Body]:
        """Return the shares with the record's mark, because a list contains only 1000 shares."""
        listing = f"/shares/detail?description={segment(mark(ctx))}"
        return await ctx.cloud.listing(SERVICE, listing, microversion=MICROVERSION)

    async def update(self, ctx: ResourceContext) -> Made | None:
        names = ctx.changed & {"name", "description", "is_public"}
        fields = self.fields_of(ctx, ctx.properties, names)
        return await self.change(ctx, {**dict.fromkeys(names - {"name"}), **fields})

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        """Send an update call, in which name and description have other names."""
        field_names = {"name": "display_name", "description": "display_description"}
        return await super().change(
            ctx, {field_names.get(n, n): value for n, value in fields.items()}
        )

    async def put_metadata(self, ctx: ResourceContext) -> Made | None:
        """Replace the metadata of the share by the metadata in the properties."""
        body = {"metadata": _texts(ctx.given("metadata") or {})}
        await ctx.request("PUT", "metadata", body, idempotent=True)
        return None

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        """Return whether the service refused a delete because a task of the share is not complete.

        The service reports that with status 403.
        """
        return fault.status == 403 and "status must be" in fault.message

    # access rules

    async def rules(self, ctx: ResourceContext) -> dict[Rule, Body]:
        """Return the access rules of the share by type, target and level."""
        listing = f"/share-access-rules?share_id={segment(ctx.physical)}"
        rows = await ctx.cloud.listing(SERVICE, listing, microversion=MICROVERSION)
        return {_rule(row): row for row in rows}

    async def deny(self, ctx: ResourceContext) -> Made | None:
        """Remove the access rules that the properties do not contain."""
        rules = {_rule(entry) for entry in ctx.given("access_rules") or []}
        for rule, row in (await self.rules(ctx)).items():
            if rule not in rules and not _leaving(row):
                await ctx.request("POST", "action", {"deny_access": {"access_id": row["id"]}})
        return None

    async def denied(self, ctx: ResourceContext) -> Progress:
        """Report whether the removed access rules are gone."""
        rules_after = {_rule(entry) for entry in ctx.given("access_rules") or []}
        present = (await self.rules(ctx)).keys()
        return Later(POLL_S, ctx.body) if present - rules_after else Ready(ctx.body)

    async def allow(self, ctx: ResourceContext) -> Made | None:
        """Add the access rules that are missing."""
        present = await self.rules(ctx)
        for entry in ctx.given("access_rules") or []:
            rule = _rule(entry)
            if rule not in present:
                present[rule] = {}
                fields = dict(zip(RULE, rule, strict=True))
                await ctx.request("POST", "action", {"allow_access": fields})
        return None

    async def allowed(self, ctx: ResourceContext) -> Progress:
        """Report whether the service has applied the access rules."""
        rows = await self.rules(ctx)
        desired = {_rule(entry) for entry in ctx.given("access_rules") or []}
        states = {rule: rows[rule].get("state") if rule in rows else None for rule in desired}
        failed = sorted(f"{rule[0]}:{rule[1]}" for rule in desired if states[rule] == "error")
        if failed:
            message = f"The service cannot apply the access rule {failed[0]}"
            return Failed(went_to("error", message))
        if all(state == "active" for state in states.values()):
            return Ready(ctx.body)
        rule, state = min((pair for pair in states.items() if pair[1] != "active"), key=str)
        if state is not None and state not in RULE_UNDER_WAY:
            return unknown_status(ctx.name, state, f"access rule {rule[0]}:{rule[1]}")
        return Later(POLL_S, ctx.body, seen=f"access rule {rule[0]}:{rule[1]} in state {state}")

    # what is shown

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name != "export_locations":
            return await super().attribute(ctx, name)
        listing = f"/shares/{segment(ctx.physical)}/export_locations"
        locations = await ctx.cloud.listing(SERVICE, listing, microversion=MICROVERSION)
        return [location["path"] for location in locations]


def _rule_steps(kind: Share) -> tuple[Step, ...]:
    """Return the steps that set the access rules.

    A rule with another level for the same target can be added only after the old one is gone.
    """
    return (
        Step("deny", kind.deny, poll=kind.denied),
        Step("allow", kind.allow, poll=kind.allowed),
    )


def _rule(entry: Mapping[str, Any]) -> Rule:
    kind, target, level = (entry.get(name) for name in RULE)
    return str(kind), str(target), str(level or "rw")


def _leaving(row: Mapping[str, Any]) -> bool:
    return row.get("state") in ("queued_to_deny", "denying")


def _texts(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in metadata.items()}
