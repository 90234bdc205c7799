"""The API of flavors and availability zones of load balancers, and of their profiles."""

from __future__ import annotations

import json

from hearth_devcloud.collection import Collection, Field, Invalid, boolean, text
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.listing import filtered, page
from hearth_devcloud.octavia import tree
from hearth_devcloud.octavia.refusals import bad, only_admins
from hearth_devcloud.store import Resource

PROVIDERS = ("amphora", "octavia", "noop_driver")
_NAME = Field(text(), required=True)


def _profiles(plural: str, singular: str, data: str) -> Collection:
    provider = Field(text(), required=True)
    fields = {"name": _NAME, "provider_name": provider, data: Field(text(4096), required=True)}
    return Collection("load-balancer", plural, singular, fields)


def _offers(plural: str, singular: str, profile: str, name: Field) -> Collection:
    fields = {
        "name": name,
        "description": Field(text(), default=""),
        "enabled": Field(boolean, default=True),
        profile: Field(text(36), required=True, update=False),
    }
    return Collection("load-balancer", plural, singular, fields)


FLAVOR_PROFILES = _profiles("flavorprofiles", "flavorprofile", "flavor_data")
ZONE_PROFILES = _profiles(
    "availabilityzoneprofiles", "availability_zone_profile", "availability_zone_data"
)
FLAVORS = _offers("flavors", "flavor", "flavor_profile_id", _NAME)
ZONES = _offers(
    "availabilityzones",
    "availability_zone",
    "availability_zone_profile_id",
    Field(text(), required=True, update=False),
)


class Offered:
    """The base class of the handlers of flavors, availability zones and their profiles.

    All users may read flavors and zones. Only administrators may read profiles or change anything.
    """

    public = False

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    def routes(self, root: str) -> list[Route]:
        """Return the routes for creating, listing, showing, updating and deleting objects."""
        path = f"{root}/{self.collection.plural}"
        return [
            ("POST", path, self.create),
            ("GET", path, self.index),
            ("GET", path + "/{}", self.show),
            ("PUT", path + "/{}", self.update),
            ("DELETE", path + "/{}", self.delete),
        ]

    def check(self, call: Call, values: Body, resource: Resource | None) -> None:
        """Check the values of a new or updated object, beyond the checks of single fields.

        `resource` is the object that is updated, or None. Raises Refusal 400, 404 or 409.
        """

    def used(self, call: Call, resource: Resource) -> bool:
        """Return whether another object refers to this one."""
        raise NotImplementedError

    def ident(self, call: Call, values: Body) -> str:
        """Return the id of a new object."""
        return call.cloud.store.new_id()

    def view(self, resource: Resource) -> Body:
        """Return an object in the format of the API."""
        return {"id": resource.id, **resource.body}

    def create(self, call: Call) -> Reply:
        """Handle POST of an object; reply with status 201."""
        only_admins(call)
        values = self._given(call, creating=True)
        self.check(call, values, None)
        resource = Resource(self.ident(call, values), self.collection.table, None, values)
        return Reply(201, {self.collection.singular: self.view(call.cloud.store.insert(resource))})

    def index(self, call: Call) -> Reply:
        """Handle GET of the collection."""
        if not self.public:
            only_admins(call)
        resources, _ = page(filtered(call.cloud.store.all(self.collection.table), call.query), call)
        links = f"{self.collection.plural.removesuffix('s')}_links"
        return Reply(200, {self.collection.plural: [self.view(t) for t in resources], links: []})

    def show(self, call: Call) -> Reply:
        """Handle GET of an object."""
        if not self.public:
            only_admins(call)
        return Reply(200, {self.collection.singular: self.view(self._own(call))})

    def update(self, call: Call) -> Reply:
        """Handle PUT of an object; reply with status 200."""
        only_admins(call)
        resource, values = self._own(call), self._given(call, creating=False)
        self.check(call, values, resource)
        resource.body.update(values)
        return Reply(200, {self.collection.singular: self.view(resource)})

    def delete(self, call: Call) -> Reply:
        """Handle DELETE of an object; reply with status 204, or 409 if the object is in use."""
        only_admins(call)
        resource = self._own(call)
        if self.used(call, resource):
            raise in_use(self.collection, resource)
        call.cloud.store.remove(resource)
        return Reply(204)

    def _own(self, call: Call) -> Resource:
        return look_up(call, self.collection, call.ids[0])

    def _given(self, call: Call, *, creating: bool) -> Body:
        attributes = call.object(self.collection.singular)
        try:
            if creating:
                return self.collection.for_create(attributes)
            return self.collection.for_update(attributes)
        except Invalid as error:
            raise bad(error.message) from None


