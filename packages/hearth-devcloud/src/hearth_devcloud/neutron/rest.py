"""The base class of Neutron's collections, and functions for its errors and common fields."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.collection import Collection, Fault, Invalid
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.listing import CONTROLS, filtered, ordered, page
from hearth_devcloud.neutron import quotas
from hearth_devcloud.store import Thing, stamp_z

_OWNER = ("project_id", "tenant_id")


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Neutron."""
    type_ = "HTTPBadRequest" if fault.type == "NotJSON" else fault.type or "HTTPBadRequest"
    error = {"type": type_, "message": fault.message, "detail": ""}
    return Reply(fault.status, {"NeutronError": error}, dict(fault.headers))


def bad_request(message: str) -> Refusal:
    """Return a Refusal with status 400 and the type BadRequest, which service plug-ins use."""
    return Refusal(400, "BadRequest", message)


def bad_input(message: str) -> Refusal:
    """Return a Refusal with status 400 and the type InvalidInput, for an invalid value."""
    return Refusal(400, "InvalidInput", f"Invalid input for operation: {message}")


def not_authorized(what: str) -> Refusal:
    """Return a Refusal with status 403; `what` is the violated policy, such as `update_port`."""
    return Refusal(403, "PolicyNotAuthorized", f"rule:{what} is disallowed by policy")


def explain(error: Invalid, collection: Collection, *, creating: bool) -> Refusal:
    """Return a Refusal with Neutron's message for a body that does not fit the collection."""
    names = ", ".join(error.names)
    match error.fault:
        case Fault.UNKNOWN:
            return Refusal(400, "HTTPBadRequest", f"Unrecognized attribute(s) '{names}'")
        case Fault.READ_ONLY if creating:
            return Refusal(400, "HTTPBadRequest", f"Attribute '{names}' not allowed in POST")
        case Fault.READ_ONLY:
            return Refusal(400, "HTTPBadRequest", f"Cannot update read-only attribute {names}")
        case Fault.MISSING:
            text = f"Failed to parse request. Required attribute '{names}' not specified"
            return Refusal(400, "HTTPBadRequest", text)
        case Fault.FORBIDDEN:
            verb = "create" if creating else "update"
            return not_authorized(f"{verb}_{collection.singular}:{names}")
        case Fault.CONVERSION:
            return bad_input(error.message)
        case _:
            name, _, reason = error.message.partition(": ")
            text = f"Invalid input for {name}. Reason: {reason}."
            return Refusal(400, "HTTPBadRequest", text)


def touch(cloud: Cloud, thing: Thing) -> None:
    """Increase the revision number of a changed object and set its update time."""
    thing.body["updated_at"] = stamp_z(cloud.store.time)
    thing.body["revision_number"] = thing.body.get("revision_number", 0) + 1
    cloud.store.changed = True


def stamped(cloud: Cloud, revision: int) -> Body:
    """Return the standard fields of a new object: tags, times and revision number."""
    now = stamp_z(cloud.store.time)
    return {"tags": [], "created_at": now, "updated_at": now, "revision_number": revision}


def owned(project_id: str | None) -> Body:
    """Return the fields project_id and tenant_id, which both contain the owner's project id."""
    return {"project_id": project_id or "", "tenant_id": project_id or ""}


def _tags_in(given: Body) -> list[str] | None:
    """Remove the tags from a body and return them; None if there are none.

    Raises Refusal 400 if they are not a list of strings.
    """
    tags = given.pop("tags", None)
    if tags is None:
        return None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        text = "Invalid input for tags. Reason: expected a list of strings."
        raise Refusal(400, "HTTPBadRequest", text)
    return list(dict.fromkeys(tags))


def known_policy(call: Call, values: Body) -> None:
    """Raise Refusal 404 if the values name an unknown QoS policy."""
    policy_id = values.get("qos_policy_id")
    if policy_id is not None and call.cloud.store.get("network.policies", policy_id) is None:
        raise Refusal(404, "QosPolicyNotFound", f"QoS policy {policy_id} could not be found.")


def shared_with(call: Call, thing: Thing) -> bool:
    """Return whether an RBAC policy lets the caller's project see an object."""
    targets = (call.caller.project_id, "*")
    policies = call.cloud.store.where("network.rbac_policies", object_id=thing.id)
    return any(policy.body["target_tenant"] in targets for policy in policies)


