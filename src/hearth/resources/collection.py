"""Base class of types whose objects are members of a REST collection.

A declaration (`Collection`) is enough for create, update and delete. The create call writes the
record's intent key into a text field of the object (`key_field`). If the template sets that field,
a second step writes the template's text after the object's id is recorded. If the object has no
such field, a type with IntentKey.RENAME creates it under the generated name and then renames it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from string import Formatter
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from hearth.cloud.contract import Body, Response
from hearth.cloud.fault import CloudFault, NotFound
from hearth.cloud.path import filled_path, segment
from hearth.model.state import Action
from hearth.resources import parts
from hearth.resources.base import (
    Change,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import IntentKey, Observable
from hearth.resources.mark import mark
from hearth.resources.observed import in_own_words, observed_value, within
from hearth.resources.parts import Call, Part
from hearth.schema import Prop

POLL_S = 2.0
DEAD = frozenset({"ERROR", "DELETED", "SOFT_DELETED"})
"""Statuses that an object never leaves, whatever its service. A status such as ERROR_EXTENDING is
none: the object still has its data.
"""
UNDER_WAY = frozenset(
    {"ALLOCATING", "BUILD", "PENDING", "PENDING_CREATE", "PENDING_DELETE", "PENDING_UPDATE"}
)
"""The statuses between two others of Neutron, Octavia, Designate and Barbican."""
NOTHING_SHOWN = "an answer that does not show the object"


class Collection(Struct, frozen=True):
    """Where the objects of a type are in the API, and how their bodies look.

    `path` may contain properties: /v2.0/qos/policies/{policy}/dscp_marking_rules. `body` is the
    root key of one object ("" for none), and `answer` that in responses, if it is another. `detail`
    is the path of the list with full bodies, if that is another path; `plural` is the root key of a
    list. The field `id_field` is the physical id, a number if `numbered` is true. The field
    `key_field` receives the intent key; None if there is no such field. `status` is the field with
    the object's state. The states `ready`, `failing` and `under_way` are in capitals; any other
    state fails the resource. If an object is in one of the states `staying` after its delete call,
    the delete has failed.
    """

    service: str
    path: str
    body: str
    plural: str = ""
    detail: str | None = None
    id_field: str = "id"
    key_field: str | None = "description"
    update_method: str = "PUT"
    microversion: str | None = None
    ready: frozenset[str] = frozenset({"ACTIVE", "DOWN", "AVAILABLE"})
    failing: frozenset[str] = frozenset({"ERROR"})
    under_way: frozenset[str] = UNDER_WAY
    status: str = "status"
    staying: frozenset[str] = frozenset()
    answer: str = ""
    numbered: bool = False

    def wrapped(self, fields: Body) -> Body:
        """Return a request body with the fields of one object, under the root key if there is
        one.
        """
        return {self.body: fields} if self.body else fields

    def unwrapped(self, answer: Response) -> Body:
        """Return the object that a response contains, without the root key."""
        key = self.answer or self.body
        return answer.part(key) if key else dict(answer.body or {})


class Elsewhere(Struct, frozen=True):
    """Where to read an attribute that is not part of the object's own body.

    `path` is the path of a list and may contain {id}. Without `member` the attribute is the whole
    list. `member` names the field of the body with the id of an entry: the attribute is then that
    entry of the list, or, if `field` is set, that field of the entry.
    """

    path: str
    member: str | None = None
    field: str | None = None

    async def read(self, service: str, ctx: ResourceContext, body: Mapping[str, Any]) -> Any:
        """Read the attribute of the object whose last response body is `body`."""
        path = filled_path(self.path, {"id": ctx.physical})
        if self.member is None:
            return list(await ctx.cloud.listing(service, path))
        member = await ctx.cloud.member(service, path, str(body[self.member]))
        return member if self.field is None else member.get(self.field)


class CollectionResource(Observable):
    """A resource type whose objects are members of a REST collection."""

    collection: ClassVar[Collection]
    not_sent: ClassVar[frozenset[str]] = frozenset()  # properties that are no fields of the object
    open_ended: ClassVar[frozenset[str]] = frozenset()  # maps and lists to which others add
    shown_too: ClassVar[frozenset[str]] = frozenset()  # of those not sent: fields of the response
    renamed: ClassVar[Mapping[str, str]] = {}  # property → field; a.b is the entry b of a
    created_as: ClassVar[Mapping[str, str]] = {}  # the same where the create call has another field
    null_for: ClassVar[Mapping[str, Any]] = {}  # property → the value that is null in the service
    generated: ClassVar[frozenset[str]] = frozenset({"name"})  # if not given: the generated name
    together: ClassVar[frozenset[str]] = frozenset()  # when one of these changes, all are sent
    elsewhere: ClassVar[Mapping[str, Elsewhere]] = {}  # attributes that other calls show
    parts: ClassVar[Sequence[Part]] = ()  # parts of the object that separate calls set
    before_delete: ClassVar[Sequence[Call]] = ()  # without these the service refuses the delete
    replaced_for: ClassVar[Mapping[str, str]] = {}  # property → why a change of it replaces
    key_stays: ClassVar[bool] = False  # the key field cannot be changed: a user's text replaces it
    identified_by = IntentKey.TAG

    # what the object looks like

    def fields(self, ctx: ResourceContext) -> Body:
        """Return the fields of the create call, before the intent key is added to them."""
        later = {part.property for part in self.parts if not part.in_create}
        fields = self.fields_of(ctx, ctx.properties, frozenset(self.properties) - later)
        return {self.created_as.get(name, name): value for name, value in fields.items()}

    def fields_of(
        self, ctx: ResourceContext, values: Mapping[str, Any], names: frozenset[str]
    ) -> Body:
        """Convert those properties in `values` that are in `names` to fields of a request body.

        Null values are left out at any depth. A value that `null_for` names becomes null.
        """
        fields: Body = {}
        for name in self.properties:
            if name in names and name not in self.not_sent and name != "value_specs":
                value = values.get(name)
                if name in self.generated:
                    value = value or ctx.physical_name
                if value is not None:
                    null = name in self.null_for and value == self.null_for[name]
                    field = self.renamed.get(name, name)
                    fields[field] = None if null else self.as_sent(name, value)
        if "value_specs" in names:
            fields |= dict(values.get("value_specs") or {})
        return fields

    def as_sent(self, name: str, value: Any) -> Any:
        return self._entries(self.properties[name], value, name)

    def _entries(self, prop: Prop | None, value: Any, path: str) -> Any:
        """Return a property's value with its map keys renamed as the class attribute `renamed`
        specifies, at any depth.

        `path` is the path of the value, such as "allocation_pools.start"; `prop` is its schema.
        """
        match value:
            case list() if prop is not None and prop.item is not None:
                return [self._entries(prop.item, entry, path) for entry in value]
            case Mapping() if prop is not None and prop.entries is not None:
                return {
                    self.renamed.get(f"{path}.{n}", n): self._entries(
                        prop.entries.get(n), entry, f"{path}.{n}"
                    )
                    for n, entry in value.items()
                    if entry is not None
                }
        return value

    def changed_fields(self, ctx: ResourceContext) -> Body:
        """Return the fields of the update call: the changed properties; a removed property becomes
        null.
        """
        names = ctx.changed - {part.property for part in self.parts}
        along = self.together if names & self.together else frozenset()
        fields = self.fields_of(ctx, ctx.properties, names | along)
        for name in names - self.not_sent - {"value_specs", "name"}:
            fields.setdefault(self.renamed.get(name, name), None)
        return fields

    def must_replace(self, change: Change) -> str | None:
        reasons = (reason for n, reason in self.replaced_for.items() if n in change.changed)
        return next(reasons, None)

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        source = self.elsewhere.get(name)
        if source is None:
            return await super().attribute(ctx, name)
        body = ctx.body or await self.show(ctx) or {}
        return await source.read(self.collection.service, ctx, body)

    # steps

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps = [Step("create", self.create, self.find, self.poll)]
        if self.wanted_key_field(ctx) is not None:
            steps.append(Step("describe", self.describe, poll=self.poll))
        if self.identified_by is IntentKey.RENAME and ctx.wanted_name != ctx.physical_name:
            steps.append(Step("rename", self.rename, poll=self.poll))
        return (*steps, *self.after_create(ctx))

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps of a create that follow the create call."""
        return tuple(parts.steps(self, (part for part in self.parts if part.at_create(ctx))))

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        steps: tuple[Step, ...] = ()
        if self.changed_fields(ctx):
            steps = (Step("update", self.update, poll=self.poll),)
        return (*steps, *self.after_update(ctx))

    def after_update(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps of an update that follow the update call."""
        return tuple(parts.steps(self, (part for part in self.parts if part.at_update(ctx))))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        if ctx.physical_id is None:
            return ()
        first = (*parts.calling(self, self.before_delete), *parts.leaving(self, self.parts))
        return (*first, Step("delete", self.delete, poll=self.gone))

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    # calls

    async def create(self, ctx: ResourceContext) -> Made:
        """Send the create call, with the intent key in the key field."""
        collection = self.collection
        fields = self.fields(ctx)
        field = collection.key_field
        if field is not None and not (self.key_stays and fields.get(field)):
            fields[field] = mark(ctx)
        if self.identified_by is IntentKey.RENAME:
            fields["name"] = ctx.physical_name
        answer = await ctx.cloud.request(
            collection.service,
            "POST",
            self.path(ctx),
            json=collection.wrapped(fields),
            microversion=collection.microversion,
        )
        created = collection.unwrapped(answer)
        ident = id_in(created, collection.id_field, numbered=collection.numbered)
        return Made(physical_id=ident, body=created)

    async def find(self, ctx: ResourceContext) -> Made | None:
        """Return the object that an earlier create call of this record created, or None."""
        for member in await self.ours(ctx):
            return Made(physical_id=str(member[self.collection.id_field]), body=member)
        return None

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        """Return all objects with the record's intent key, in the order of the service.

        Without a key field, the generated name is the key.
        """
        key_field, members = self.collection.key_field, await self.members(ctx)
        if key_field is not None:
            return [member for member in members if member.get(key_field) == mark(ctx)]
        return [member for member in members if member.get("name") == ctx.physical_name]

    async def members(self, ctx: ResourceContext) -> Sequence[Body]:
        """Return all objects of the collection; empty if the parent object in the path is gone."""
        try:
            return await ctx.cloud.listing(
                self.collection.service,
                self.collection.detail or self.path(ctx),
                microversion=self.collection.microversion,
            )
        except NotFound:
            return []

    async def describe(self, ctx: ResourceContext) -> Made | None:
        """Replace the intent key in the key field by the text from the template."""
        field = self.collection.key_field
        assert field is not None
        return await self.change(ctx, {field: self.wanted_key_field(ctx)})

    async def rename(self, ctx: ResourceContext) -> Made | None:
        """Set the object's name to the name from the template.

        The object was created under the generated name, by which Hearth finds it until its id is
        recorded.
        """
        return await self.change(ctx, {"name": ctx.wanted_name})

    async def update(self, ctx: ResourceContext) -> Made | None:
        """Send the update call, with the changed fields only."""
        return await self.change(ctx, self.changed_fields(ctx))

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        """Send an update call with the given fields."""
        collection = self.collection
        answer = await ctx.cloud.request(
            collection.service,
            collection.update_method,
            self.url(ctx, ctx.physical),
            json=collection.wrapped(fields),
            microversion=collection.microversion,
            idempotent=True,
        )
        return Made(body=collection.unwrapped(answer) or None)

    async def delete(self, ctx: ResourceContext) -> Made | None:
        """Send the delete call; "not found" is success."""
        await forgiving(self.drop(ctx, ctx.physical))
        return None

    async def drop(self, ctx: ResourceContext, physical_id: str) -> None:
        """Send the delete call for one object. Raises CloudFault, also if the object is not
        found.
        """
        await ctx.cloud.request(
            self.collection.service,
            "DELETE",
            self.url(ctx, physical_id),
            microversion=self.collection.microversion,
            idempotent=True,
        )

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        """Do nothing: the action of a step that only polls."""
        return None

    # looking

    async def poll(self, ctx: ResourceContext) -> Progress:
        """Report the object's state: ready, not yet, or failed.

        The last response body decides if it shows a final state; otherwise the object is fetched.
        """
        if ctx.body is not None:
            now = self.progress(ctx, ctx.body)
            if not isinstance(now, Later):
                return now
        body = await self.show(ctx)
        return self.progress(ctx, body) if body else Later(POLL_S, seen=NOTHING_SHOWN)

    async def checked(self, ctx: ResourceContext) -> Progress:
        """Fetch the object and report whether it is healthy. Raises CloudFault if it does not
        exist.
        """
        body = await self.show(ctx)
        return self.progress(ctx, body) if body else Later(POLL_S, seen=NOTHING_SHOWN)

    def progress(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Progress:
        """Convert the state in a body to a progress: ready, not yet, or failed."""
        status = body.get(self.collection.status)
        state = str(status).upper()
        if status is None or state in self.collection.ready:
            return Ready(body)
        if state in self.collection.failing:
            return Failed(went_to(status, self.why(body)), retry=True)
        if state in self.collection.under_way:
            return in_between(status, body)
        return unknown_status(ctx.name, status, self.why(body))

    def at_rest(self, body: Mapping[str, Any]) -> bool:
        return str(body.get(self.collection.status)).upper() not in self.collection.under_way

    def is_dead(self, body: Mapping[str, Any]) -> bool:
        return str(body.get(self.collection.status)).upper() in DEAD

    def why(self, body: Mapping[str, Any]) -> str:
        """Return the reason for an error state, taken from the body; "Unknown" if the type
        overrides nothing.
        """
        return "Unknown"

    async def gone(self, ctx: ResourceContext) -> Progress:
        """Report whether the object is deleted: ready, not yet, or failed.

        It has failed if the object is in a state that `Collection.staying` names.
        """
        try:
            body = await self.show(ctx)
        except NotFound:
            return Ready()
        status = str((body or {}).get(self.collection.status, "")).upper()
        if status in {"DELETED", "SOFT_DELETED"}:
            return Ready()
        if status in self.collection.staying:
            return Failed(went_to(status, self.why(body or {})))
        return in_between(status, body) if status else Later(POLL_S, body)

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return await ctx.cloud.member(
            self.collection.service,
            self.path(ctx),
            self.in_url(ctx, ctx.physical),
            detail=self.collection.detail,
            microversion=self.collection.microversion,
        )

    # where

    def path(self, ctx: ResourceContext) -> str:
        """Return the path of the collection, with {name} replaced by properties."""
        return filled_path(self.collection.path, ctx.properties)

    def location(self, ctx: ResourceContext) -> tuple[str, str, str | None]:
        collection = self.collection
        return collection.service, self.url(ctx, ctx.physical), collection.microversion

    def url(self, ctx: ResourceContext, physical_id: str) -> str:
        """Return the path of one object, percent-encoded."""
        return f"{self.path(ctx)}/{segment(self.in_url(ctx, physical_id))}"

    def in_url(self, ctx: ResourceContext, physical_id: str) -> str:
        """Return the last segment of the object's path, before percent-encoding."""
        return physical_id

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values of those properties whose fields are sent, and which the body shows.

        See `observe`. `body` has no intent keys.
        """
        properties = {name: value for name, value in ctx.properties.items() if value is not None}
        names = frozenset(name for name in properties if self._comparable(name))
        fields = self.fields_of(ctx, properties, names)
        fields |= {name: self.as_sent(name, properties[name]) for name in names & self.shown_too}
        values = {}
        for name in sorted(names):
            field = self.renamed.get(name, name)
            body_field = field if field in body else self.created_as.get(field, field)
            if field in fields and body_field in body:
                values[name] = self._observed(
                    name, properties[name], fields[field], body[body_field]
                )
        in_path = (name for _, name, _, _ in Formatter().parse(self.collection.path) if name)
        # the object was found there
        values |= {name: properties[name] for name in in_path if name in properties}
        specs = properties.get("value_specs")
        if specs and specs.keys() <= body.keys():
            current = {key: body[key] for key in specs}
            prop = self.properties["value_specs"]
            values["value_specs"] = observed_value(prop, specs, specs, current)
        return values

    def _comparable(self, name: str) -> bool:
        if name not in self.properties or name in self.unobserved or name == "value_specs":
            return False
        return name not in self.not_sent or name in self.shown_too

    def _observed(self, name: str, stored_value: Any, sent_value: Any, shown_value: Any) -> Any:
        """Return the value of a property, of which the service got `sent_value` and shows
        `shown_value`.
        """
        prop, null = self.properties[name], self.null_for.get(name)
        desired, current = (
            in_own_words(prop, value, name, self.renamed) for value in (sent_value, shown_value)
        )
        if name in self.open_ended:
            current = within(desired, current)
        desired, current = (null if value is None else value for value in (desired, current))
        return observed_value(prop, stored_value, desired, current)

    def key_in_words(self) -> str:
        field = self.collection.key_field
        if self.identified_by is IntentKey.RENAME and not self.known_by:
            return "the generated name, until it gets the user-supplied name"
        if self.known_by or field is None:
            return self.known_by
        replaced = type(self).wanted_key_field is not CollectionResource.wanted_key_field
        if replaced or field in self.properties:
            return f"the {field}, which gets the user-supplied text when the id is recorded"
        return f"the {field}, which remains unchanged"

    def wanted_key_field(self, ctx: ResourceContext) -> Any:
        """Return the text from the template for the key field; None if the template sets none.

        Return None as well if there is no key field, or if it cannot be changed later.
        """
        field = self.collection.key_field
        if field is None or self.key_stays:
            return None
        text = ctx.properties.get(field)
        return text if text is not None else (ctx.properties.get("value_specs") or {}).get(field)

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        ids = [str(member[self.collection.id_field]) for member in await self.ours(ctx)]
        return [ident for ident in ids if ident != ctx.physical_id]

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        try:
            await forgiving(self.drop(ctx, physical_id))
        except CloudFault as fault:
            doomed = replace(ctx, action=Action.DELETE)
            if not await self.busy(doomed, fault):  # else it is found again at the next look
                raise


def id_in(body: Mapping[str, Any], field: str = "id", *, numbered: bool = False) -> str:
    """Return the id in the answer to a create call: a text, or a number if `numbered` is true.

    Raises LookupError if there is none.
    """
    match body[field]:
        case str(found) if found:
            return found
        case int(number) if numbered:
            return str(number)
    raise LookupError(field)


def went_to(status: object, reason: str) -> str:
    """Return the error message for an object that went to a bad status; `reason` is the cause.

    Source: docs/spec/engine.md, section 31.
    """
    return f'Went to status {status} due to "{reason}"'


def in_between(status: object, body: Mapping[str, Any] | None, after_s: float = POLL_S) -> Later:
    """Return "not yet" for an object whose status leads on."""
    return Later(after_s, body, seen=f"status {status}")


def unknown_status(name: str, status: object, reason: str) -> Failed:
    """Return the failure of a resource whose object has a status that nobody knows, or from which
    nothing leads to the desired one.

    `name` is the name of the resource. Source: docs/spec/engine.md, section 31.
    """
    message = f'{name} - Unknown status {status} due to "{reason}"'
    return Failed(message, "ResourceUnknownStatus")


async def forgiving(call: Any) -> None:
    """Await `call`, a delete call, and ignore the error "not found"."""
    with suppress(NotFound):
        await call