class Profiles(Offered):
    """The handlers of profiles of flavors or availability zones.

    A profile consists of a provider and its options, which are JSON text.
    """

    def __init__(self, collection: Collection, users: Collection) -> None:
        super().__init__(collection)
        self.users = users
        self.data = next(name for name in collection.fields if name.endswith("_data"))

    def check(self, call: Call, values: Body, resource: Resource | None) -> None:
        if resource is not None and values.keys() - {"name"} and self.used(call, resource):
            raise in_use(self.collection, resource)
        provider = values.get("provider_name", PROVIDERS[0])
        if provider not in PROVIDERS:
            raise bad(f"Provider '{provider}' is not enabled.")
        try:
            data = json.loads(values.get(self.data, "{}"))
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise bad(f"{values[self.data]} is not a valid option for {self.data}")

    def used(self, call: Call, resource: Resource) -> bool:
        field = f"{self.collection.singular.removesuffix('profile').rstrip('_')}_profile_id"
        return bool(call.cloud.store.where(self.users.table, **{field: resource.id}))


class Flavors(Offered):
    """The handlers of flavors of load balancers, which have unique names."""

    public = True
    profiles = FLAVOR_PROFILES
    chosen_by = "flavor_id"

    def check(self, call: Call, values: Body, resource: Resource | None) -> None:
        for twin in call.cloud.store.where(self.collection.table, name=values.get("name", "")):
            if twin is not resource:
                raise Refusal(
                    409, message=f"A {self.collection.singular} with this name already exists."
                )
        for name in values:
            if name.endswith("_profile_id"):
                look_up(call, self.profiles, values[name])

    def used(self, call: Call, resource: Resource) -> bool:
        return bool(call.cloud.store.where(tree.BALANCERS.table, **{self.chosen_by: resource.id}))


class Zones(Flavors):
    """The handlers of availability zones of load balancers. The id of a zone is its name."""

    profiles = ZONE_PROFILES
    chosen_by = "availability_zone"

    def ident(self, call: Call, values: Body) -> str:
        return str(values["name"])

    def view(self, resource: Resource) -> Body:
        return dict(resource.body)


def look_up(call: Call, collection: Collection, resource_id: object) -> Resource:
    """Return the object of a collection with this id. Raises Refusal 404."""
    resource = call.cloud.store.get(collection.table, resource_id)
    if resource is None:
        raise Refusal(404, message=f"{collection.singular} {resource_id} not found.")
    return resource


def in_use(collection: Collection, resource: Resource) -> Refusal:
    """Return a Refusal with status 409 for an object that another object uses."""
    text_ = f"{collection.singular} {resource.id} is in use and cannot be modified."
    return Refusal(409, message=text_)


def may_choose(call: Call, values: Body) -> None:
    """Check the flavor and the availability zone in a request for a load balancer.

    Raises Refusal 400 if one of them does not exist or is disabled.
    """
    for collection, field in ((FLAVORS, "flavor_id"), (ZONES, "availability_zone")):
        if values[field] is None:
            continue
        resource = call.cloud.store.get(collection.table, values[field])
        if resource is None:
            raise bad(f"Validation failure: Invalid {field}.")
        if not resource.body["enabled"]:
            text_ = f"The selected {collection.singular} is not allowed in this deployment"
            raise bad(f"{text_}: {resource.id}")


KINDS = (
    Profiles(FLAVOR_PROFILES, FLAVORS),
    Profiles(ZONE_PROFILES, ZONES),
    Flavors(FLAVORS),
    Zones(ZONES),
)
