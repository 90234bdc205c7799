"""The steps of each kind of task, in order. Each step stores the name of the next one.

Every step can be repeated. Source: docs/spec/clusters.md, 4.2 and section 7.
"""

from collections.abc import Awaitable, Callable, Mapping

from hearth.conductor import balancers, create, removal, retry, rotation, upgrade
from hearth.conductor.resize import resize
from hearth.conductor.work import Work
from hearth.service.clusters import tasks

Step = Callable[[Work], Awaitable[None]]

STEPS: Mapping[str, Mapping[str, Step]] = {
    tasks.CREATE: {
        "identity": create.identity,
        "keys": create.keys,
        "stack": create.stack,
    },
    tasks.RESIZE: {"stack": resize},
    tasks.UPGRADE: {
        "masters": upgrade.masters,
        "masters_done": upgrade.masters_done,
        "workers": upgrade.workers,
        "workers_done": upgrade.workers_done,
        "ready": upgrade.ready,
        "drain": upgrade.drain,
    },
    tasks.DELETE: {
        "balancers": balancers.remove,
        "balancers_gone": balancers.gone,
        "detach": removal.detach,
        "stacks": removal.all_stacks,
    },
    tasks.CLEAN_UP: {"keys": removal.keys, "identity": removal.identity, "rows": removal.rows},
    tasks.RETRY: {"attempt": retry.attempt},
    tasks.GROUP_CREATE: {"stack": create.group_stack},
    tasks.GROUP_DELETE: {"stack": removal.group_stack},
    tasks.ROTATE_CA: {
        "begin": rotation.begin,
        "trusted": rotation.trusted,
        "issued": rotation.issued,
    },
    tasks.ROTATE_CREDENTIAL: {
        "identity": rotation.identity,
        "stack": rotation.stack,
        "done": rotation.done,
    },
}
