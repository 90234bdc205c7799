"""What may start, and what the end of a node frees."""

from hearth.engine.core.graph import Node, NodeKind, NodeState
from hearth.engine.worker.node.outcome import Done, Failed, Removed
from hearth.model.state import Action, Status
from tests.engine.worker.owned import Owned, record, stack_row

SLEEPS = {"type": "OS::Nova::Server", "action": Action.INIT, "physical_id": None}


def node(name: str, *, after: tuple[str, ...] = (), before: tuple[str, ...] = ()) -> Node:
    key = (NodeKind.CLEANUP, f"{name}-1")
    requires = {(NodeKind.CLEANUP, f"{one}-1") for one in after}
    dependents = [(NodeKind.CLEANUP, f"{one}-1") for one in before]
    return Node(key, requires, dependents, waiting=len(requires))


def server(name: str):
    held = record(name).held.having(kind="OS::Nova::Server")
    return record(name, type="OS::Nova::Server", held=held)


def deletion(*records, graph):
    """A stack that is being deleted, with a graph of cleanup nodes."""
    owned = Owned(stack_row(action=Action.DELETE, parent_id="parent"), *records)
    owned.operation.aim.choose({})
    owned.operation.traversal.plan({one.key: one for one in graph})
    return owned, owned.operation.traversal


class Task:
    """A task that has been launched; it does nothing."""

    def __init__(self, owned, name, kind=NodeKind.CLEANUP, traversal="t1"):
        self.key = (kind, f"{name}-1")
        self.kind, self.record_id, self.holds = kind, f"{name}-1", []
        self.attempt = self
        self.traversal = traversal
        self.cancelled = self.stopped = self.taken_over = False
        self._owned = owned
        owned.tasks[self.record_id] = self

    def is_over(self):
        return self.traversal != self._owned.memory.stack.traversal

    def join(self, key, traversal):
        self.key, self.traversal, self.taken_over = key, traversal, True

    def cancel_child(self):
        self.cancelled = True


def test_a_node_starts_once_what_it_requires_has_ended():
    graph = [node("a", before=("b",)), node("b", after=("a",))]
    owned, traversal = deletion(server("a"), server("b"), graph=graph)
    traversal.advance()
    assert owned.launched == [("cleanup", "a")]
    task = Task(owned, "a")
    traversal.ended(task, Removed(owned.memory.records["a-1"]))
    assert "a-1" not in owned.memory.records
    assert owned.tasks == {}
    traversal.advance()
    assert owned.launched == [("cleanup", "a"), ("cleanup", "b")]


def test_the_last_end_completes_the_operation():
    owned, traversal = deletion(server("a"), graph=[node("a")])
    traversal.advance()
    traversal.ended(Task(owned, "a"), Done())
    assert owned.memory.if_current.stack.status is Status.COMPLETE
    traversal.ended(Task(owned, "a"), Done())  # a second report frees nobody
    assert owned.memory.if_current.stack.status is Status.COMPLETE


def test_a_failure_ends_the_operation_and_nothing_more_starts():
    owned, traversal = deletion(
        server("a"), server("b"), graph=[node("a"), node("b", after=("a",))]
    )
    traversal.advance()
    traversal.ended(Task(owned, "a"), Failed("Resource DELETE failed: no"))
    assert owned.memory.stack.state == "DELETE_FAILED"
    assert not traversal.ready


def test_the_end_of_an_older_task_only_lets_go_what_it_held_up():
    owned = Owned(stack_row(action=Action.DELETE, parent_id="parent"), server("a"))
    task = Task(owned, "a", NodeKind.UPDATE, traversal="t0")
    owned.operation.aim.choose({})
    traversal = owned.operation.traversal
    traversal.plan({one.key: one for one in [node("a")]})
    assert task.cancelled
    assert task.key is None
    traversal.advance()
    assert owned.launched == []
    traversal.ended(task, Failed("an older operation's failure"))
    assert owned.memory.stack.state == "DELETE_IN_PROGRESS"
    traversal.advance()
    assert owned.launched == [("cleanup", "a")]


