"""A task that a conductor carries out: its data, and methods with which its steps store results."""

from collections.abc import Callable, Sequence
from typing import assert_never

from msgspec import Struct

from hearth.clusters.bundle import Bundle
from hearth.clusters.follow import failed
from hearth.clusters.notifications import FAILURE
from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.task_content import (
    C,
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
    UnknownTask,
    UpgradeCluster,
)
from hearth.model.state import Status
from hearth.service.caller import Caller
from hearth.service.clusters import notify
from hearth.service.services import Services
from hearth.store.clusters import clusters, tasks
from hearth.store.clusters.clusters import FullCluster
from hearth.store.clusters.tasks import Lost, Task
from hearth.store.database import Tx

Changed = tuple[Cluster, Sequence[NodeGroup]]


class NextStep(Struct, frozen=True, kw_only=True):
    """What a task does after a step, and the changes that are stored with it.

    If `step` is None, the task ends. `change` returns changes to the cluster. `content` is the task
    after the step; None if it is unchanged. If `delay_s` is given, the task is released and becomes
    due after that many seconds; otherwise this conductor continues at once.
    """

    step: str | None = None
    change: Callable[[FullCluster], Changed] | None = None
    content: TaskContent | None = None
    delay_s: float | None = None


class Work(Struct):
    """A task that this conductor has claimed. `full` is the cluster as of the last commit.

    `caller` is the user who requested the operation.
    """

    services: Services
    caller: Caller
    task: Task
    full: FullCluster
    files: Bundle  # the templates of the drivers

    @property
    def cluster(self) -> Cluster:
        """The cluster that the task changes."""
        return self.full.cluster

    def group(self, uuid: str) -> NodeGroup:
        """Return the node group of the cluster with this UUID, which must exist."""
        return next(group for group in self.full.groups if group.uuid == uuid)

    def content(self, content_type: type[C]) -> C:
        """Return the content of the task, which must be of this type."""
        content = self.task.content
        if not isinstance(content, content_type):
            raise TypeError(f"this step does not belong to tasks of kind {self.task.kind}")
        return content

    def existing_group(self, uuid: str) -> NodeGroup | None:
        """Return the group with this UUID, or None if it no longer exists."""
        return next((group for group in self.full.groups if group.uuid == uuid), None)

    async def commit(
        self,
        step: str | None,
        change: Callable[[FullCluster], Changed] | None = None,
        *,
        content: TaskContent | None = None,
        delay_s: float | None = None,
        also: Callable[[Tx], None] | None = None,
        status: Status = Status.COMPLETE,
    ) -> None:
        """Store the next step and the changes to the cluster, in one transaction.

        The arguments are the fields of NextStep. `also` makes further changes. If the task ends,
        the metrics count its end with `status`. Raises Lost if the task has another owner.
        """
        next_step = NextStep(step=step, change=change, content=content, delay_s=delay_s)

        def transaction(tx: Tx) -> tuple[Task, FullCluster | None]:
            after = self.advance(tx, next_step)
            if also is not None:
                also(tx)
            return after, clusters.load(tx, self.cluster.uuid)

        self.task, full = await self.services.store.run_once(transaction)
        if full is not None:
            self.full = full
        if step is None:
            self.services.observer.cluster_task_ended(self.task.kind, status)

    def advance(self, tx: Tx, next_step: NextStep) -> Task:
        """Store the next step inside the transaction `tx`, and return the changed task. Raises
        Lost.
        """
        tasks.check(tx, self.task)
        if next_step.change is not None:
            full = clusters.load(tx, self.cluster.uuid, lock=True)
            if full is None:
                raise Lost
            after, groups = next_step.change(full)
            clusters.save(tx, full, after, groups, now=self.services.clock.now())
        if next_step.step is None:
            tasks.finish(tx, self.task)
            clusters.look_again(tx, self.cluster.uuid)  # only now the cluster may settle
            return self.task
        content = self.task.content if next_step.content is None else next_step.content
        return tasks.advance(tx, self.task, next_step.step, content, delay_s=next_step.delay_s)

    def _concerns(self, group: NodeGroup) -> bool:
        """Return whether the operation changes this group. A task that names no group changes all
        groups.
        """
        content = self.task.content
        match content:
            case UpgradeCluster():
                return group.uuid in content.groups
            case Resize() | Retry() | CreateGroup() | DeleteGroup():
                task_group = self.existing_group(content.group) or group
                return group.uuid == task_group.uuid or (group.is_default and task_group.is_default)
            case CreateCluster() | DeleteCluster() | CleanUp() | UnknownTask():
                return True
            case RotateCa() | RotateCredential():
                return True
            case _:
                assert_never(content)

    async def fail(
        self, reason: str, change: Callable[[FullCluster], Changed] | None = None
    ) -> None:
        """Store that the operation has failed for `reason`, and end the task. Raises Lost.

        `change` returns the cluster and the groups with further changes.
        """
        now = self.services.clock.now()

        def change_failed(full: FullCluster) -> Changed:
            cluster, groups = (full.cluster, ()) if change is None else change(full)
            changed_groups = {group.uuid: group for group in groups}
            concerned = [changed_groups.get(g.uuid, g) for g in full.groups if self._concerns(g)]
            return failed(cluster, concerned, reason)

        def note(tx: Tx) -> None:
            body = {"operation": self.task.kind, "reason": reason}
            clusters.put_event(tx, self.cluster.uuid, "cluster.failed", body, now)
            clusters.keep_statuses(tx, self.cluster.uuid)
            if isinstance(self.task.content, RotateCa):
                notify.rotated(tx, self.full, FAILURE, now)

        await self.commit(None, change_failed, also=note, status=Status.FAILED)
