"""Find the cloud objects that clusters and templates name, with the caller's token.

An object is searched by its id, and then by its name; a key pair only by its name. If several
objects have the name, the function raises Rejected. Source: tests/facts/magnum/errors.json.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import CloudFault, NotFound
from hearth.clusters.problems import ClusterProblem, bad_request, conflict
from hearth.model.problem import Rejected, rejection


async def image(cloud: Cloud, ident: str) -> Body:
    """Return the image with this id or name. Raises Rejected if there is none, and CloudFault."""
    member = await _member(cloud, "image", f"/v2/images/{quote(ident, safe='')}")
    if member is not None:
        return member
    candidates = await cloud.listing("image", f"/v2/images?name={quote(ident, safe='')}")
    return _only("Image", ident, _with_name(candidates, ident))


async def flavor(cloud: Cloud, ident: str) -> Body:
    """Return the flavor with this id or name. Raises Rejected if there is none, and CloudFault."""
    member = await _member(cloud, "compute", f"/flavors/{quote(ident, safe='')}", "flavor")
    if member is not None:
        return member
    candidates = await cloud.listing("compute", "/flavors/detail")
    return _only("Flavor", ident, _with_name(candidates, ident))


async def keypair(cloud: Cloud, name: str) -> Body:
    """Return the key pair with this name. Raises Rejected (404) if there is none, and
    CloudFault.
    """
    member = await _member(cloud, "compute", f"/os-keypairs/{quote(name, safe='')}", "keypair")
    if member is None:
        raise rejection(ClusterProblem, 404, f"No key pair {name}. Check its name.")
    return member


async def network(cloud: Cloud, ident: str, *, external: bool = False) -> Body:
    """Return the network with this id or name. Raises Rejected if there is none, and CloudFault.

    If `external` is true, a network that is not external is also rejected.
    """
    noun = "External network" if external else "Network"
    member = await _of_neutron(cloud, "networks", noun, ident)
    if external and not member.get("router:external"):
        raise bad_request(f"Network {ident} is not external. Use an external network.")
    return member


async def subnet(cloud: Cloud, ident: str) -> Body:
    """Return the subnet with this id or name. Raises Rejected if there is none, and CloudFault."""
    return await _of_neutron(cloud, "subnets", "Subnet", ident)


async def project_exists(cloud: Cloud, project_id: str) -> bool:
    """Return whether a project with this id exists in Keystone. Raises CloudFault."""
    path = f"/v3/projects/{quote(project_id, safe='')}"
    return await _member(cloud, "identity", path, "project") is not None


async def _of_neutron(cloud: Cloud, collection: str, noun: str, ident: str) -> Body:
    for key in ("id", "name"):
        path = f"/v2.0/{collection}?{key}={quote(ident, safe='')}"
        if members := [
            member for member in await cloud.listing("network", path) if member[key] == ident
        ]:
            return _only(noun, ident, members)
    raise _unknown(noun, ident)


async def _member(cloud: Cloud, service: str, path: str, root: str | None = None) -> Body | None:
    """Return the object with this id, or None. A response 400 also means None.

    Services respond with 400 if the text cannot be an id.
    """
    try:
        answer = await cloud.request(service, "GET", path)
    except CloudFault as fault:
        if fault.status == 400 or isinstance(fault, NotFound):
            return None
        raise
    body: Any = answer.body if root is None else answer.part(root)
    return body if isinstance(body, dict) else None


def _with_name(members: Iterable[Body], name: str) -> list[Body]:
    return [member for member in members if member.get("name") == name]


def _only(noun: str, ident: str, members: list[Body]) -> Body:
    if not members:
        raise _unknown(noun, ident)
    if len(members) > 1:
        raise conflict(f"Several objects have the name {ident}. Use the id of the {noun.lower()}.")
    return members[0]


def _unknown(noun: str, ident: str) -> Rejected:
    return bad_request(f"{noun} {ident} does not exist. Check its name or id.")
