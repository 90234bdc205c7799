"""Handlers of the routes for certificates and credentials of clusters."""

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters import view
from hearth.api.clusters.bodies import CERTIFICATE
from hearth.api.clusters.context import argument, body, caller_of, services_of
from hearth.clusters.objects import Cluster
from hearth.clusters.requests import CertificateRequest
from hearth.service.clusters.access import demand
from hearth.service.clusters.certificates import ca_certificate, signed
from hearth.service.clusters.find import cluster_to_sign_for, find_cluster
from hearth.service.clusters.node_url import HEADER
from hearth.service.clusters.rotate import rotate_ca, rotate_credential


async def show(request: Request) -> Response:
    """Show the certificate of a certificate authority of a cluster.

    It is the authority in `ca_cert_type`: `etcd`, `front_proxy`, or, for any other value, the main
    one. While authorities are being replaced, the response has the old and the new certificate.
    """
    cluster = await _cluster(request)
    services, caller = services_of(request), caller_of(request)
    pem = await ca_certificate(services, caller, cluster, argument(request, "ca_cert_type"))
    return JSONResponse(view.certificate(request, cluster, pem))


async def sign(request: Request) -> Response:
    """Sign a certificate request with a certificate authority of a cluster."""
    signing = await body(request, CERTIFICATE, CertificateRequest)
    services, caller = services_of(request), caller_of(request)
    cluster = await cluster_to_sign_for(services, caller, signing.cluster_uuid)
    csr, authority = signing.csr, signing.ca_cert_type
    proof = request.headers.get(HEADER, "")
    pem = await signed(services, caller, cluster, csr, authority, proof)
    certificate = view.certificate(request, cluster, pem, csr, authority)
    return JSONResponse(certificate, status_code=201)


async def rotate(request: Request) -> Response:
    """Replace the certificate authorities of a cluster. The old certificates stay valid until all
    nodes have new ones.
    """
    cluster = await _cluster(request)
    services, caller = services_of(request), caller_of(request)
    await demand(services, caller, "certificate:rotate_ca", cluster)
    await rotate_ca(services, caller, cluster)
    return JSONResponse({"uuid": cluster.uuid}, status_code=202)


async def rotate_nodes(request: Request) -> Response:
    """Replace the credential of the nodes of a cluster."""
    cluster = await _cluster(request)
    services, caller = services_of(request), caller_of(request)
    await demand(services, caller, "credential:rotate", cluster)
    await rotate_credential(services, caller, cluster)
    return JSONResponse({"uuid": cluster.uuid}, status_code=202)


async def _cluster(request: Request) -> Cluster:
    return await find_cluster(
        services_of(request), caller_of(request), request.path_params["ident"]
    )
