"""Certificates of clusters: create them for a cluster, show and sign them, and write a kubeconfig.

Source: spec/clusters.md, sections 4.6 and 10.
"""

import asyncio
import base64
import json
import logging
from collections.abc import Iterable, Mapping

from msgspec import structs

from hearth.clusters.objects import Cluster
from hearth.clusters.problems import bad_request, conflict
from hearth.service.caller import Caller
from hearth.service.clusters import notify
from hearth.service.clusters.fence import demand, node_cluster
from hearth.service.clusters.key_store import key_store_of, new_key_store
from hearth.service.clusters.x509 import KeyPair, common_name, in_thread, new_ca, new_client, sign
from hearth.service.services import Services
from hearth.store import key_pairs
from hearth.store.key_pairs import ISSUE, TRUST, Rotation

audit = logging.getLogger("hearth.audit")

MAIN, ETCD, FRONT_PROXY = "ca_cert_ref", "etcd_ca_cert_ref", "front_proxy_ca_cert_ref"
SERVICE = "magnum_cert_ref"
AUTHORITIES: Mapping[str, str] = {MAIN: "ca", ETCD: "etcd-ca", FRONT_PROXY: "front-proxy-ca"}
"""The fields of a cluster that refer to key pairs of authorities, and the kind of each key pair."""
KINDS: Mapping[str, str] = {**AUTHORITIES, SERVICE: "client"}
BY_TYPE: Mapping[str, str] = {"etcd": ETCD, "front_proxy": FRONT_PROXY, "front-proxy": FRONT_PROXY}
"""The authority for each value of `ca_cert_type`; every other value stands for the main
authority.
"""
ADMIN_NAME, ADMIN_GROUP = "admin", "system:masters"
KUBECONFIG_VALID_S = 12 * 3600.0


async def make_all(services: Services, cluster: Cluster) -> Cluster:
    """Return the cluster with the references of its four key pairs; create those that are missing.

    A repeated call finds the key pairs that an earlier call stored. Raises CloudFault.
    """
    known = {field: ref for field in KINDS if (ref := getattr(cluster, field)) is not None}
    return structs.replace(cluster, **await made(services, cluster, known))


async def made(
    services: Services, cluster: Cluster, known: Mapping[str, str], suffix: str = ""
) -> dict[str, str]:
    """Return the references of the four key pairs of a cluster, by field; create missing key pairs.

    `known` are references that are used as they are. All other key pairs are stored under a kind
    that ends with `suffix`.
    """
    store = new_key_store(services, services.clusters)
    options, now = services.clusters.x509, services.clock.now()
    refs = dict(known)

    for field, kind in AUTHORITIES.items():
        if field not in refs and (found := await store.find(cluster.uuid, kind + suffix)):
            refs[field] = found
    missing = [field for field in AUTHORITIES if field not in refs]
    name = cluster.name or cluster.uuid
    new = (in_thread(lambda: new_ca(name, options, now)) for _ in missing)
    for field, pair in zip(missing, await asyncio.gather(*new), strict=True):
        refs[field] = await store.keep(cluster, AUTHORITIES[field] + suffix, pair, now)
    kind = KINDS[SERVICE] + suffix
    client = refs.get(SERVICE) or await store.find(cluster.uuid, kind)
    if client is None:
        ca = await key_pair(services, cluster, refs[MAIN])
        pair = await in_thread(lambda: new_client(ca, ADMIN_NAME, ADMIN_GROUP, options, now))
        client = await store.keep(cluster, kind, pair, now)
    refs[SERVICE] = client
    return refs


async def ca_certificate(
    services: Services, caller: Caller, cluster: Cluster, ca_cert_type: str | None = None
) -> str:
    """Return the certificate of an authority of the cluster, in PEM format.

    While an authority is being replaced, the text has the old and the new certificate; that of the
    authority that signs comes first. Raises Rejected.
    """
    await demand(services, "certificate:get", caller, cluster)
    return await trusted(services, cluster, ca_cert_type)


async def trusted(services: Services, cluster: Cluster, ca_cert_type: str | None = None) -> str:
    """Return the same certificates as `ca_certificate`, without a check of the policy."""
    first, *others = await _authorities(services, cluster, ca_cert_type)
    pairs = [await key_pair(services, cluster, ref) for ref in (first, *others)]
    return "".join(pair.certificate for pair in pairs)


