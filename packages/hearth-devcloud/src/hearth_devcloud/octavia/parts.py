"""The APIs of the parts of a load balancer, such as listeners and pools, and their base class."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Invalid
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.listing import CONTROLS, filtered, page
from hearth_devcloud.octavia import quotas, tree
from hearth_devcloud.octavia.refusals import bad
from hearth_devcloud.store import Resource, stamp_z

_BALANCER = frozenset({"loadbalancer_id", "load_balancer_id"})  # clients filter by either


class Part:
    """The base class of the handlers of one type of load balancer object, such as listeners.

    Subclasses override the methods in which a type differs.
    """

    within = ""
    operating = "OFFLINE"
    references: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()  # keys of a create request that are not fields of the object

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def routes(self, root: str) -> list[Route]:
        """Return the routes for creating, listing, showing, updating and deleting objects."""
        path = root + self.within + "/" + self.collection.plural
        return [
            ("POST", path, self.create),
            ("GET", path, self.index),
            ("GET", path + "/{}", self.show),
            ("PUT", path + "/{}", self.update),
            ("DELETE", path + "/{}", self.delete),
        ]

    def find(self, call: Call, collection: Collection, resource_id: object) -> Resource:
        """Return an object of a collection that the caller may access. Raises Refusal 404."""
        resource = call.cloud.store.get(collection.table, resource_id)
        caller = call.caller
        if resource is None or not (caller.is_admin or resource.project_id == caller.project_id):
            raise Refusal(404, message=f"{collection.singular} {resource_id} not found.")
        return resource

    def balancer(self, call: Call, resource: Resource) -> Resource:
        """Return the load balancer that an object belongs to."""
        return self.find(call, tree.BALANCERS, resource.hidden["balancer"])

    def place(self, call: Call, values: Body) -> Body:
        """Return the ids of the load balancer and of the direct parent of a new object.

        Their keys are `balancer` and `parent`. Raises Refusal if the parent does not exist or
        cannot have another such object.
        """
        raise NotImplementedError

    def check(self, call: Call, values: Body) -> None:
        """Check fields of an object that depend on each other. Raises Refusal 400 or 404."""

    def links(self, call: Call, resource: Resource) -> Body:
        """Return the references to other objects that responses contain besides the fields."""
        return {}

    def view(self, call: Call, resource: Resource) -> Body:
        """Return an object in the format of the API."""
        body = {key: v for key, v in resource.body.items() if key not in self.references}
        return {**body, **self.links(call, resource), "tenant_id": resource.project_id}

    def given(self, call: Call, *, creating: bool) -> Body:
        """Return the checked fields of the object in a request. Raises Refusal 400.

        `creating` is true for a create request, which also gets defaults.
        """
        attributes = dict(call.object(self.collection.singular))
        for name in ("tenant_id", "project_id", *(self.apart if creating else ())):
            attributes.pop(name, None)
        try:
            if creating:
                return self.collection.for_create(attributes)
            fields = self.collection.fields
            for name, value in attributes.items():  # null restores the default
                if value is None and name in fields and fields[name].update:
                    attributes[name] = fields[name].initial()
            return self.collection.for_update(attributes)
        except Invalid as error:
            raise bad(error.message) from None

    def insert(self, call: Call, values: Body, hidden: Body, project_id: str | None) -> Resource:
        """Store a new object in the status PENDING_CREATE and return it."""
        store = call.cloud.store
        body: Body = {
            "id": store.new_id(),
            **values,
            "provisioning_status": "PENDING_CREATE",
            "operating_status": self.operating,
            "project_id": project_id,
            "created_at": stamp_z(store.time).rstrip("Z"),
            "updated_at": None,
        }
        return store.insert(Resource(body["id"], self.collection.table, project_id, body, hidden))

    def create(self, call: Call) -> Reply:
        """Handle POST of an object; reply with status 201."""
        values = self.given(call, creating=True)
        self.check(call, values)
        hidden = self.place(call, values)
        balancer = self.find(call, tree.BALANCERS, hidden["balancer"])
        tree.mutable(balancer)
        quotas.check(call, self.collection, balancer.project_id)
        part = self.insert(call, values, hidden, balancer.project_id)
        tree.pending(call, balancer, part, "PENDING_CREATE")
        return Reply(201, {self.collection.singular: self.view(call, part)})

    def _mine(self, call: Call) -> list[Resource]:
        caller = call.caller
        rows = call.cloud.store.all(self.collection.table)
        parts = [part for part in rows if caller.is_admin or part.project_id == caller.project_id]
        if self.within:
            parts = [part for part in parts if part.hidden["parent"] == call.ids[0]]
        return parts

    def index(self, call: Call) -> Reply:
        """Handle GET of the collection. Query arguments that are not fields are ignored."""
        balancers = {balancer_id for name in _BALANCER for balancer_id in call.query.get(name, ())}
        parts = [
            t for t in self._mine(call) if not balancers or t.hidden.get("balancer") in balancers
        ]
        unknown = {key for key in call.query if all(key not in part.body for part in parts)}
        page_parts, _ = page(filtered(parts, call.query, CONTROLS | _BALANCER | unknown), call)
        key = self.collection.plural
        return Reply(200, {key: [self.view(call, t) for t in page_parts], f"{key}_links": []})

    def _own(self, call: Call) -> Resource:
        return self.find(call, self.collection, call.ids[-1])

    def show(self, call: Call) -> Reply:
        """Handle GET of an object."""
        return Reply(200, {self.collection.singular: self.view(call, self._own(call))})

    def update(self, call: Call) -> Reply:
        """Handle PUT of an object."""
        part = self._own(call)
        changes = self.given(call, creating=False)
        self.check(call, {**part.body, **changes})
        tree.change(call, self.balancer(call, part), part, "PENDING_UPDATE")
        part.body.update(changes)
        return Reply(200, {self.collection.singular: self.view(call, part)})

    def delete(self, call: Call) -> Reply:
        """Handle DELETE of an object; reply with status 204."""
        part = self._own(call)
        tree.change(call, self.balancer(call, part), part, "PENDING_DELETE")
        for other_part in tree.below(call.cloud, part.hidden["balancer"]):
            if other_part.hidden.get("parent") == part.id and other_part.table != tree.POOLS.table:
                other_part.body["provisioning_status"] = "PENDING_DELETE"
            if other_part.body.get("default_pool_id") == part.id:
                other_part.body["default_pool_id"] = None
        return Reply(204)


def _place(member: Body) -> tuple[str, int]:
    """Return the address and port of a member. Together they are unique in a pool."""
    return member["address"], member["protocol_port"]


def _ids(parts: list[Resource]) -> list[Body]:
    return [{"id": part.id} for part in parts]


class Listeners(Part):
    """The handlers of listeners: ports on which a load balancer accepts connections."""

    references = ("loadbalancer_id",)

    def place(self, call: Call, values: Body) -> Body:
        balancer = self.find(call, tree.BALANCERS, values["loadbalancer_id"])
        filters = {key: values[key] for key in ("protocol_port", "loadbalancer_id")}
        for twin in call.cloud.store.where(tree.LISTENERS.table, **filters):
            if (twin.body["protocol"] == "UDP") == (values["protocol"] == "UDP"):
                raise Refusal(409, message="Another Listener on this Load Balancer uses the port")
        return {"balancer": balancer.id, "parent": balancer.id}

    def links(self, call: Call, resource: Resource) -> Body:
        policies = call.cloud.store.where(tree.POLICIES.table, listener_id=resource.id)
        balancers = [{"id": resource.hidden["balancer"]}]
        return {"loadbalancers": balancers, "l7policies": _ids(policies)}


class Pools(Part):
    """The handlers of pools: groups of members with a load balancing algorithm."""

    references = ("loadbalancer_id", "listener_id")

    def place(self, call: Call, values: Body) -> Body:
        if values["listener_id"]:
            listener = self.find(call, tree.LISTENERS, values["listener_id"])
            balancer_id = listener.hidden["balancer"]
            if listener.body["default_pool_id"]:
                raise Refusal(409, message=f"Listener {listener.id} already has a default pool")
        elif values["loadbalancer_id"]:
            balancer_id = self.find(call, tree.BALANCERS, values["loadbalancer_id"]).id
        else:
            raise bad("Must provide at least one of: loadbalancer_id, listener_id")
        return {"balancer": balancer_id, "parent": values["listener_id"] or balancer_id}

    def insert(self, call: Call, values: Body, hidden: Body, project_id: str | None) -> Resource:
        pool = super().insert(call, values, hidden, project_id)
        if values["listener_id"]:
            listener = self.find(call, tree.LISTENERS, values["listener_id"])
            listener.body["default_pool_id"] = pool.id
        return pool

    def links(self, call: Call, resource: Resource) -> Body:
        store = call.cloud.store
        listeners = store.where(tree.LISTENERS.table, default_pool_id=resource.id)
        members = [m for m in store.all(tree.MEMBERS.table) if m.hidden["parent"] == resource.id]
        monitors = store.where(tree.MONITORS.table, pool_id=resource.id)
        fields: Body = {
            "loadbalancers": [{"id": resource.hidden["balancer"]}],
            "listeners": _ids(listeners),
            "members": _ids(members),
        }
        if monitors:
            fields["healthmonitor_id"] = monitors[0].id
        return fields

    def delete(self, call: Call) -> Reply:
        pool = self._own(call)
        for policy in call.cloud.store.where(tree.POLICIES.table, redirect_pool_id=pool.id):
            text_ = f"Pool {pool.id} is in use by L7 policy {policy.id}"
            raise Refusal(409, message=text_)
        return super().delete(call)


class Members(Part):
    """The handlers of members: the backend servers in a pool."""

    within = "/pools/{}"
    operating = "NO_MONITOR"

    def routes(self, root: str) -> list[Route]:
        path = f"{root}{self.within}/{self.collection.plural}"
        return [*super().routes(root), ("PUT", path, self.replace)]

    def replace(self, call: Call) -> Reply:
        """Handle PUT of members: replace all members of a pool; reply with status 202."""
        pool, fields = self.find(call, tree.POOLS, call.ids[0]), self.collection
        balancer = self.balancer(call, pool)
        tree.mutable(balancer)
        entries = body.get("members") if isinstance(body := call.json(), dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise bad("Invalid or missing field members: expected a list of objects")
        try:
            bodies = [fields.for_create(entry) for entry in entries]
        except Invalid as error:
            raise bad(error.message) from None
        members_by_place = {
            _place(member.body): member
            for member in call.cloud.store.all(fields.table)
            if member.hidden["parent"] == pool.id
        }
        places = {_place(entry) for entry in bodies}
        if len(places) < len(bodies):
            raise Refusal(409, message="Another member of this pool has this address and port")
        for _ in places - members_by_place.keys():
            quotas.check(call, fields, pool.project_id)
        tree.pending(call, balancer, pool, "PENDING_UPDATE")
        for address, member in members_by_place.items():
            status = "PENDING_UPDATE" if address in places else "PENDING_DELETE"
            member.body["provisioning_status"] = status
        for entry in bodies:
            if (old := members_by_place.get(_place(entry))) is not None:
                old.body.update(entry)
            else:
                hidden = {"balancer": balancer.id, "parent": pool.id}
                self.insert(call, entry, hidden, pool.project_id)
        return Reply(202)

    def place(self, call: Call, values: Body) -> Body:
        pool = self.find(call, tree.POOLS, call.ids[0])
        for twin in call.cloud.store.all(tree.MEMBERS.table):
            if twin.hidden["parent"] == pool.id and all(
                twin.body[key] == values[key] for key in ("address", "protocol_port")
            ):
                raise Refusal(409, message="Another member of this pool has this address and port")
        return {"balancer": pool.hidden["balancer"], "parent": pool.id}

    def links(self, call: Call, resource: Resource) -> Body:
        return {"vnic_type": "normal"}


_OF_HTTP = {"http_method": "GET", "url_path": "/", "expected_codes": "200"}


def demand_options(monitor: Body) -> None:
    """Raise Refusal 400 if a health monitor has options that its type does not have."""
    kind = monitor["type"]
    for key in _OF_HTTP:
        if kind not in ("HTTP", "HTTPS") and monitor[key]:
            raise bad(f"{key} is not a valid option for health monitors of type {kind}")


def usual_options(monitor: Body) -> Body:
    """Return the options of HTTP for a health monitor, with their defaults."""
    if monitor["type"] not in ("HTTP", "HTTPS"):
        return {}
    return {key: monitor[key] or usual for key, usual in _OF_HTTP.items()}


class Monitors(Part):
    """The handlers of health monitors. A pool can have one."""

    references = ("pool_id",)

    def check(self, call: Call, values: Body) -> None:
        demand_options(values)

    def place(self, call: Call, values: Body) -> Body:
        pool = self.find(call, tree.POOLS, values["pool_id"])
        if call.cloud.store.where(tree.MONITORS.table, pool_id=pool.id):
            raise Refusal(409, message="This pool already has a health monitor")
        values.update(usual_options(values))
        return {"balancer": pool.hidden["balancer"], "parent": pool.id}

    def links(self, call: Call, resource: Resource) -> Body:
        return {"pools": [{"id": resource.body["pool_id"]}]}


_TARGETS = {
    "REDIRECT_TO_POOL": "redirect_pool_id",
    "REDIRECT_TO_URL": "redirect_url",
    "REDIRECT_PREFIX": "redirect_prefix",
}


class Policies(Part):
    """The handlers of L7 policies: actions of a listener on requests that match all its rules."""

    def check(self, call: Call, values: Body) -> None:
        target = _TARGETS.get(values["action"])
        if target and not values[target]:
            raise bad(f"Invalid L7 Policy arguments: {target} must not be None")

    def place(self, call: Call, values: Body) -> Body:
        listener = self.find(call, tree.LISTENERS, values["listener_id"])
        if values["redirect_pool_id"]:
            self.find(call, tree.POOLS, values["redirect_pool_id"])
        count = len(call.cloud.store.where(tree.POLICIES.table, listener_id=listener.id))
        values["position"] = min(values["position"], count + 1)
        return {"balancer": listener.hidden["balancer"], "parent": listener.id}

    def links(self, call: Call, resource: Resource) -> Body:
        rules = call.cloud.store.all(tree.RULES.table)
        return {"rules": _ids([rule for rule in rules if rule.hidden["parent"] == resource.id])}


class Rules(Part):
    """The handlers of L7 rules: the conditions of an L7 policy."""

    within = "/l7policies/{}"

    def check(self, call: Call, values: Body) -> None:
        if values["type"] in ("HEADER", "COOKIE", "SSL_DN_FIELD") and not values["key"]:
            raise bad("Invalid L7 Rule: A key must be specified for this type")

    def place(self, call: Call, values: Body) -> Body:
        policy = self.find(call, tree.POLICIES, call.ids[0])
        return {"balancer": policy.hidden["balancer"], "parent": policy.id}
