"""The base class of Keystone's collections, and functions for errors, links and access checks."""

from __future__ import annotations

from http import HTTPStatus

from hearth_devcloud.collection import Collection, Invalid
from hearth_devcloud.http import Body, Call, Handler, Refusal, Reply, Route
from hearth_devcloud.keystone.names import named, same_name
from hearth_devcloud.listing import filtered
from hearth_devcloud.store import Resource

_NOT_FILTERS = frozenset(
    {"limit", "marker", "sort", "include_names", "effective", "include_subtree", "fields"}
)


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Keystone."""
    title = HTTPStatus(fault.status).phrase
    reply = Reply(
        fault.status,
        {"error": {"code": fault.status, "message": fault.message or title, "title": title}},
        dict(fault.headers),
    )
    if fault.status == 401:
        reply.headers["WWW-Authenticate"] = f'Keystone uri="{call.base}/identity/v3"'
    return reply


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def missing(kind: str, name: str) -> Refusal:
    """Return a Refusal with status 404; `kind` and `name` identify the missing object."""
    return Refusal(404, message=f"Could not find {kind}: {name}.")


def forbidden() -> Refusal:
    """Return a Refusal with status 403."""
    return Refusal(403, message="You are not authorized to perform the requested action.")


def admin_only(call: Call) -> None:
    """Raise Refusal 403 unless the caller has the role admin."""
    if not call.caller.is_admin:
        raise forbidden()


def self_or_admin(call: Call, user_id: str) -> None:
    """Raise Refusal 403 unless the caller is that user or an admin."""
    if call.caller.user_id != user_id:
        admin_only(call)


def find(call: Call, table: str, resource_id: str) -> Resource:
    """Return an object of an identity table. Raises Refusal 404."""
    resource = call.cloud.store.get(f"identity.{table}", resource_id)
    if resource is None:
        raise missing(table.rstrip("s"), resource_id)
    return resource


def link(call: Call, path: str) -> str:
    """Return the URL of a path below `/v3` of Keystone."""
    return f"{call.base}/identity/v3/{path}"


def listed(call: Call, key: str, items: list[Body]) -> Reply:
    """Return the reply with a list in Keystone's format; `key` is the plural of the objects."""
    query = f"?{call.raw_query}" if call.raw_query else ""
    return Reply(
        200,
        {
            key: items,
            "links": {
                "next": None,
                "self": f"{call.base}/identity{call.path}{query}",
                "previous": None,
            },
        },
    )


class Rest:
    """The create, list, show, update and delete handlers of a Keystone collection.

    Subclasses override the methods in which a collection differs.
    """

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    @property
    def routes(self) -> list[Route]:
        """The routes for creating, listing, showing, updating and deleting objects."""
        path = f"/v3/{self.collection.plural}"
        handlers: list[tuple[str, str, Handler]] = [
            ("POST", path, self.create),
            ("GET", path, self.index),
            ("GET", path + "/{}", self.show),
            ("PATCH", path + "/{}", self.update),
            ("DELETE", path + "/{}", self.delete),
        ]
        return handlers

    def may_read(self, call: Call, resource: Resource) -> bool:
        """Return whether a caller without the role admin may read an object."""
        return False

    def may_list(self, call: Call) -> bool:
        """Return whether a caller without the role admin may list the objects."""
        return False

    def new_id(self, call: Call, values: Body) -> str:
        """Return the id of a new object."""
        return call.cloud.store.new_hex()

    def complete(self, call: Call, values: Body, hidden: Body) -> None:
        """Check and complete the values of a new object, in place. Raises Refusal.

        Subclasses override this for rules that the field declarations cannot express. `hidden` are
        the internal fields of the object.
        """

    def changed(self, call: Call, resource: Resource, changes: Body) -> None:
        """Check the changes of an update request before they are applied. Raises Refusal."""

    def gone(self, call: Call, resource: Resource) -> None:
        """Prepare the deletion of an object: remove the objects that depend on it.

        Raises Refusal if the object must not be deleted.
        """

    def view(self, call: Call, resource: Resource) -> Body:
        """Return an object in the format of the API."""
        body = dict(resource.body)
        body["links"] = {"self": link(call, f"{self.collection.plural}/{resource.id}")}
        return body

    def create(self, call: Call) -> Reply:
        """Handle POST of an object; reply with status 201."""
        admin_only(call)
        attributes = call.object(self.collection.singular)
        try:
            values = self.collection.for_create(attributes)
        except Invalid as error:
            raise bad(error.message) from None
        hidden: Body = {}
        self.complete(call, values, hidden)
        resource_id = self.new_id(call, values)
        body = {"id": resource_id, **values}
        resource = Resource(resource_id, self.collection.table, None, body, hidden)
        call.cloud.store.insert(resource)
        return Reply(201, {self.collection.singular: self.view(call, resource)})

    def index(self, call: Call) -> Reply:
        """Handle GET of the collection; the query arguments filter by fields."""
        if not self.may_list(call):
            admin_only(call)
        query = {key: values for key, values in call.query.items() if key != "name"}
        resources = filtered(call.cloud.store.all(self.collection.table), query, _NOT_FILTERS)
        if names := call.query.get("name"):
            resources = [
                t for t in resources if any(same_name(t.body.get("name"), n) for n in names)
            ]
        return listed(
            call, self.collection.plural, [self.view(call, resource) for resource in resources]
        )

    def show(self, call: Call) -> Reply:
        """Handle GET of an object."""
        resource = self._find(call)
        if not self.may_read(call, resource):
            admin_only(call)
        return Reply(200, {self.collection.singular: self.view(call, resource)})

    def update(self, call: Call) -> Reply:
        """Handle PATCH of an object."""
        resource = self._find(call)
        admin_only(call)
        try:
            changes = self.collection.for_update(call.object(self.collection.singular))
        except Invalid as error:
            raise bad(error.message) from None
        self.changed(call, resource, changes)
        resource.body.update(changes)
        return Reply(200, {self.collection.singular: self.view(call, resource)})

    def delete(self, call: Call) -> Reply:
        """Handle DELETE of an object; reply with status 204."""
        resource = self._find(call)
        admin_only(call)
        self.gone(call, resource)
        call.cloud.store.remove(resource)
        return Reply(204)

    def unique(
        self, call: Call, resource: Resource | None, *, name: object, **fields: object
    ) -> None:
        """Raise Refusal 409 if an object other than `resource` has this name and these fields."""
        for twin in named(call.cloud.store, self.collection.table, name, **fields):
            if twin is not resource:
                message = f"Conflict: a {self.collection.singular} named {name} exists already."
                raise Refusal(409, message=message)

    def _find(self, call: Call) -> Resource:
        return find(call, self.collection.plural, call.ids[0])
