"""OS::Trove::Instance: a server with a database."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection, forgiving, id_in
from hearth.resources.trove import contents
from hearth.resources.trove.base import FAILING, NETWORKS, ONE_PLACE, SERVICE, TroveResource, nics
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedPattern,
    Attr,
    Check,
    Length,
    Needs,
    Prop,
    Range,
    Resolve,
    Support,
    Violation,
)

DATABASE_NAME = r"[a-zA-Z0-9_\-]+[a-zA-Z0-9_@?#\s\-]*[a-zA-Z0-9_\-]+"
USER_NAME = r"[a-zA-Z0-9_]+[a-zA-Z0-9_@?#\s]*[a-zA-Z0-9_]+"
WHY = {
    "FAILED": "the database could not be set up",
    "ERROR": "the last operation on the instance failed",
}
DATABASES = Prop(
    LIST,
    "Databases in the instance.",
    default=[],
    update_allowed=True,
    schema=Prop(
        MAP,
        schema={
            "character_set": Prop(STRING, "Character set.", default="utf8"),
            "collate": Prop(STRING, "Rules to compare characters.", default="utf8_general_ci"),
            "name": Prop(
                STRING,
                "Its name.",
                required=True,
                constraints=(Length(max=64), AllowedPattern(DATABASE_NAME)),
            ),
        },
    ),
)
USERS = Prop(
    LIST,
    "Users of the databases.",
    default=[],
    update_allowed=True,
    schema=Prop(
        MAP,
        schema={
            "databases": Prop(
                LIST,
                "Names of the databases that the user may use.",
                required=True,
                update_allowed=True,
                constraints=(Length(min=1),),
                schema=Prop(STRING),
            ),
            "host": Prop(
                STRING,
                "Host from which the user may connect; % means every host.",
                default="%",
                update_allowed=True,
            ),
            "name": Prop(
                STRING,
                "Name of the user.",
                required=True,
                update_allowed=True,
                constraints=(Length(max=16), AllowedPattern(USER_NAME)),
            ),
            "password": Prop(
                STRING,
                "Password of the user.",
                required=True,
                update_allowed=True,
                constraints=(AllowedPattern(USER_NAME),),
            ),
        },
    ),
)


def _without_database(
    databases: Sequence[Mapping[str, Any]] | None, users: Sequence[Mapping[str, Any]] | None
) -> Iterator[Violation]:
    """Yield a violation for each database of a user that the instance does not have."""
    names = {database["name"] for database in databases or []}
    for index, user in enumerate(users or []):
        for name in sorted(set(user["databases"]) - names):
            message = f"{name} is not one of the databases"
            yield Violation(("users", index, "databases"), message)


class Instance(TroveResource):
    """A database server, with its databases and users.

    An update creates and deletes only databases and users that the template contains or contained.
    """

    type_name = "OS::Trove::Instance"
    holds_data = True
    support = Support(version="2014.1")
    properties = {
        "availability_zone": Prop(STRING, "Availability zone."),
        "databases": DATABASES,
        "datastore_type": Prop(
            STRING,
            "Kind of database, such as mysql; the default of the service when not given.",
            constraints=(Length(max=255),),
        ),
        "datastore_version": Prop(
            STRING,
            "Version of the database; the default of the service when not given.",
            constraints=(Length(max=255),),
        ),
        "flavor": Prop(
            STRING,
            "Flavor of the server, by name or id.",
            required=True,
            update_allowed=True,
            constraint="trove.flavor",
        ),
        "name": Prop(
            STRING,
            "Its name; generated when not given.",
            update_allowed=True,
            constraints=(Length(max=255),),
        ),
        "networks": NETWORKS,
        "replica_count": Prop(INTEGER, "Number of replicas; 1 when not given.", since="5.0.0"),
        "replica_of": Prop(
            STRING,
            "Id of the instance of which it is a replica; flavor, size and datastore are then those"
            " of that instance.",
            since="5.0.0",
        ),
        "restore_point": Prop(STRING, "Id of the backup from which it is restored."),
        "size": Prop(
            INTEGER,
            "Size of its volume, in GB.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=1, max=150),),
        ),
        "users": USERS,
    }
    attributes = {
        "hostname": Attr(STRING, "Its host name; null if the service gives it none."),
        "href": Attr(STRING, "Its URL in the API."),
    }
    translation = (Resolve(("flavor",), "trove.flavor"),)
    collection = Collection(
        SERVICE,
        "/instances",
        body="instance",
        key_field=None,
        ready=frozenset({"ACTIVE", "HEALTHY"}),
        failing=FAILING,
        under_way=frozenset(
            {
                "BACKUP",
                "BLOCKED",
                "BUILD",
                "DETACH",
                "EJECT",
                "LOGGING",
                "NEW",
                "PENDING",
                "PROMOTE",
                "REBOOT",
                "REBUILD",
                "RESIZE",
                "RESTART",
                "SHUTDOWN",
                "UPGRADE",
            }
        ),
        staying=FAILING,
    )
    identified_by = IntentKey.RENAME
    only_grow = frozenset({"size"})
    relations = (
        Needs("datastore_version", "datastore_type"),
        ONE_PLACE,
        Check(
            "users: each of their databases is one of databases",
            _without_database,
            "databases",
            "users",
        ),
    )

    # create

    async def create(self, ctx: ResourceContext) -> Made:
        """Create the instance under the generated name."""
        fields = await self.creation(ctx)
        answer = await ctx.cloud.request(SERVICE, "POST", "/instances", json={"instance": fields})
        body = self.collection.unwrapped(answer)
        first = await self.find(ctx) if several(ctx) else None
        return first or Made(physical_id=id_in(body), body=body)

    async def creation(self, ctx: ResourceContext) -> Body:
        """Return the fields of the create call."""
        value_of = ctx.given
        datastore = {"type": value_of("datastore_type"), "version": value_of("datastore_version")}
        fields: Body = {
            "databases": [dict(database) for database in value_of("databases") or []],
            "users": [contents.user_fields(user) for user in value_of("users") or []],
            "availability_zone": value_of("availability_zone"),
            "nics": await nics(ctx, value_of("networks") or []),
            "replica_of": value_of("replica_of"),
            "replica_count": value_of("replica_count"),
        }
        if value_of("restore_point"):
            fields["restorePoint"] = {"backupRef": value_of("restore_point")}
        if not value_of("replica_of"):
            fields["flavorRef"] = value_of("flavor")
            fields["volume"] = {"size": value_of("size")}
            fields["datastore"] = {name: value for name, value in datastore.items() if value}
        return {
            "name": ctx.physical_name,
            **{name: value for name, value in fields.items() if value},
        }

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        """Return the instances with the generated name; several replicas have numbers after it."""
        name, numbered = ctx.physical_name, several(ctx)
        return [
            instance
            for instance in await self.members(ctx)
            if instance["name"] == name
            or (numbered and str(instance["name"]).removeprefix(f"{name}-").isdecimal())
        ]

    async def find(self, ctx: ResourceContext) -> Made | None:
        instances = sorted(
            await self.ours(ctx), key=lambda instance: (len(instance["name"]), instance["name"])
        )
        if not instances:
            return None
        first, *other_ids = [str(instance["id"]) for instance in instances]
        data = {"others": json.dumps(other_ids)} if other_ids else {}
        return Made(physical_id=first, data=data, body=instances[0])

    # update

    def changed_fields(self, ctx: ResourceContext) -> Body:
        return {"name": ctx.wanted_name} if "name" in ctx.changed else {}

    def after_update(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps = {
            "flavor": Step("flavor", self.resize_server, poll=self.poll),
            "size": Step("size", self.resize_volume, poll=self.poll),
            "databases": Step("databases", contents.settle_databases),
            "users": Step("users", contents.settle_users),
        }
        if {"databases", "users"} <= ctx.changed:
            steps["leave"] = Step("leave", contents.drop_databases)
        return tuple(step for name, step in steps.items() if name in ctx.changed | {"leave"})

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        """Set the name; further replicas get numbers after it."""
        for number, ident in enumerate(others_of(ctx), 2):
            await self.put_name(ctx, ident, f"{fields['name']}-{number}")
        await self.put_name(ctx, ctx.physical, fields["name"])
        return Made(body=await self.show(ctx))

    async def put_name(self, ctx: ResourceContext, ident: str, name: str) -> None:
        """Send the call that sets the name of an instance."""
        await ctx.cloud.request(
            SERVICE,
            "PUT",
            f"/instances/{segment(ident)}",
            json={"instance": {"name": name}},
            idempotent=True,
        )

    async def resize_server(self, ctx: ResourceContext) -> Made | None:
        """Change the flavor of the server, unless it has it already."""
        flavor = ctx.properties["flavor"]
        body = await self.show(ctx) or {}
        if str(body["flavor"]["id"]) == flavor:
            return Made(body=body)
        return await self.resize(ctx, {"flavorRef": flavor})

    async def resize_volume(self, ctx: ResourceContext) -> Made | None:
        """Enlarge the volume, unless it has the size already."""
        size = ctx.properties["size"]
        body = await self.show(ctx) or {}
        if body["volume"]["size"] == size:
            return Made(body=body)
        return await self.resize(ctx, {"volume": {"size": size}})

    async def resize(self, ctx: ResourceContext, fields: Body) -> Made | None:
        """Start a resize. While another task runs, the service refuses it, see `busy`."""
        path = f"{self.url(ctx, ctx.physical)}/action"
        await ctx.cloud.request(SERVICE, "POST", path, json={"resize": fields})
        return Made(body=await self.show(ctx))

    # delete

    async def delete(self, ctx: ResourceContext) -> Made | None:
        for ident in others_of(ctx):
            await forgiving(self.drop(ctx, ident))
        return await super().delete(ctx)

    async def orphans(self, ctx: ResourceContext) -> list[str]:
        ids = {ctx.physical_id, *others_of(ctx)}
        return [
            str(instance["id"]) for instance in await self.ours(ctx) if instance["id"] not in ids
        ]

    # shown

    def why(self, body: Mapping[str, Any]) -> str:
        fault = body.get("fault") or {}
        return str(fault.get("message") or WHY.get(str(body.get("status")), "Unknown"))

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name != "href":
            return await super().attribute(ctx, name)
        links = (ctx.body or await self.show(ctx) or {}).get("links") or []
        return next((link["href"] for link in links if link["rel"] == "self"), None)

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        values = dict(super().observed(ctx, body))
        values.pop("flavor", None)
        if ctx.given("replica_of"):  # the service decides the flavor and the size
            return values
        return {**values, "size": body["volume"]["size"], "flavor": str(body["flavor"]["id"])}


def several(ctx: ResourceContext) -> bool:
    """Return whether the create call makes more than one replica."""
    return (ctx.given("replica_count") or 1) > 1


def others_of(ctx: ResourceContext) -> list[str]:
    """Return the ids of the replicas besides the first one, whose id is the physical id."""
    return list(json.loads(ctx.data.get("others") or "[]"))
