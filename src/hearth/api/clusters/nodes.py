"""The route from which nodes fetch their credential.

Its URL is secret: Hearth gives it only to nodes.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters.context import services_of
from hearth.service.clusters.identity import NodeIdentity
from hearth.service.clusters.node_url import proves
from hearth.store import clusters

PATH = "/nodes"


async def credential(request: Request) -> Response:
    """GET /v1/nodes/{cluster}/{signature}: the credential with which the nodes of a cluster log
    in.
    """
    services, path = services_of(request), request.path_params
    found = await services.store.read(lambda tx: clusters.whole(tx, path["cluster"]))
    if found is None or not proves(services, found.cluster, path["signature"]):
        raise HTTPException(404, "No credential exists at this URL. Check the URL.")
    env = await NodeIdentity(services).env_for_nodes(found.cluster)
    return JSONResponse(dict(env), headers={"Cache-Control": "no-store"})