async def signed(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    csr: str,
    ca_cert_type: str | None = None,
) -> str:
    """Return a certificate for a signing request, in PEM format. Raises Rejected.

    If the configuration forces the common name, the subject of a person's certificate is the
    person's name; nodes still choose theirs.
    """
    await demand(services, "certificate:create", caller, cluster)
    subject = None
    if services.clusters.forced_common_name and await node_cluster(services, caller) is None:
        subject = common_name(caller.user_name or caller.user_id)
    ref, *_ = await _authorities(services, cluster, ca_cert_type)
    ca = await key_pair(services, cluster, ref)
    options, now = services.clusters.x509, services.clock.now()
    issued = await in_thread(lambda: sign(csr, ca, options, now, subject=subject))
    serial, ends = issued.serial, issued.not_after
    await _record(services, caller, cluster, ca_cert_type, issued.subject, serial, ends)
    return issued.pem


async def kubeconfig(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    *,
    valid_s: float = KUBECONFIG_VALID_S,
) -> str:
    """Return a kubeconfig with a new key and a client certificate that is valid for a short time.

    Raises Rejected, also if the cluster has no address yet.
    """
    await demand(services, "certificate:create", caller, cluster)
    if await node_cluster(services, caller) is not None:
        raise bad_request("A node needs no kubeconfig. Sign a request of its own.")
    if not cluster.api_address:
        raise conflict("The cluster has no API address yet. Wait until it is created.")
    ref, *_ = await _authorities(services, cluster, None)
    ca = await key_pair(services, cluster, ref)
    options, now = services.clusters.x509, services.clock.now()
    name = caller.user_name or caller.user_id
    group = None if services.clusters.forced_common_name else ADMIN_GROUP
    pair = await in_thread(lambda: new_client(ca, name, group, options, now, valid_s=valid_s))
    words = f"kubeconfig of {name}"
    await _record(services, caller, cluster, None, words, None, now + valid_s)
    return kubeconfig_text(cluster, await trusted(services, cluster), pair)


def kubeconfig_text(cluster: Cluster, ca_pem: str, pair: KeyPair) -> str:
    """Return the text of a kubeconfig, as JSON: every JSON text is valid YAML, and needs no
    quoting.
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
    """Return a key pair of the cluster. Raises Rejected or CloudFault if it is lost."""
    return await key_store_of(services, reference).get(cluster.uuid, reference)


async def drop_all(services: Services, cluster: Cluster) -> None:
    """Delete all key pairs of a cluster: those of its four references, and those of a rotation."""
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
    """Delete key pairs by their kinds, because an interrupted attempt did not store their
    references.
    """
    store = new_key_store(services, services.clusters)
    for kind in KINDS.values():
        await store.drop_kind(cluster_id, kind + suffix)


async def rotation_of(services: Services, cluster_id: str) -> Rotation | None:
    """Return the rotation of the cluster's certificates that is in progress, or None."""
    return await services.store.read(lambda tx: key_pairs.rotation(tx, cluster_id))


def suffix_of(rotation: Rotation) -> str:
    """Return the suffix that the kinds of the new key pairs have during a rotation."""
    return f".{rotation.id}"


async def _authorities(services: Services, cluster: Cluster, ca_cert_type: str | None) -> list[str]:
    """Return the references of an authority and, during a rotation, of the authority that replaces
    it or that it replaces.

    The reference of the authority that signs comes first.
    """
    field = BY_TYPE.get(ca_cert_type or "", MAIN)
    own = getattr(cluster, field)
    if own is None:
        raise conflict("The cluster has no certificates yet. Wait until they have been created.")
    rotation = await rotation_of(services, cluster.uuid)
    new = None if rotation is None else rotation.refs.get(field)
    if rotation is None or new is None or new == own or rotation.phase not in (TRUST, ISSUE):
        return [own]
    return [new, own] if rotation.phase == ISSUE else [own, new]


async def _record(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    ca_cert_type: str | None,
    subject: str,
    serial: int | None,
    not_after: float,
) -> None:
    """Write an audit line and a notification. The line is JSON, because a subject may contain line
    breaks.
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
