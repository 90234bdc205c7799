"""The workers that an upgrade replaces next, and the parameters of their stack meanwhile.

New workers come before old ones go, so a group never has fewer nodes than it should. The parameter
`worker_generations` records what older workers booted, so an update changes only the workers that
the upgrade removes. Source: spec/clusters.md, section 12, item 4.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Booted(msgspec.Struct, frozen=True):
    """The image and the version of Kubernetes with which a worker was created."""

    image: str
    kube_version: str


def booted_by(parameters: Mapping[str, Any]) -> Booted:
    """Return what new workers of a stack with these parameters boot."""
    names = ("minion_image", "kube_version")
    return Booted(*(str(parameters.get(name) or "") for name in names))


class Generations(msgspec.Struct, frozen=True, kw_only=True):
    """What older workers booted, as in the parameter `worker_generations`.

    `workers` maps the index of a worker to its generation, and `booted` maps a generation to what
    its workers booted.
    """

    workers: Mapping[str, str] = {}
    booted: Mapping[str, Booted] = {}


class WorkerStack(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of a stack.

    `newest` is what new workers boot, `older` what older workers booted. `indexes` are
    the workers that exist, in ascending order; `temporary` is how many of them exist during an
    upgrade only.
    """

    newest: Booted
    temporary: int = 0
    older: Generations = Generations()
    indexes: Sequence[int] = ()

    def old(self, wanted: Booted) -> list[int]:
        """Return the indexes of the workers that booted something else."""
        return [index for index in self.indexes if self._booted(index) != wanted]

    def pinned(self, wanted: Booted) -> Generations:
        """Return the generations that keep existing workers unchanged if new ones boot `wanted`."""
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
        newest=booted_by(parameters),
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

    `workers` is the number of existing workers: changes that no worker generation prevents reach
    all of them in one batch.
    """
    return {
        "number_of_minions": count + extra,
        "temporary_minions": extra,
        "minions_to_remove": [str(index) for index in removed],
        "worker_generations": msgspec.to_builtins(pinned if extra else Generations()),
        "update_max_batch_size": max(workers, 1),
    }
