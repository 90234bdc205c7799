"""Replace the certificates of a cluster while its nodes keep working.

A rotation has phases, which the conductor moves on:

1. `begin` makes new key pairs. Then nodes that fetch the authority get both, and the old one signs.
2. When all nodes trust both, `issue`: the new authority signs.
3. When all nodes have new certificates, `finish`: the cluster has the new references, and the old
   key pairs are deleted.

Until then `abandon` deletes the new key pairs, and the old ones are still the cluster's. Every step
can be run again. Source: spec/clusters.md, section 10.
"""

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from hearth.clusters.objects import Cluster
from hearth.service.clusters.certificates import (
    KINDS,
    drop_key_pairs,
    drop_kinds,
    made,
    rotation_of,
    suffix_of,
)
from hearth.service.services import Services
from hearth.store import key_pairs
from hearth.store.database import Tx
from hearth.store.key_pairs import DROP, ISSUE, MAKING, TRUST, Rotation

Save = Callable[[Tx, Cluster], None]
"""Stores the references of a cluster in a transaction."""


async def begin(services: Services, cluster: Cluster) -> None:
    """Create new key pairs beside those of the cluster, and let nodes trust both authorities."""
    uuid = cluster.uuid
    new = Rotation(uuid, services.new_id(), MAKING, {}, services.clock.now())
    rotation = await services.store.run_once(lambda tx: key_pairs.begin_rotation(tx, new))
    if rotation.phase != MAKING:
        return
    refs = await made(services, cluster, {}, suffix_of(rotation))
    await _change(services, replace(rotation, phase=TRUST, refs=refs))


async def issue(services: Services, cluster: Cluster) -> None:
    """Let the new authority sign certificates from now on."""
    rotation = await rotation_of(services, cluster.uuid)
    if rotation is not None and rotation.phase == TRUST:
        await _change(services, replace(rotation, phase=ISSUE))


async def finish(services: Services, cluster: Cluster, save: Save) -> Cluster:
    """Return the cluster with the new references, which `save` stores; delete the old key pairs."""
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
        if rotation.phase == MAKING:  # references may be missing: names find the key pairs
            await drop_kinds(services, cluster.uuid, suffix_of(rotation))
        rotation = replace(rotation, phase=DROP)
        await _change(services, rotation)
    await _cleared(services, rotation)


async def _cleared(services: Services, rotation: Rotation) -> None:
    """Delete the key pairs that the rotation names in its last phase, then the row of the
    rotation.
    """
    await drop_key_pairs(services, rotation.cluster_id, rotation.refs.values())
    await services.store.run(lambda tx: key_pairs.drop_rotation(tx, rotation.cluster_id))


async def _change(services: Services, changed: Rotation) -> None:
    await services.store.run(lambda tx: key_pairs.change_rotation(tx, changed))
