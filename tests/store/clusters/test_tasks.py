"""Tasks of conductors: every kind is stored and loaded, and unknown ones stop no others."""

from typing import Any, get_args

import pytest
from msgspec.structs import replace

from hearth.clusters.task_content import (
    KINDS,
    CleanUp,
    CreateCluster,
    CreateGroup,
    DeleteCluster,
    DeleteGroup,
    DeleteProgress,
    GroupSize,
    KnownTask,
    Resize,
    Retry,
    RotateCa,
    RotateCredential,
    RotationProgress,
    TaskContent,
    UnknownTask,
    UpgradeCluster,
    UpgradeProgress,
    details,
    retry_at,
    with_retry_at,
)
from hearth.conductor.steps import STEPS
from hearth.store.clusters import tasks
from hearth.store.clusters.tables import cluster_task
from hearth.store.clusters.tasks import Task
from hearth.store.database import Store, Tx

UUID = "00000000-0000-4000-8000-{:012}".format
SIZE = GroupSize("g", 3)
RESIZE = Resize(group="g", node_count=2, remove=("1",), before=SIZE, rollback=True)
UPGRADE = UpgradeCluster(
    template="t", batch=2, groups=("g", "h"), image="i", version="v1.29.0", kube_tag=None
)
CONTENTS: tuple[TaskContent, ...] = (
    CreateCluster(),
    RESIZE,
    UPGRADE,
    DeleteCluster(force=True),
    CleanUp(),
    Retry("g"),
    CreateGroup("g"),
    DeleteGroup("h"),
    RotateCa(),
    RotateCredential(),
)
UPGRADING = UpgradeProgress(
    answers=True, done=("h",), count=3, batch=(0, 2), drained=(1,), since=4.5, retry_at=6.5
)
ROTATING = RotationProgress(phase="trust", updated=("s",), retry_at=6.5)
LATER: tuple[TaskContent, ...] = (
    replace(UPGRADE, progress=UPGRADING),
    DeleteCluster(progress=DeleteProgress(since=1.5, detaching_since=2.5, detached=("a port",))),
    RotateCa(ROTATING),
    RotateCredential(ROTATING),
)


def stored(store: Store, *contents: TaskContent) -> None:
    def put(tx: Tx) -> None:
        for number, content in enumerate(contents):
            tasks.put(tx, Task(cluster_id=UUID(number), content=content), 1.0)

    store.transact(put)


def claimed(store: Store) -> list[Task]:
    return store.transact(lambda tx: tasks.claim(tx, "me", tasks.claimable(tx, 100)))


def test_the_examples_are_of_every_kind_and_every_kind_has_steps():
    kinds = set(KINDS.values())
    assert {type(content) for content in CONTENTS} == kinds == set(get_args(KnownTask))
    assert STEPS.keys() == kinds


def test_every_kind_survives_storing_and_loading(store: Store):
    stored(store, *CONTENTS)
    by_cluster = {task.cluster_id: task for task in claimed(store)}
    for number, content in enumerate(CONTENTS):
        task = by_cluster[UUID(number)]
        assert task.content == content
        assert KINDS[task.kind] is type(content)
        assert store.transact(lambda tx, task=task: tasks.of_cluster(tx, task.cluster_id)) == [task]


def test_the_progress_of_a_task_survives_storing_and_loading(store: Store):
    starts = (UPGRADE, DeleteCluster(force=True), RotateCa(), RotateCredential())
    stored(store, *starts)
    for task in claimed(store):
        after = next(content for content in LATER if type(content) is type(task.content))
        store.transact(lambda tx, old=task, new=after: tasks.advance(tx, old, "next", new))
        (again,) = store.transact(lambda tx, task=task: tasks.of_cluster(tx, task.cluster_id))
        assert (again.step, again.content) == ("next", after)


@pytest.mark.parametrize(
    "values", [{"kind": "from_the_future"}, {"kind": "upgrade"}], ids=["kind", "form"]
)
def test_a_task_that_only_another_version_knows_stops_no_others(
    store: Store, values: dict[str, Any]
):
    stored(store, RESIZE, Retry("g"))
    condition = cluster_task.c.cluster_id == UUID(0)
    store.transact(lambda tx: tx.execute(cluster_task.update().where(condition).values(values)))
    by_cluster = {task.cluster_id: task for task in claimed(store)}
    unknown, known = by_cluster[UUID(0)], by_cluster[UUID(1)]
    assert known.content == Retry("g")
    assert isinstance(unknown.content, UnknownTask)
    assert unknown.kind == values["kind"]
    store.transact(lambda tx: tasks.advance(tx, unknown, "next", unknown.content))
    restored = {"kind": "resize"}  # its data are kept for the version that knows them
    store.transact(lambda tx: tx.execute(cluster_task.update().where(condition).values(restored)))
    (again,) = store.transact(lambda tx: tasks.of_cluster(tx, UUID(0)))
    assert again.content == RESIZE


def test_an_event_shows_what_was_asked_for_only():
    assert details(RESIZE) == {"group": "g", "node_count": 2, "remove": ("1",), "rollback": True}
    assert details(LATER[0]) == {
        "template": "t", "batch": 2, "groups": ("g", "h"), "image": "i", "version": "v1.29.0",
        "kube_tag": None,
    }  # fmt: skip
    assert details(DeleteCluster()) == {"force": False}
    assert details(RotateCa(ROTATING)) == {}


@pytest.mark.parametrize("content", [*CONTENTS, UnknownTask("new")])
def test_tasks_that_wait_for_stacks_remember_when_to_try_again(content: TaskContent):
    assert retry_at(content) is None
    after = with_retry_at(content, 2.5)
    waits = isinstance(content, UpgradeCluster | RotateCa | RotateCredential)
    assert retry_at(after) == (2.5 if waits else None)
    assert with_retry_at(after, None) == content
