"""The API of datastores, their versions, and the flavors of instances."""

from __future__ import annotations

from dataclasses import dataclass

from hearth_devcloud import tables
from hearth_devcloud.fixed_ids import fixed
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource
from hearth_devcloud.trove.base import bad, links, missing


@dataclass(frozen=True)
class Datastore:
    """A kind of database; its first version is the default.

    Clusters of it are possible if `cluster_size_min`, the least number of members, is not 0.
    """

    name: str
    versions: tuple[str, ...]
    cluster_size_min: int = 0

    @property
    def id(self) -> str:
        """The id of the datastore."""
        return fixed("datastore", self.name)

    def version_id(self, version: str) -> str:
        """Return the id of a version, which is given by its name."""
        return fixed("datastore", self.name, version)


DATASTORES = (
    Datastore("mysql", ("8.0", "5.7")),
    Datastore("mariadb", ("10.4", "10.3"), cluster_size_min=3),
    Datastore("postgresql", ("12", "13")),
)


def chosen(attributes: Body) -> tuple[Datastore, str]:
    """Return the datastore and the name of the version that a request names.

    Without names, they are MySQL and the default version. Raises Refusal 404 for an unknown
    datastore, and 400 for an unknown version.
    """
    datastore = _found(attributes.get("type") or DATASTORES[0].name)
    version = attributes.get("version") or datastore.versions[0]
    version_name = _version(datastore, version)
    if version_name is None:
        raise bad(f"Datastore version '{version}' cannot be found.")
    return datastore, version_name


def _found(name: str) -> Datastore:
    for datastore in DATASTORES:
        if name in (datastore.name, datastore.id):
            return datastore
    raise Refusal(404, message=f"Datastore '{name}' cannot be found.")


def _version(datastore: Datastore, name: str) -> str | None:
    versions = datastore.versions
    return next(
        (
            version_name
            for version_name in versions
            if name in (version_name, datastore.version_id(version_name))
        ),
        None,
    )


def _version_view(call: Call, datastore: Datastore, version: str, *, alone: bool = False) -> Body:
    ident = datastore.version_id(version)
    view: Body = {"id": ident, "name": version, "links": links(call, "datastores/versions", ident)}
    if alone:
        view |= {"datastore": datastore.id, "active": True, "packages": "", "image": ident}
    return view


def _view(call: Call, datastore: Datastore) -> Body:
    return {
        "id": datastore.id,
        "name": datastore.name,
        "default_version": datastore.version_id(datastore.versions[0]),
        "links": links(call, "datastores", datastore.id),
        "versions": [_version_view(call, datastore, version) for version in datastore.versions],
    }


def datastores(call: Call) -> Reply:
    """Handle GET of the datastores."""
    return Reply(200, {"datastores": [_view(call, datastore) for datastore in DATASTORES]})


def show(call: Call) -> Reply:
    """Handle GET of a datastore, by its id or name."""
    return Reply(200, {"datastore": _view(call, _found(call.ids[0]))})


def versions(call: Call) -> Reply:
    """Handle GET of the versions of a datastore."""
    datastore = _found(call.ids[0])
    views = [_version_view(call, datastore, name, alone=True) for name in datastore.versions]
    return Reply(200, {"versions": views})


def show_version(call: Call) -> Reply:
    """Handle GET of a version, by its id or name; its datastore may be left out of the path."""
    *of, name = call.ids
    for datastore in [_found(of[0])] if of else DATASTORES:
        version = _version(datastore, name)
        if version is not None and (of or name == datastore.version_id(version)):
            return Reply(200, {"version": _version_view(call, datastore, version, alone=True)})
    raise missing(name)


def flavor_of(call: Call, flavor_id: str) -> Resource:
    """Return the flavor of the compute service with this id. Raises Refusal 400."""
    flavor = call.cloud.store.get(tables.FLAVORS, flavor_id)
    if flavor is None:
        raise bad(f"Flavor {flavor_id} cannot be found.")
    return flavor


def _flavor(call: Call, resource: Resource) -> Body:
    return {
        "id": int(resource.id) if resource.id.isdecimal() else None,
        "str_id": resource.id,
        "links": links(call, "flavors", resource.id),
        **{name: resource.body[name] for name in ("name", "ram", "vcpus", "disk")},
    }


def flavors(call: Call) -> Reply:
    """Handle GET of the public flavors."""
    rows = call.cloud.store.all(tables.FLAVORS)
    public = [flavor for flavor in rows if flavor.body.get("os-flavor-access:is_public", True)]
    return Reply(200, {"flavors": [_flavor(call, flavor) for flavor in public]})


def flavor(call: Call) -> Reply:
    """Handle GET of a flavor."""
    chosen = call.cloud.store.get(tables.FLAVORS, call.ids[0])
    if chosen is None:
        raise missing(call.ids[0])
    return Reply(200, {"flavor": _flavor(call, chosen)})


ROUTES: list[Route] = [
    ("GET", "/v1.0/datastores", datastores),
    ("GET", "/v1.0/datastores/{}", show),
    ("GET", "/v1.0/datastores/{}/versions", versions),
    ("GET", "/v1.0/datastores/{}/versions/{}", show_version),
    ("GET", "/v1.0/datastores/versions/{}", show_version),
    ("GET", "/v1.0/flavors", flavors),
    ("GET", "/v1.0/flavors/{}", flavor),
]
