"""Certificates of clusters: create them for a cluster, show and sign them, and write a kubeconfig.

Source: docs/spec/clusters.md, sections 4.6 and 10.
"""

import asyncio
import base64
import json
import logging
from collections.abc import Iterable, Mapping

from msgspec import structs

from hearth.clusters.objects import MASTER, Cluster
from hearth.clusters.problems import bad_request, conflict, forbidden
from hearth.service.caller import Caller
from hearth.service.clusters import notify, worker_request
from hearth.service.clusters.fence import demand, node_cluster, node_identity
from hearth.service.clusters.key_store import key_store_of, new_key_store
from hearth.service.clusters.node_url import role_of
from hearth.service.clusters.x509 import KeyPair, common_name, new_ca, new_client, sign
from hearth.service.services import Services
from hearth.store.clusters import key_pairs
from hearth.store.clusters.identities import Identity
from hearth.store.clusters.key_pairs import ISSUE, TRUST, Rotation

audit = logging.getLogger("hearth.audit")

MAIN, ETCD, FRONT_PROXY = "ca_cert_ref", "etcd_ca_cert_ref", "front_proxy_ca_cert_ref"
SERVICE = "magnum_cert_ref"
AUTHORITIES: Mapping[str, str] = {MAIN: "ca", ETCD: "etcd-ca", FRONT_PROXY: "front-proxy-ca"}
"""The kind of the key pair of each certificate authority, by the field of the cluster that refers
to it.
"""
KINDS: Mapping[str, str] = {**AUTHORITIES, SERVICE: "client"}
BY_TYPE: Mapping[str, str] = {"etcd": ETCD, "front_proxy": FRONT_PROXY, "front-proxy": FRONT_PROXY}
"""The field of the authority for each value of `ca_cert_type`. All other values stand for the main
authority.
"""
ADMIN_NAME, ADMIN_GROUP = "admin", "system:masters"
KUBECONFIG_VALID_S = 12 * 3600.0


async def make_all(services: Services, cluster: Cluster) -> Cluster:
    """Create the four key pairs of a cluster, and return the cluster with references to them.

    Key pairs that an earlier call has stored are used again. Raises CloudFault.
    """
    refs = {field: ref for field in KINDS if (ref := getattr(cluster, field)) is not None}
    return structs.replace(cluster, **await make_missing(services, cluster, refs))


async def make_missing(
    services: Services, cluster: Cluster, old_refs: Mapping[str, str], suffix: str = ""
) -> dict[str, str]:
    """Create the missing key pairs of a cluster; return the references of all four, by field.

    `old_refs` are references that are kept. New key pairs are stored under their kind followed by
    `suffix`.
    """
    store = new_key_store(services, services.clusters)
    options, now = services.clusters.x509, services.clock.now()
    refs = dict(old_refs)

    for field, kind in AUTHORITIES.items():
        if field not in refs and (ref := await store.find(cluster.uuid, kind + suffix)):
            refs[field] = ref
    absent = [field for field in AUTHORITIES if field not in refs]
    name = cluster.name or cluster.uuid
    project = cluster.project_id
    run = services.keys.run
    new = (run(project, lambda: new_ca(name, options, now), slow=True) for _ in absent)
    for field, pair in zip(absent, await asyncio.gather(*new), strict=True):
        refs[field] = await store.keep(cluster, AUTHORITIES[field] + suffix, pair, now)
    kind = KINDS[SERVICE] + suffix
    client = refs.get(SERVICE) or await store.find(cluster.uuid, kind)
    if client is None:
        ca = await key_pair(services, cluster, refs[MAIN])
        pair = await run(
            project, lambda: new_client(ca, ADMIN_NAME, ADMIN_GROUP, options, now), slow=True
        )
        client = await store.keep(cluster, kind, pair, now)
    refs[SERVICE] = client
    return refs


