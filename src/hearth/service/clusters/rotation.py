"""Replace the certificates of a cluster while its nodes keep working.

A rotation has phases. The conductor begins each phase:

1. `begin` creates new key pairs. Then nodes that fetch the certificate of an authority get those of
   the old and the new authority, and the old one signs.
2. When all nodes trust both authorities, `issue` lets the new one sign.
3. When all nodes have new certificates, `finish` stores the new references in the cluster and
   deletes the old key pairs.

Before `finish`, `abandon` ends the rotation: it deletes the new key pairs, and the cluster keeps
the old ones. Every step can be repeated. Source: docs/spec/clusters.md, section 10.
"""

from collections.abc import Callable

from msgspec import structs
from msgspec.structs import replace

from hearth.clusters.objects import Cluster
from hearth.service.clusters.certificates import (
    KINDS,
    drop_key_pairs,
    drop_kinds,
    make_missing,
    rotation_of,
    suffix_of,
)
from hearth.service.services import Services
from hearth.store.clusters import key_pairs
from hearth.store.clusters.key_pairs import DROP, ISSUE, MAKING, TRUST, Rotation
from hearth.store.database import Tx

Save = Callable[[Tx, Cluster], None]
"""A function that stores a cluster with its changed references in a transaction."""


async def begin(services: Services, cluster: Cluster) -> None:
    """Create new key pairs in addition to those of the cluster, and store the rotation.

    From then on, nodes get the certificates of the old and the new authorities. A repeated call
    continues an interrupted one.
    """
    uuid = cluster.uuid
    new = Rotation(uuid, services.new_id(), MAKING, {}, services.clock.now())
    rotation = await services.store.run_once(lambda tx: key_pairs.begin_rotation(tx, new))
    if rotation.phase != MAKING:
        return
    refs = await make_missing(services, cluster, {}, suffix_of(rotation))
    await _change(services, replace(rotation, phase=TRUST, refs=refs))


async def issue(services: Services, cluster: Cluster) -> None:
    """Let the new authorities sign certificates from now on.

    Do nothing unless `begin` has ended and the old authorities still sign.
    """
    rotation = await rotation_of(services, cluster.uuid)
    if rotation is not None and rotation.phase == TRUST:
        await _change(services, replace(rotation, phase=ISSUE))


async def finish(services: Services, cluster: Cluster, save: Save) -> Cluster:
    """Give the cluster its new references, store it with `save`, and delete the old key pairs.

    Return the cluster. Do nothing if it has no rotation, or if `begin` has not ended.
    """
    rotation = await rotation_of(services, cluster.uuid)
    if rotation is None:
        return cluster
    if rotation.phase in (TRUST, ISSUE):
        old = {
            field: ref
            for field in KINDS
            if (ref := getattr(cluster, field)) is not None and ref != rotation.refs.get(field)
        }
        cluster = structs.replace(cluster, **rotation.refs)
        rotation = replace(rotation, phase=DROP, refs=old)
        after, note = cluster, rotation

        def swap(tx: Tx) -> None:
            save(tx, after)
            key_pairs.change_rotation(tx, note)

        await services.store.run(swap)
    if rotation.phase == DROP:
        await _cleared(services, rotation)
    return cluster


async def abandon(services: Services, cluster: Cluster) -> None:
    """End the rotation: keep the old key pairs and delete the new ones."""
    rotation = await rotation_of(services, cluster.uuid)
    if rotation is None:
        return
    if rotation.phase != DROP:
        # references may be missing, so the key pairs are found by name
        if rotation.phase == MAKING:
            await drop_kinds(services, cluster.uuid, suffix_of(rotation))
        rotation = replace(rotation, phase=DROP)
        await _change(services, rotation)
    await _cleared(services, rotation)


async def _cleared(services: Services, rotation: Rotation) -> None:
    """Delete the key pairs that the rotation refers to in its last phase, then the row of the
    rotation.
    """
    await drop_key_pairs(services, rotation.cluster_id, rotation.refs.values())
    await services.store.run(lambda tx: key_pairs.drop_rotation(tx, rotation.cluster_id))


async def _change(services: Services, rotation: Rotation) -> None:
    await services.store.run(lambda tx: key_pairs.change_rotation(tx, rotation))
