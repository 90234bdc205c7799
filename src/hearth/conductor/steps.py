"""The steps of each kind of task, in order. Each step stores the name of the next one.

Every step can be repeated. Source: docs/spec/clusters.md, 4.2 and section 7.
"""

from collections.abc import Awaitable, Callable, Mapping

from hearth.clusters.task_content import (
    CleanUp,
    CreateCluster,
    CreateGroup,
    DeleteCluster,
    DeleteGroup,
    Resize,
    Retry,
    RotateCa,
    RotateCredential,
    TaskContent,
    UpgradeCluster,
)
from hearth.conductor import balancers, create, removal, retry, rotation, upgrade
from hearth.conductor.resize import resize
from hearth.conductor.work import Work

Step = Callable[[Work], Awaitable[None]]

STEPS: Mapping[type[TaskContent], Mapping[str, Step]] = {
    CreateCluster: {
        "identity": create.identity,
        "keys": create.keys,
        "stack": create.stack,
    },
    Resize: {"stack": resize},
    UpgradeCluster: {
        "masters": upgrade.masters,
        "masters_done": upgrade.masters_done,
        "workers": upgrade.workers,
        "workers_done": upgrade.workers_done,
        "ready": upgrade.ready,
        "drain": upgrade.drain,
    },
    DeleteCluster: {
        "balancers": balancers.remove,
        "balancers_gone": balancers.gone,
        "detach": removal.detach,
        "stacks": removal.all_stacks,
    },
    CleanUp: {"keys": removal.keys, "identity": removal.identity, "rows": removal.rows},
    Retry: {"attempt": retry.attempt},
    CreateGroup: {"stack": create.group_stack},
    DeleteGroup: {"stack": removal.group_stack},
    RotateCa: {
        "begin": rotation.begin,
        "trusted": rotation.trusted,
        "issued": rotation.issued,
    },
    RotateCredential: {
        "identity": rotation.identity,
        "stack": rotation.stack,
        "done": rotation.done,
    },
}