async def ca_certificate(
    services: Services, caller: Caller, cluster: Cluster, ca_cert_type: str | None = None
) -> str:
    """Return the certificate of an authority of the cluster, in PEM format.

    `ca_cert_type` selects the authority, see `BY_TYPE`; None stands for the main one. While an
    authority is being replaced, the text contains the old and the new certificate; the one that
    signs comes first. Raises Rejected if the caller may not read it, or if the cluster has no
    certificates yet.
    """
    await demand(services, "certificate:get", caller, cluster)
    return await trusted(services, cluster, ca_cert_type)


async def trusted(services: Services, cluster: Cluster, ca_cert_type: str | None = None) -> str:
    """Return the same certificates as `ca_certificate`, without a policy check."""
    first, *other_refs = await _authorities(services, cluster, ca_cert_type)
    pairs = [await key_pair(services, cluster, ref) for ref in (first, *other_refs)]
    return "".join(pair.certificate for pair in pairs)


async def signed(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    csr: str,
    ca_cert_type: str | None = None,
    proof: str = "",
) -> str:
    """Return a new certificate for the signing request `csr`, in PEM format. Raises Rejected.

    `ca_cert_type` selects the authority that signs it, as in `ca_certificate`. If the configuration
    forces the common name, a certificate for a user has the name of that user. `proof` is the
    secret with which a node shows that it is a master. Masters choose their names, and workers only
    get what `worker_request` describes.
    """
    await demand(services, "certificate:create", caller, cluster)
    node = await node_identity(services, caller)
    subject, limited, options = None, None, services.clusters.x509
    if node is None and services.clusters.forced_common_name:
        subject = common_name(caller.user_name or caller.user_id)
    if node is not None and _is_worker(services, node, proof):
        if BY_TYPE.get(ca_cert_type or "", MAIN) != MAIN:
            raise forbidden("A worker only gets certificates of the main authority.")
        limited, options = worker_request.limited, worker_request.options_of_worker(options)
    ref, *_ = await _authorities(services, cluster, ca_cert_type)
    ca = await key_pair(services, cluster, ref)
    now = services.clock.now()
    issued = await services.keys.run(
        caller.project_id,
        lambda: sign(csr, ca, options, now, subject=subject, limited=limited),
    )
    serial, ends = issued.serial, issued.not_after
    await _record(services, caller, cluster, ca_cert_type, issued.subject, serial, ends)
    return issued.pem


def _is_worker(services: Services, node: Identity, proof: str) -> bool:
    """Return whether a node is a worker; nodes of stacks of earlier versions count as masters."""
    if not node.secrets.roles:
        return False
    return role_of(services, node.cluster_id, node.id, proof) != MASTER


async def kubeconfig(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    *,
    valid_s: float = KUBECONFIG_VALID_S,
) -> str:
    """Return a kubeconfig with a new key and a client certificate that names the caller.

    It is valid for `valid_s` seconds, but not longer than its authority. It gives all rights in the
    cluster, unless the configuration forces the common name. Raises Rejected if the caller is a
    node or may not sign, or if the cluster has no API address yet.
    """
    await demand(services, "certificate:create", caller, cluster)
    if await node_cluster(services, caller) is not None:
        raise bad_request("A node cannot get a kubeconfig. Send a signing request instead.")
    if not cluster.api_address:
        raise conflict("The cluster has no API address yet. Wait until it is created.")
    ref, *_ = await _authorities(services, cluster, None)
    ca = await key_pair(services, cluster, ref)
    options, now = services.clusters.x509, services.clock.now()
    name = caller.user_name or caller.user_id
    group = None if services.clusters.forced_common_name else ADMIN_GROUP
    pair = await services.keys.run(
        caller.project_id, lambda: new_client(ca, name, group, options, now, valid_s=valid_s)
    )
    label = f"kubeconfig of {name}"
    await _record(services, caller, cluster, None, label, None, now + valid_s)
    return kubeconfig_text(cluster, await trusted(services, cluster), pair)


