"""The base class of Neutron's collections, and functions for its errors and common fields."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.collection import Collection, Fault, Invalid
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.listing import CONTROLS, filtered, ordered, page
from hearth_devcloud.neutron import quotas
from hearth_devcloud.store import Resource, stamp_z

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


def not_authorized(policy: str) -> Refusal:
    """Return a Refusal with status 403; `policy` is the violated policy, such as `update_port`."""
    return Refusal(403, "PolicyNotAuthorized", f"rule:{policy} is disallowed by policy")


def refuse_reader(call: Call) -> Refusal:
    """Return the error for a write of a reader; it names the violated policy."""
    words = [segment for segment in call.segments if segment not in call.ids]
    plural = words[-1].replace("-", "_")
    singular = plural[:-3] + "y" if plural.endswith("ies") else plural.removesuffix("s")
    verb = {"POST": "create", "DELETE": "delete"}.get(call.method, "update")
    acts = plural.startswith(("add_", "remove_"))  # such as add_router_interface
    return not_authorized(plural if acts else f"{verb}_{singular}")


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


def touch(cloud: Cloud, resource: Resource) -> None:
    """Increase the revision number of a changed object and set its update time."""
    resource.body["updated_at"] = stamp_z(cloud.store.time)
    resource.body["revision_number"] = resource.body.get("revision_number", 0) + 1
    cloud.store.changed = True


def stamped(cloud: Cloud, revision: int) -> Body:
    """Return the standard fields of a new object: tags, times and revision number."""
    now = stamp_z(cloud.store.time)
    return {"tags": [], "created_at": now, "updated_at": now, "revision_number": revision}


def owned(project_id: str | None) -> Body:
    """Return the fields project_id and tenant_id, which both contain the owner's project id."""
    return {"project_id": project_id or "", "tenant_id": project_id or ""}


def _tags_in(request: Body) -> list[str] | None:
    """Remove the tags from a body and return them; None if there are none.

    Raises Refusal 400 if they are not a list of strings.
    """
    tags = request.pop("tags", None)
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


