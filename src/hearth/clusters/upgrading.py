"""Which workers an upgrade replaces next, and the parameters of their stack during the upgrade.

New workers are created before old ones are removed, so a group never has too few nodes. The stack
parameter `worker_generations` records the image and version of older workers, so that an update
does not change them. Source: docs/spec/clusters.md, section 12, item 4.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Booted(msgspec.Struct, frozen=True):
    """The image and the Kubernetes version with which a worker was created."""

    image: str
    kube_version: str


def booted_by(parameters: Mapping[str, Any]) -> Booted:
    """Return the image and version that new workers of a stack with these parameters get."""
    names = ("minion_image", "kube_version")
    return Booted(*(str(parameters.get(name) or "") for name in names))


class Generations(msgspec.Struct, frozen=True, kw_only=True):
    """The image and version of older workers, as in the stack parameter `worker_generations`.

    `workers` maps the index of a worker to a generation, `booted` a generation to image and
    version.
    """

    workers: Mapping[str, str] = {}
    booted: Mapping[str, Booted] = {}


class WorkerStack(msgspec.Struct, frozen=True, kw_only=True):
    """The workers in a stack.

    `newest` is the image and version of new workers, `older` those of older workers. `indexes` has
    the indexes of all workers in ascending order; `temporary` is how many of them exist only during
    an upgrade.
    """

    newest: Booted
    temporary: int = 0
    older: Generations = Generations()
    indexes: Sequence[int] = ()

    def old(self, target: Booted) -> list[int]:
        """Return the indexes of the workers whose image or version is not those of `target`."""
        return [index for index in self.indexes if self._booted(index) != target]

    def pinned(self, target: Booted) -> Generations:
        """Return the generations to store so that existing workers stay unchanged in an update to
        `target`.
        """
        workers: dict[str, str] = {}
        booted: dict[str, Booted] = {}
        for index in self.old(target):
            boot = self._booted(index)
            name = next(
                (name for name, candidate in booted.items() if candidate == boot), str(len(booted))
            )
            booted[name], workers[str(index)] = boot, name
        return Generations(workers=workers, booted=booted)

    def _booted(self, index: int) -> Booted:
        return self.older.booted.get(self.older.workers.get(str(index), ""), self.newest)


def in_stack(parameters: Mapping[str, Any], indexes: Sequence[int]) -> WorkerStack:
    """Return the workers of a stack, from its parameters and the indexes of its workers."""
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
    to_remove: Sequence[int] = (),
    workers: int,
) -> dict[str, Any]:
    """Return the stack parameters of the next step: `count` workers and `extra` temporary ones.

    `pinned` has the old workers that must not change; it is ignored if `extra` is 0. `to_remove`
    has the indexes of workers to remove. `workers` is the number of existing workers, which may all
    change in one batch.
    """
    return {
        "number_of_minions": count + extra,
        "temporary_minions": extra,
        "minions_to_remove": [str(index) for index in to_remove],
        "worker_generations": msgspec.to_builtins(pinned if extra else Generations()),
        "update_max_batch_size": max(workers, 1),
    }