def kubeconfig_text(cluster: Cluster, ca_pem: str, pair: KeyPair) -> str:
    """Return a kubeconfig as JSON, which is also valid YAML.

    `ca_pem` has the certificates of the authorities that sign for the cluster's API. `pair` is the
    key and the certificate of the user.
    """
    name = cluster.name or cluster.uuid
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": name,
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": cluster.api_address,
                    "certificate-authority-data": _base64(ca_pem),
                },
            }
        ],
        "users": [
            {
                "name": ADMIN_NAME,
                "user": {
                    "client-certificate-data": _base64(pair.certificate),
                    "client-key-data": _base64(pair.private_key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": ADMIN_NAME}}],
    }
    return json.dumps(body, indent=2) + "\n"


async def service_client(services: Services, cluster: Cluster) -> KeyPair:
    """Return the client certificate with which Hearth calls the cluster's API."""
    assert cluster.magnum_cert_ref is not None
    return await key_pair(services, cluster, cluster.magnum_cert_ref)


async def key_pair(services: Services, cluster: Cluster, reference: str) -> KeyPair:
    """Return a key pair of the cluster. Raises Rejected if it does not exist, or CloudFault."""
    return await key_store_of(services, reference).get(cluster.uuid, reference)


async def drop_all(services: Services, cluster: Cluster) -> None:
    """Delete all key pairs of a cluster, including those of a rotation in progress."""
    rotation = await rotation_of(services, cluster.uuid)
    refs = [ref for field in KINDS if (ref := getattr(cluster, field)) is not None]
    await drop_key_pairs(services, cluster.uuid, refs)
    await drop_kinds(services, cluster.uuid)
    if rotation is not None:
        await drop_key_pairs(services, cluster.uuid, rotation.refs.values())
        await drop_kinds(services, cluster.uuid, suffix_of(rotation))
    await services.store.run(lambda tx: key_pairs.drop_of_cluster(tx, cluster.uuid))


async def drop_key_pairs(services: Services, cluster_id: str, refs: Iterable[str]) -> None:
    """Delete key pairs by their references."""
    for ref in refs:
        await key_store_of(services, ref).drop(cluster_id, ref)


async def drop_kinds(services: Services, cluster_id: str, suffix: str = "") -> None:
    """Delete key pairs by their kinds; this finds those whose references an interrupted call did
    not store.
    """
    store = new_key_store(services, services.clusters)
    for kind in KINDS.values():
        await store.drop_kind(cluster_id, kind + suffix)


async def rotation_of(services: Services, cluster_id: str) -> Rotation | None:
    """Return the certificate rotation of the cluster that is in progress, or None."""
    return await services.store.read(lambda tx: key_pairs.rotation(tx, cluster_id))


def suffix_of(rotation: Rotation) -> str:
    """Return the suffix with which the new key pairs are stored during this rotation."""
    return f".{rotation.id}"


async def _authorities(services: Services, cluster: Cluster, ca_cert_type: str | None) -> list[str]:
    """Return the reference of an authority; during a rotation, the references of the old and the
    new one.

    The reference of the authority that signs comes first. Raises Rejected if the cluster has no
    certificates yet.
    """
    field = BY_TYPE.get(ca_cert_type or "", MAIN)
    current = getattr(cluster, field)
    if current is None:
        raise conflict("The cluster has no certificates yet. Wait until they have been created.")
    rotation = await rotation_of(services, cluster.uuid)
    new = None if rotation is None else rotation.refs.get(field)
    if rotation is None or new is None or new == current or rotation.phase not in (TRUST, ISSUE):
        return [current]
    return [new, current] if rotation.phase == ISSUE else [current, new]


async def _record(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    ca_cert_type: str | None,
    subject: str,
    serial: int | None,
    not_after: float,
) -> None:
    """Write a line to the audit log and send a notification.

    The line is JSON, because a subject may contain line breaks.
    """
    about = {
        "authority": KINDS[BY_TYPE.get(ca_cert_type or "", MAIN)],
        "subject": subject,
        "serial": None if serial is None else f"{serial:x}",
        "not_after": int(not_after),
    }
    facts = {
        "event": "certificate signed",
        "cluster": cluster.uuid,
        **about,
        "user": caller.user_id,
        "project": caller.project_id,
        "delegation": caller.delegation_id,
        "request": caller.request_id,
    }
    audit.info("%s", json.dumps(facts))
    await notify.signed(services, caller, cluster, **about)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