class Rest:
    """The create, list, show, update, delete and tag handlers of a Neutron collection.

    Subclasses override the methods in which a collection differs.
    """

    admin_fields: frozenset[str] = frozenset()
    revision = 0
    standard = True
    admin_only = False  # if true, only administrators may create, update and delete

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    @property
    def routes(self) -> list[Route]:
        """The routes of the collection, including those for the tags of an object."""
        path = self.collection.path
        return [
            ("POST", path, self.create),
            ("GET", path, self.index),
            ("GET", path + "/{}", self.show),
            ("PUT", path + "/{}", self.update),
            ("DELETE", path + "/{}", self.delete),
            ("GET", path + "/{}/tags", self.tags),
            ("PUT", path + "/{}/tags", self.set_tags),
            ("DELETE", path + "/{}/tags", self.clear_tags),
            ("GET", path + "/{}/tags/{}", self.tag),
            ("PUT", path + "/{}/tags/{}", self.add_tag),
            ("DELETE", path + "/{}/tags/{}", self.remove_tag),
        ]

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        """Create an object with checked values and return it. Raises Refusal."""
        body = {"id": call.cloud.store.new_id(), **values, **owned(project_id)}
        if self.standard:
            body |= stamped(call.cloud, self.revision)
        return call.cloud.store.insert(Thing(body["id"], self.collection.table, project_id, body))

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        """Apply the checked changes of an update request to an object. Raises Refusal."""
        thing.body.update(changes)

    def gone(self, call: Call, thing: Thing) -> None:
        """Prepare the deletion of an object: remove the objects that depend on it.

        Raises Refusal if the object must not be deleted.
        """

    def visible(self, call: Call, thing: Thing) -> bool:
        """Return whether callers other than the owner and administrators may see an object."""
        return bool(thing.body.get("shared")) or shared_with(call, thing)

    def view(self, call: Call, thing: Thing, *, created: bool = False) -> Body:
        """Return an object in the format of the API, with the fields that the caller may see.

        `created` is true for the reply to a create request.
        """
        view = dict(thing.body)
        if not call.caller.is_admin:
            for name in self.admin_fields:
                view.pop(name, None)
        return view

    def ready(self, call: Call) -> None:
        """Create the objects that Neutron creates on first use, such as default groups."""

    def find(self, call: Call, thing_id: str) -> Thing:
        """Return an object that the caller may see. Raises Refusal 404."""
        thing = call.cloud.store.get(self.collection.table, thing_id)
        if thing is None or not self._sees(call, thing):
            kind = self.collection.type_name
            text = f"{kind} {thing_id} could not be found."
            raise Refusal(404, f"{kind}NotFound", text)
        return thing

    def _sees(self, call: Call, thing: Thing) -> bool:
        caller = call.caller
        return caller.is_admin or thing.project_id == caller.project_id or self.visible(call, thing)

    def owned_by_caller(self, call: Call, thing: Thing, verb: str) -> None:
        """Raise Refusal 403 unless the caller may change the object."""
        foreign = self.admin_only or thing.project_id != call.caller.project_id
        if foreign and not call.caller.is_admin:
            raise not_authorized(f"{verb}_{self.collection.singular}")

    def create(self, call: Call) -> Reply:
        """Handle POST of one object, or of a list (bulk create); reply with status 201."""
        self.ready(call)
        body = call.json()
        kind = self.collection
        if isinstance(body, dict) and isinstance(body.get(kind.plural_key), list):
            return self._create_many(call, body[kind.plural_key])
        if not isinstance(body, dict) or not isinstance(body.get(kind.singular), dict):
            raise Refusal(400, "HTTPBadRequest", f"Unable to find '{kind.singular}' in body")
        thing = self.create_one(call, body[kind.singular])
        return Reply(201, {kind.singular: self.view(call, thing, created=True)})

    def _create_many(self, call: Call, items: list[Any]) -> Reply:
        made: list[Thing] = []
        try:
            for item in items:
                made.append(self.create_one(call, item))  # noqa: PERF401
        except Refusal:
            for thing in made:
                call.cloud.store.remove(thing)
            raise
        views = [self.view(call, thing, created=True) for thing in made]
        return Reply(201, {self.collection.plural_key: views})

    def create_one(self, call: Call, given: Body) -> Thing:
        """Check the object in a create request, create it and return it. Raises Refusal."""
        caller = call.caller
        if self.admin_only and not caller.is_admin:
            raise not_authorized(f"create_{self.collection.singular}")
        given = dict(given)
        project_id = caller.project_id or ""
        for key in _OWNER:
            wanted = given.pop(key, None)
            if wanted is not None and not isinstance(wanted, str):
                text = f"Invalid input for {key}. Reason: expected a string."
                raise Refusal(400, "HTTPBadRequest", text)
            if wanted is not None and wanted != project_id:
                if not caller.is_admin:
                    text = "Only an administrator may specify the project_id of another project."
                    raise Refusal(400, "HTTPBadRequest", text)
                project_id = wanted
        tags = _tags_in(given) if self.standard else None
        try:
            values = self.collection.for_create(given, admin=caller.is_admin)
        except Invalid as error:
            raise explain(error, self.collection, creating=True) from None
        known_policy(call, values)
        if self.collection.quota:
            quotas.check(call.cloud, project_id, self.collection.quota, self.collection.table)
        thing = self.make(call, project_id, values)
        if tags:
            thing.body["tags"] = tags
        return thing

    def index(self, call: Call) -> Reply:
        """Handle GET of the collection, with filters, sorting, pagination and selected fields."""
        self.ready(call)
        store = call.cloud.store
        things = self.matching(call, list(store.all(self.collection.table)))
        things = [thing for thing in things if self._sees(call, thing)]
        found, more = page(ordered(things, call), call)
        views = [self.view(call, thing) for thing in found]
        if fields := call.query.get("fields"):
            views = [{k: v for k, v in view.items() if k in fields} for view in views]
        key = self.collection.plural_key
        body: Body = {key: views}
        if more:
            limit, last = call.argument("limit"), found[-1].id
            query = f"limit={limit}&marker={last}"
            href = f"{call.base}/network{call.path}?{query}"
            body[f"{key}_links"] = [{"rel": "next", "href": href}]
        return Reply(200, body)

    def matching(self, call: Call, things: list[Thing]) -> list[Thing]:
        """Return the objects that match the filters of the query."""
        return filtered(things, call.query, CONTROLS)

    def show(self, call: Call) -> Reply:
        """Handle GET of an object."""
        self.ready(call)
        view = self.view(call, self.find(call, call.ids[0]))
        if fields := call.query.get("fields"):
            view = {k: v for k, v in view.items() if k in fields}
        return Reply(200, {self.collection.singular: view})

    def update(self, call: Call) -> Reply:
        """Handle PUT of an object."""
        kind = self.collection
        thing = self.find(call, call.ids[0])
        self.owned_by_caller(call, thing, "update")
        body = call.json()
        if not isinstance(body, dict) or not isinstance(body.get(kind.singular), dict):
            raise Refusal(400, "HTTPBadRequest", f"Unable to find '{kind.singular}' in body")
        given = dict(body[kind.singular])
        tags = _tags_in(given) if self.standard else None
        try:
            changes = kind.for_update(given, admin=call.caller.is_admin)
        except Invalid as error:
            raise explain(error, kind, creating=False) from None
        known_policy(call, changes)
        self._check_revision(call, thing)
        self.change(call, thing, changes)
        if tags is not None:
            thing.body["tags"] = tags
        touch(call.cloud, thing)
        return Reply(200, {kind.singular: self.view(call, thing)})

    def _check_revision(self, call: Call, thing: Thing) -> None:
        wanted = call.headers.get("If-Match")
        if not wanted:
            return
        if wanted.rpartition("=")[2] != str(thing.body.get("revision_number")):
            text = "The revision number in the If-Match header is not the current one"
            raise Refusal(412, "RevisionNumberConstraintFailed", text)

    def delete(self, call: Call) -> Reply:
        """Handle DELETE of an object; reply with status 204."""
        thing = self.find(call, call.ids[0])
        self.owned_by_caller(call, thing, "delete")
        self._check_revision(call, thing)
        self.gone(call, thing)
        call.cloud.store.remove(thing)
        return Reply(204)

    def tags(self, call: Call) -> Reply:
        """Handle GET of the tags of an object."""
        return Reply(200, {"tags": self.find(call, call.ids[0]).body.get("tags", [])})

    def set_tags(self, call: Call) -> Reply:
        """Handle PUT of tags: replace all tags of an object."""
        thing = self._to_tag(call)
        body = call.json()
        tags = body.get("tags") if isinstance(body, dict) else None
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise Refusal(400, "HTTPBadRequest", "Invalid tags body")
        return self._tagged(call, thing, list(dict.fromkeys(tags)))

    def clear_tags(self, call: Call) -> Reply:
        """Handle DELETE of all tags of an object."""
        self._tagged(call, self._to_tag(call), [])
        return Reply(204)

    def tag(self, call: Call) -> Reply:
        """Handle GET of one tag; reply with status 204 if the object has it, else 404."""
        if call.ids[1] not in self.find(call, call.ids[0]).body.get("tags", []):
            raise Refusal(404, "TagNotFound", f"Tag {call.ids[1]} could not be found.")
        return Reply(204)

    def add_tag(self, call: Call) -> Reply:
        """Handle PUT of one tag; reply with status 201."""
        thing = self._to_tag(call)
        self._tagged(call, thing, list(dict.fromkeys([*thing.body["tags"], call.ids[1]])))
        return Reply(201)

    def remove_tag(self, call: Call) -> Reply:
        """Handle DELETE of one tag; reply with status 204."""
        thing = self._to_tag(call)
        if call.ids[1] not in thing.body["tags"]:
            raise Refusal(404, "TagNotFound", f"Tag {call.ids[1]} could not be found.")
        self._tagged(call, thing, [tag for tag in thing.body["tags"] if tag != call.ids[1]])
        return Reply(204)

    def _to_tag(self, call: Call) -> Thing:
        thing = self.find(call, call.ids[0])
        self.owned_by_caller(call, thing, "update")
        return thing

    def _tagged(self, call: Call, thing: Thing, tags: Any) -> Reply:
        thing.body["tags"] = tags
        touch(call.cloud, thing)
        return Reply(200, {"tags": tags})
