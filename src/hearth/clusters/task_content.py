"""What a task of the conductors is about. Each kind is a struct, stored in the table of tasks.

The fields of a struct are the arguments of the request that the task carries out. Some kinds also
have `progress`, which their steps change. The column `kind` says which struct a row stores.
"""

from collections.abc import Collection, Mapping
from typing import Any, Self, TypeVar, assert_never

import msgspec
from msgspec.structs import replace

HIDDEN = ("before", "progress")
"""The fields that are not part of what a request has asked for."""


class CreateCluster(msgspec.Struct, frozen=True):
    """Create the identity, the certificates and the stack of a cluster."""


class GroupSize(msgspec.Struct, frozen=True):
    """The number of nodes of a group, given by its UUID."""

    group: str
    node_count: int


class Resize(msgspec.Struct, frozen=True, kw_only=True):
    """Change the number of nodes of a group.

    `remove` are the indexes of nodes to remove. `before` is the size that the group gets again if
    the request fails. If `rollback` is true, a failed update of the stack is rolled back.
    """

    group: str
    node_count: int
    remove: tuple[str, ...]
    before: GroupSize
    rollback: bool


class UpgradeProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of an upgrade.

    `answers`: whether the conductor can reach the Kubernetes API of the cluster. `done` are the
    UUIDs of the groups whose workers are upgraded. `count` is the number of nodes of the current
    group; None before its first batch. `batch` are the indexes of the old workers that the current
    batch replaces, and `drained` of those that the next update removes. `since` is the time when
    the current wait began. `retry_at` is the time when a blocked stack is tried again.
    """

    answers: bool = False
    done: tuple[str, ...] = ()
    count: int | None = None
    batch: tuple[int, ...] = ()
    drained: tuple[int, ...] = ()
    since: float = 0.0
    retry_at: float | None = None


class UpgradeCluster(msgspec.Struct, frozen=True, kw_only=True):
    """Upgrade groups to a template.

    `template` and `groups` are UUIDs, `batch` is the number of nodes replaced at the same time.
    `version` is the version of Kubernetes of the image or of the label; `kube_tag` is the label of
    the template.
    """

    template: str
    batch: int
    groups: tuple[str, ...]
    image: str | None
    version: str | None
    kube_tag: str | None
    progress: UpgradeProgress = UpgradeProgress()

    def with_answers(self, answers: bool) -> Self:
        """Return the task with the fact whether Kubernetes answers."""
        return replace(self, progress=replace(self.progress, answers=answers))

    def with_batch(self, count: int, batch: Collection[int]) -> Self:
        """Return the task with the next batch of a group of `count` nodes."""
        progress = replace(self.progress, count=count, batch=tuple(batch), drained=())
        return replace(self, progress=progress)

    def with_drained(self) -> Self:
        """Return the task with the batch drained."""
        progress = replace(self.progress, batch=(), drained=self.progress.batch)
        return replace(self, progress=progress)

    def with_group_done(self, group: str | None) -> Self:
        """Return the task with a group done; None if the group no longer exists."""
        done = (*self.progress.done, *(() if group is None else (group,)))
        progress = replace(self.progress, done=done, count=None, drained=())
        return replace(self, progress=progress)

    def waiting(self, since: float) -> Self:
        """Return the task with a wait that begins now."""
        return replace(self, progress=replace(self.progress, since=since))


class DeleteProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a delete.

    `since` is the time when the wait for load balancers began. `detaching_since` is the time when
    the conductor began to detach objects, and `detached` names them.
    """

    since: float = 0.0
    detaching_since: float | None = None
    detached: tuple[str, ...] = ()


class DeleteCluster(msgspec.Struct, frozen=True, kw_only=True):
    """Delete the stacks of a cluster.

    If `force` is true, objects that users added to the cluster are detached.
    """

    force: bool = False
    progress: DeleteProgress = DeleteProgress()

    def waiting(self, since: float) -> Self:
        """Return the task with a wait for load balancers that begins now."""
        return replace(self, progress=replace(self.progress, since=since))

    def detaching(self, since: float, detached: Collection[str]) -> Self:
        """Return the task with the objects that were detached since then."""
        progress = replace(self.progress, detaching_since=since, detached=tuple(detached))
        return replace(self, progress=progress)


class CleanUp(msgspec.Struct, frozen=True):
    """Delete the key pairs, the identity and the rows of a cluster without stacks."""


class Retry(msgspec.Struct, frozen=True):
    """Repeat a stack operation of a group that failed because of quota or capacity."""

    group: str