def test_a_cleanup_under_way_stands_for_the_node_of_the_newer_operation():
    owned = Owned(stack_row(action=Action.DELETE, parent_id="parent"), server("a"))
    task = Task(owned, "a", traversal="t0")
    owned.operation.aim.choose({})
    graph = {one.key: one for one in [node("a")]}
    owned.operation.traversal.plan(graph)
    assert (task.key, task.traversal) == ((NodeKind.CLEANUP, "a-1"), "t1")
    assert graph[task.key].state is NodeState.RUNNING
    owned.operation.traversal.ended(task, Done())
    assert owned.memory.stack.state == "DELETE_COMPLETE"


def test_a_cleanup_that_was_stopped_is_waited_for_and_begun_again():
    owned = Owned(stack_row(action=Action.DELETE, parent_id="parent"), server("a"))
    task = Task(owned, "a", traversal="t0")
    task.stopped = True
    owned.operation.aim.choose({})
    graph = {one.key: one for one in [node("a")]}
    owned.operation.traversal.plan(graph)
    owned.operation.traversal.advance()
    assert (task.key, owned.launched) == (None, [])
    owned.operation.traversal.ended(task, None)
    owned.operation.traversal.advance()
    assert owned.launched == [("cleanup", "a")]


def test_a_cleanup_under_way_that_fails_is_begun_again():
    owned = Owned(stack_row(action=Action.DELETE, parent_id="parent"), server("a"))
    task = Task(owned, "a", traversal="t0")
    owned.operation.aim.choose({})
    owned.operation.traversal.plan({one.key: one for one in [node("a")]})
    owned.operation.traversal.ended(task, Failed("refused before this delete"))
    assert owned.memory.stack.state == "DELETE_IN_PROGRESS"
    owned.operation.traversal.advance()
    assert owned.launched == [("cleanup", "a")]
    again = Task(owned, "a")
    again.key = (NodeKind.CLEANUP, "a-1")
    owned.operation.traversal.ended(again, Failed("refused"))
    assert owned.memory.stack.state == "DELETE_FAILED"


def test_what_fails_the_whole_operation_does_so_from_an_older_task():
    owned, traversal = deletion(server("a"), graph=[node("a")])
    traversal.ended(Task(owned, "a", traversal="t0"), Failed("a snapshot stays", fatal=True))
    assert owned.memory.stack.state == "DELETE_FAILED"


def test_an_immediate_node_ends_without_a_task():
    graph = [node("a", before=("b",)), node("b", after=("a",))]
    owned, traversal = deletion(record("a"), record("b"), graph=graph)
    traversal.advance()
    assert owned.launched == []
    assert owned.memory.if_current.delete == ["a-1", "b-1"]
    assert owned.events()[:4] == [
        "a DELETE_IN_PROGRESS",
        "a DELETE_COMPLETE",
        "b DELETE_IN_PROGRESS",
        "b DELETE_COMPLETE",
    ]
    assert owned.memory.stack.state == "DELETE_COMPLETE"


def test_nothing_starts_while_the_stack_is_handed_over():
    owned, traversal = deletion(server("a"), graph=[node("a")])
    owned.host.handing_over = True
    traversal.advance()
    assert owned.launched == []
    assert not traversal.ready


def test_the_deadline_stops_the_tasks_and_fails_the_stack():
    owned, traversal = deletion(server("a"), graph=[node("a")])
    stopped = []
    task = Task(owned, "a")
    task.name, task.stop, task.last_seen = "a", stopped.append, "last seen: status DELETING"
    owned.memory.stack = owned.memory.stack.having(deadline=1500.0)
    assert not traversal.out_of_time()
    owned.clock.time = 1500.0
    assert traversal.out_of_time()
    assert traversal.late
    assert stopped == ["Timed out"]
    assert traversal.timed_out == "Timed out; resources.a: last seen: status DELETING"
