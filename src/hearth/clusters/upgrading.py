"""Which workers an upgrade replaces next, and the parameters of their stack meanwhile.

New workers come before old ones go, so a group never has less nodes than it should. The stack keeps
what older workers booted in `worker_generations`, so an update changes no worker but those that the
upgrade removes. Source: spec/clusters.md, section 12, item 4.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Booted(msgspec.Struct, frozen=True):
    """What a worker boots."""

    image: str
    kube_version: str


class WorkerStack(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of a stack: what new ones boot, and older generations, the oldest first.

    `indexes` are the workers that exist, in ascending order; `temporary` is how many of them exist
    during an upgrade only.
    """

    newest: Booted
    temporary: int = 0
    generations: Sequence[Mapping[str, Any]] = ()
    indexes: Sequence[int] = ()

    def old(self, wanted: Booted) -> list[int]:
        """Return the workers that booted something else."""
        return [index for index in self.indexes if self._booted(index) != wanted]

    def pinned(self, wanted: Booted) -> list[Mapping[str, Any]]:
        """Return the generations with which no worker changes when new ones boot `wanted`."""
        after, end = self.indexes[-1] + 1 if self.indexes else 0, 0
        found: list[Mapping[str, Any]] = []
        for one in self.generations:  # an index that is free again belongs to none of them
            below = min(one["below"], after)
            if below > end:
                found.append({**one, "below": below})
                end = below
        if wanted != self.newest and end < after:
            found.append({"below": after, **msgspec.to_builtins(self.newest)})
        return found

    def _booted(self, index: int) -> Booted:
        found = next((one for one in self.generations if index < one["below"]), None)
        return self.newest if found is None else Booted(found["image"], found["kube_version"])


def in_stack(parameters: Mapping[str, Any], indexes: Sequence[int]) -> WorkerStack:
    """Return the workers of a stack from its parameters."""
    generations = parameters.get("worker_generations") or ()
    return WorkerStack(
        newest=Booted(
            str(parameters.get("minion_image") or ""), str(parameters.get("kube_version") or "")
        ),
        temporary=int(parameters.get("temporary_minions") or 0),
        generations=generations if isinstance(generations, list) else (),
        indexes=sorted(indexes),
    )


def next_parameters(
    pinned: Sequence[Mapping[str, Any]],
    *,
    count: int,
    extra: int,
    removed: Sequence[int] = (),
    workers: int,
) -> dict[str, Any]:
    """Return the parameters of the next update: `count` workers and `extra` temporary ones.

    `workers` is how many exist: whatever else differs in them changes at once.
    """
    return {
        "number_of_minions": count + extra,
        "temporary_minions": extra,
        "minions_to_remove": [str(index) for index in removed],
        "worker_generations": list(pinned) if extra else [],
        "update_max_batch_size": max(workers, 1),
    }
