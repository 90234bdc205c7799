"""Upgrade a cluster: replace the masters one by one, then the workers in batches.

The nodes of a group are replaced by one update of its stack, whose rolling policy sets the size of
a batch. The upgrade stops at the first failure; the same request resumes it.
Source: spec/clusters.md, section 12, item 4.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hearth.clusters.definition import stack_request, upgrade_parameters
from hearth.clusters.objects import ClusterTemplate, NodeGroup
from hearth.conductor import stacks
from hearth.conductor.facts import facts_of
from hearth.conductor.waiting import settled, why
from hearth.conductor.work import Changed, Work
from hearth.store import clusters
from hearth.store.clusters import Whole


async def masters(work: Work) -> None:
    """Update the control plane, and with it what new workers of the default group boot."""
    group = _default(work)
    if group is None:
        await work.commit("workers")
        return
    await _updated(work, group, "masters_done", without="minion_image")


async def masters_done(work: Work) -> None:
    """Wait for the masters."""
    await _done(work, [_default(work)], "masters_done", "workers")


async def workers(work: Work) -> None:
    """Update the workers of each group that is upgraded, one group after the other."""
    group = _next(work)
    if group is None:
        await work.commit(None, lambda found: _followed(work, found))
        return
    await _updated(work, group, "workers_done")


async def workers_done(work: Work) -> None:
    """Wait for the workers of the group that is being updated."""
    group = _next(work)
    done = [*work.task.state.get("done", ()), group.uuid] if group is not None else []
    await _done(work, [group], "workers_done", "workers", {"done": done})


def _default(work: Work) -> NodeGroup | None:
    wanted = set(work.task.args["groups"])
    return next((g for g in work.whole.defaults if g.uuid in wanted), None)


def _next(work: Work) -> NodeGroup | None:
    """Return the next group whose workers must be updated: a default group stands for both."""
    wanted, done = set(work.task.args["groups"]), set(work.task.state.get("done", ()))
    worker = work.whole.defaults[-1]
    for group in (worker, *work.whole.extras):
        if group.uuid in wanted and group.uuid not in done:
            return group
    return None


async def _template(work: Work) -> ClusterTemplate:
    uuid = work.task.args["template"]
    found = await work.services.store.read(lambda tx: clusters.template(tx, uuid))
    return found or work.whole.template


async def _updated(work: Work, group: NodeGroup, step: str, *, without: str = "") -> None:
    """Update the stack of a group to the new template, except one parameter; go on to `step`."""
    whole, args = work.whole, work.task.args
    template = await _template(work)
    extra = None if group.is_default else group
    facts = await facts_of(work, extra)
    asked = stack_request(
        template, whole.cluster, whole.groups, extra,
        files=work.files, config=work.services.clusters, facts=facts,
    )  # fmt: skip
    changed = upgrade_parameters(
        template, work.cluster, group, batch_size=args["batch"],
        facts=dataclasses.replace(facts, kube_version=args.get("version") or ""),
    )  # fmt: skip
    changed.pop(without, None)
    current = {**asked.parameters, **changed}
    current.pop(without, None)
    asked = dataclasses.replace(asked, parameters=current)
    await stacks.update(work, group, changed, step=step, whole=asked)


async def _done(
    work: Work,
    groups: Sequence[NodeGroup | None],
    here: str,
    step: str,
    state: Mapping[str, Any] | None = None,
) -> None:
    for group in groups:
        if group is None:
            continue
        succeeded = await settled(work, group, here)
        if succeeded is None:
            return
        if not succeeded:
            await work.fail(f"The upgrade of {group.name} stopped: {await why(work, group)}")
            return
    await work.commit(step, state=state)


def _followed(work: Work, found: Whole) -> Changed:
    """Return the cluster with the new template, once all its groups follow it."""
    args = work.task.args
    wanted = set(args["groups"])
    groups = [
        replace(group, image_id=args["image"]) for group in found.groups if group.uuid in wanted
    ]
    cluster = found.cluster
    if any(group.is_default for group in groups):
        cluster = clusters.at(
            cluster,
            cluster_template_id=args["template"],
            coe_version=args.get("version") or cluster.coe_version,
        )
    return cluster, groups
