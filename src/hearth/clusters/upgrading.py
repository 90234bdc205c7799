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


class Generations(msgspec.Struct, frozen=True, kw_only=True):
    """What older workers booted, as in `worker_generations`: {index: generation} and
    {generation: what it booted}.
    """

    workers: Mapping[str, str] = {}
    booted: Mapping[str, Booted] = {}


class WorkerStack(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of a stack: what new ones boot, and what older ones booted.

    `indexes` are the workers that exist, in ascending order; `temporary` is how many of them exist
    during an upgrade only.
    """

    newest: Booted
    temporary: int = 0
    older: Generations = Generations()
    indexes: Sequence[int] = ()

    def old(self, wanted: Booted) -> list[int]:
        """Return the workers that booted something else."""
        return [index for index in self.indexes if self._booted(index) != wanted]

    def pinned(self, wanted: Booted) -> Generations:
        """Return the generations with which no worker changes when new ones boot `wanted`."""
        workers: dict[str, str] = {}
        booted: dict[str, Booted] = {}
        for index in self.old(wanted):
            found = self._booted(index)
            name = next((name for name, one in booted.items() if one == found), str(len(booted)))
            booted[name], workers[str(index)] = found, name
        return Generations(workers=workers, booted=booted)

    def _booted(self, index: int) -> Booted:
        return self.older.booted.get(self.older.workers.get(str(index), ""), self.newest)


def in_stack(parameters: Mapping[str, Any], indexes: Sequence[int]) -> WorkerStack:
    """Return the workers of a stack from its parameters."""
    try:
        older = msgspec.convert(parameters.get("worker_generations") or {}, Generations)
    except msgspec.ValidationError:  # somebody else wrote it
        older = Generations()
    return WorkerStack(
        newest=Booted(
            str(parameters.get("minion_image") or ""), str(parameters.get("kube_version") or "")
        ),
        temporary=int(parameters.get("temporary_minions") or 0),
        older=older,
        indexes=sorted(indexes),
    )


def next_parameters(
    pinned: Generations,
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
        "worker_generations": msgspec.to_builtins(pinned if extra else Generations()),
        "update_max_batch_size": max(workers, 1),
    }