def shared_with(call: Call, resource: Resource) -> bool:
    """Return whether an RBAC policy lets the caller's project see an object."""
    targets = (call.caller.project_id, "*")
    policies = call.cloud.store.where("network.rbac_policies", object_id=resource.id)
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

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        """Create an object with checked values and return it. Raises Refusal."""
        body = {"id": call.cloud.store.new_id(), **values, **owned(project_id)}
        if self.standard:
            body |= stamped(call.cloud, self.revision)
        return call.cloud.store.insert(
            Resource(body["id"], self.collection.table, project_id, body)
        )

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        """Apply the checked changes of an update request to an object. Raises Refusal."""
        resource.body.update(changes)

    def gone(self, call: Call, resource: Resource) -> None:
        """Prepare the deletion of an object: remove the objects that depend on it.

        Raises Refusal if the object must not be deleted.
        """

    def visible(self, call: Call, resource: Resource) -> bool:
        """Return whether callers other than the owner and administrators may see an object."""
        return bool(resource.body.get("shared")) or shared_with(call, resource)

    def view(self, call: Call, resource: Resource, *, created: bool = False) -> Body:
        """Return an object in the format of the API, with the fields that the caller may see.

        `created` is true for the reply to a create request.
        """
        view = dict(resource.body)
        if not call.caller.is_admin:
            for name in self.admin_fields:
                view.pop(name, None)
        return view

    def ready(self, call: Call) -> None:
        """Create the objects that Neutron creates on first use, such as default groups."""

    def find(self, call: Call, resource_id: str) -> Resource:
        """Return an object that the caller may see. Raises Refusal 404."""
        resource = call.cloud.store.get(self.collection.table, resource_id)
        if resource is None or not self._sees(call, resource):
            kind = self.collection.type_name
            text = f"{kind} {resource_id} could not be found."
            raise Refusal(404, f"{kind}NotFound", text)
        return resource

    def _sees(self, call: Call, resource: Resource) -> bool:
        caller = call.caller
        return (
            caller.is_admin
            or resource.project_id == caller.project_id
            or self.visible(call, resource)
        )

    def owned_by_caller(self, call: Call, resource: Resource, verb: str) -> None:
        """Raise Refusal 403 unless the caller may change the object."""
        foreign = self.admin_only or resource.project_id != call.caller.project_id
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
        resource = self.create_one(call, body[kind.singular])
        return Reply(201, {kind.singular: self.view(call, resource, created=True)})

    def _create_many(self, call: Call, items: list[Any]) -> Reply:
        resources: list[Resource] = []
        try:
            for item in items:
                resources.append(self.create_one(call, item))  # noqa: PERF401
        except Refusal:
            for resource in resources:
                call.cloud.store.remove(resource)
            raise
        views = [self.view(call, resource, created=True) for resource in resources]
        return Reply(201, {self.collection.plural_key: views})

    def create_one(self, call: Call, attributes: Body) -> Resource:
        """Check the object in a create request, create it and return it. Raises Refusal."""
        caller = call.caller
        if self.admin_only and not caller.is_admin:
            raise not_authorized(f"create_{self.collection.singular}")
        attributes = dict(attributes)
        project_id = caller.project_id or ""
        for key in _OWNER:
            tenant = attributes.pop(key, None)
            if tenant is not None and not isinstance(tenant, str):
                text = f"Invalid input for {key}. Reason: expected a string."
                raise Refusal(400, "HTTPBadRequest", text)
            if tenant is not None and tenant != project_id:
                if not caller.is_admin:
                    text = "Only an administrator may specify the project_id of another project."
                    raise Refusal(400, "HTTPBadRequest", text)
                project_id = tenant
        tags = _tags_in(attributes) if self.standard else None
        try:
            values = self.collection.for_create(attributes, admin=caller.is_admin)
        except Invalid as error:
            raise explain(error, self.collection, creating=True) from None
        known_policy(call, values)
        if self.collection.quota:
            quotas.check(call.cloud, project_id, self.collection.quota, self.collection.table)
        resource = self.make(call, project_id, values)
        if tags:
            resource.body["tags"] = tags
        return resource

    def index(self, call: Call) -> Reply:
        """Handle GET of the collection, with filters, sorting, pagination and selected fields."""
        self.ready(call)
        store = call.cloud.store
        resources = self.matching(call, list(store.all(self.collection.table)))
        resources = [resource for resource in resources if self._sees(call, resource)]
        resources, has_next = page(ordered(resources, call), call)
        views = [self.view(call, resource) for resource in resources]
        if fields := call.query.get("fields"):
            views = [{k: v for k, v in view.items() if k in fields} for view in views]
        key = self.collection.plural_key
        body: Body = {key: views}
        if has_next:
            limit, last = call.argument("limit"), resources[-1].id
            query = f"limit={limit}&marker={last}"
            href = f"{call.base}/network{call.path}?{query}"
            body[f"{key}_links"] = [{"rel": "next", "href": href}]
        return Reply(200, body)

    def matching(self, call: Call, resources: list[Resource]) -> list[Resource]:
        """Return the objects that match the filters of the query."""
        return filtered(resources, call.query, CONTROLS)

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
        resource = self.find(call, call.ids[0])
        self.owned_by_caller(call, resource, "update")
        body = call.json()
        if not isinstance(body, dict) or not isinstance(body.get(kind.singular), dict):
            raise Refusal(400, "HTTPBadRequest", f"Unable to find '{kind.singular}' in body")
        attributes = dict(body[kind.singular])
        tags = _tags_in(attributes) if self.standard else None
        try:
            changes = kind.for_update(attributes, admin=call.caller.is_admin)
        except Invalid as error:
            raise explain(error, kind, creating=False) from None
        known_policy(call, changes)
        self._check_revision(call, resource)
        self.change(call, resource, changes)
        if tags is not None:
            resource.body["tags"] = tags
        touch(call.cloud, resource)
        return Reply(200, {kind.singular: self.view(call, resource)})

    def _check_revision(self, call: Call, resource: Resource) -> None:
        condition = call.headers.get("If-Match")
        if not condition:
            return
        if condition.rpartition("=")[2] != str(resource.body.get("revision_number")):
            text = "The revision number in the If-Match header is not the current one"
            raise Refusal(412, "RevisionNumberConstraintFailed", text)

    def delete(self, call: Call) -> Reply:
        """Handle DELETE of an object; reply with status 204."""
        resource = self.find(call, call.ids[0])
        self.owned_by_caller(call, resource, "delete")
        self._check_revision(call, resource)
        self.gone(call, resource)
        call.cloud.store.remove(resource)
        return Reply(204)

    def tags(self, call: Call) -> Reply:
        """Handle GET of the tags of an object."""
        return Reply(200, {"tags": self.find(call, call.ids[0]).body.get("tags", [])})

    def set_tags(self, call: Call) -> Reply:
        """Handle PUT of tags: replace all tags of an object."""
        resource = self._to_tag(call)
        body = call.json()
        tags = body.get("tags") if isinstance(body, dict) else None
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise Refusal(400, "HTTPBadRequest", "Invalid tags body")
        return self._tagged(call, resource, list(dict.fromkeys(tags)))

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
        resource = self._to_tag(call)
        self._tagged(call, resource, list(dict.fromkeys([*resource.body["tags"], call.ids[1]])))
        return Reply(201)

    def remove_tag(self, call: Call) -> Reply:
        """Handle DELETE of one tag; reply with status 204."""
        resource = self._to_tag(call)
        if call.ids[1] not in resource.body["tags"]:
            raise Refusal(404, "TagNotFound", f"Tag {call.ids[1]} could not be found.")
        self._tagged(call, resource, [tag for tag in resource.body["tags"] if tag != call.ids[1]])
        return Reply(204)

    def _to_tag(self, call: Call) -> Resource:
        resource = self.find(call, call.ids[0])
        self.owned_by_caller(call, resource, "update")
        return resource

    def _tagged(self, call: Call, resource: Resource, tags: Any) -> Reply:
        resource.body["tags"] = tags
        touch(call.cloud, resource)
        return Reply(200, {"tags": tags})