class CreateGroup(msgspec.Struct, frozen=True):
    """Create the stack of a node group."""

    group: str


class DeleteGroup(msgspec.Struct, frozen=True):
    """Delete the stack of a node group, or its row if it has no stack."""

    group: str


class RotationProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a rotation.

    `updated` are the ids of the stacks that were updated for `phase`. `retry_at` is the time when
    a blocked stack is tried again.
    """

    phase: str = ""
    updated: tuple[str, ...] = ()
    retry_at: float | None = None

    def updated_for(self, phase: str) -> tuple[str, ...]:
        """Return the ids of the stacks that were updated for this phase."""
        return self.updated if phase == self.phase else ()


class RotationTask(msgspec.Struct, frozen=True):
    """Base of the tasks that update all stacks of a cluster one after the other."""

    progress: RotationProgress = RotationProgress()

    def with_updated(self, phase: str, updated: Collection[str]) -> Self:
        """Return the task with the ids of the stacks that were updated for this phase."""
        progress = replace(self.progress, phase=phase, updated=tuple(updated))
        return replace(self, progress=progress)


class RotateCa(RotationTask, frozen=True):
    """Replace the certificate authorities of a cluster."""


class RotateCredential(RotationTask, frozen=True):
    """Replace the credential of the nodes of a cluster."""


class UnknownTask(msgspec.Struct, frozen=True):
    """A task of a kind or a form that only another version of Hearth knows."""

    kind: str
    body: Any = None


KnownTask = (
    CreateCluster
    | Resize
    | UpgradeCluster
    | DeleteCluster
    | CleanUp
    | Retry
    | CreateGroup
    | DeleteGroup
    | RotateCa
    | RotateCredential
)
TaskContent = KnownTask | UnknownTask
C = TypeVar("C", bound=TaskContent)

KINDS: Mapping[str, type[KnownTask]] = {
    "create": CreateCluster,
    "resize": Resize,
    "upgrade": UpgradeCluster,
    "delete": DeleteCluster,
    "clean_up": CleanUp,
    "retry": Retry,
    "group_create": CreateGroup,
    "group_delete": DeleteGroup,
    "rotate_ca": RotateCa,
    "rotate_credential": RotateCredential,
}
_NAMES: Mapping[type[msgspec.Struct], str] = {
    content_type: kind for kind, content_type in KINDS.items()
}

ASIDE = (CleanUp, Retry)
"""The tasks during which a cluster is not in progress."""


def kind_of(content_type: type[C]) -> str:
    """Return the value in the column `kind` for this type of task."""
    return _NAMES[content_type]


def packed(content: TaskContent) -> tuple[str, Any]:
    """Return (kind, body) of a task, as its row stores them."""
    if isinstance(content, UnknownTask):
        return content.kind, content.body
    return kind_of(type(content)), msgspec.to_builtins(content)


def unpacked(kind: str, body: Any) -> TaskContent:
    """Return the content of a task that a row stores.

    It is an UnknownTask if this version does not know the kind or the form of the body, so that the
    row does not stop the tasks of other rows.
    """
    content_type = KINDS.get(kind)
    if content_type is None:
        return UnknownTask(kind, body)
    try:
        return msgspec.convert(body, content_type)
    except msgspec.ValidationError:
        return UnknownTask(kind, body)


def details(content: TaskContent) -> dict[str, Any]:
    """Return what a request has asked for, for the data of an event."""
    _, body = packed(content)
    return {name: value for name, value in body.items() if name not in HIDDEN}


def retry_at(content: TaskContent) -> float | None:
    """Return the time when the blocked stack of a task is tried again; None if none is blocked."""
    match content:
        case UpgradeCluster() | RotateCa() | RotateCredential():
            return content.progress.retry_at
        case CreateCluster() | DeleteCluster() | CleanUp() | UnknownTask():
            return None
        case Resize() | Retry() | CreateGroup() | DeleteGroup():
            return None
        case _:
            assert_never(content)


def with_retry_at(content: TaskContent, at: float | None) -> TaskContent:
    """Return a task with the time when its blocked stack is tried again.

    Tasks that do not wait for their stacks stay as they are.
    """
    match content:
        case UpgradeCluster():
            return replace(content, progress=replace(content.progress, retry_at=at))
        case RotateCa() | RotateCredential():
            return replace(content, progress=replace(content.progress, retry_at=at))
        case CreateCluster() | DeleteCluster() | CleanUp() | UnknownTask():
            return content
        case Resize() | Retry() | CreateGroup() | DeleteGroup():
            return content
        case _:
            assert_never(content)
