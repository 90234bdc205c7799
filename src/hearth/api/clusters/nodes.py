"""The route from which nodes fetch their credential.

It needs no token but the secret of the cluster's nodes, which Hearth gives only to nodes.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters.context import services_of
from hearth.service.clusters.identity import NodeIdentity
from hearth.service.clusters.node_url import HEADER, QUERY, role_of
from hearth.store.clusters import clusters

PATH = "/nodes"


async def credential(request: Request) -> Response:
    """GET /v1/nodes/{cluster}: the credential with which the nodes of a cluster log in.

    The secret is in a header or, from a program of a node that does not know the header, in the
    query. Nodes of clusters that were created by earlier versions have it in the path.
    """
    services, path = services_of(request), request.path_params
    secret = (
        request.headers.get(HEADER) or request.query_params.get(QUERY) or path.get("signature", "")
    )
    record = await services.store.read(lambda tx: clusters.load(tx, path["cluster"]))
    role = None
    if record is not None:
        role = role_of(services, record.cluster.uuid, record.cluster.identity_id, secret)
    if record is None or role is None:
        raise HTTPException(404, "No credential exists at this URL. Check the URL.")
    env = await NodeIdentity(services).env_for_nodes(record.cluster)
    return JSONResponse(dict(env), headers={"Cache-Control": "no-store"})
