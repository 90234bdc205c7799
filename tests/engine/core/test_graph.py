"""The order of an operation: properties of any graph."""

from hypothesis import given
from hypothesis import strategies as st

from hearth.engine.core import graph as graphs
from hearth.engine.core.graph import NodeKind, NodeState
from hearth.engine.core.record import Record


def record(name: str, requires: frozenset[str] = frozenset(), **more: object) -> Record:
    return Record(name, name, "T", 1, 1.0, requires=requires, **more)


@st.composite
def operations(draw):
    """A template of up to 12 names and records from before, each with earlier requirements."""
    names = [f"n{i}" for i in range(draw(st.integers(0, 12)))]
    requires = {
        name: frozenset(draw(st.lists(st.sampled_from(names[:i]), max_size=3)) if i else ())
        for i, name in enumerate(names)
    }
    old = [f"o{i}" for i in range(draw(st.integers(0, 8)))]
    existing = [
        record(name, frozenset(draw(st.lists(st.sampled_from(old[:i]), max_size=3)) if i else ()))
        for i, name in enumerate(old)
    ]
    return names, requires, existing


@given(operations(), st.randoms(use_true_random=False))
def test_each_node_starts_once_and_after_its_requirements(operation, luck):
    names, requires, existing = operation
    graph = graphs.build(
        in_charge={name: name for name in names}, requires=requires, existing=existing, unchanged=()
    )
    ready, order = graphs.ready(graph), []
    while ready:
        node = ready.pop(luck.randrange(len(ready)))
        order.append(node.key)
        ready += graphs.end(graph, node.key)
        assert graphs.end(graph, node.key) == []  # an end that comes twice frees nobody
    assert sorted(order) == sorted(graph)
    at = {key: i for i, key in enumerate(order)}
    assert all(at[r] < at[key] for key, node in graph.items() for r in node.requires)


@given(operations())
def test_what_is_removed_goes_before_what_it_was_built_upon(operation):
    _, _, existing = operation
    graph = graphs.build(in_charge={}, requires={}, existing=existing, unchanged=())
    for one in existing:
        for provider in one.requires:
            assert (NodeKind.CLEANUP, one.id) in graph[NodeKind.CLEANUP, provider].requires


def test_a_failed_node_frees_nobody():
    graph = graphs.build(
        in_charge={"a": "a", "b": "b"}, requires={"b": {"a"}}, existing=(), unchanged=()
    )
    assert graphs.end(graph, (NodeKind.UPDATE, "a"), NodeState.FAILED) == []
    # it has ended once for all
    assert graphs.end(graph, (NodeKind.UPDATE, "a"), NodeState.DONE) == []


def test_users_are_moved_before_their_former_provider_goes():
    old = record("old")
    user = record("user", frozenset({"old"}))
    graph = graphs.build(
        in_charge={"user": "user"},
        requires={"user": frozenset()},
        existing=[old, user],
        unchanged=(),
    )
    assert (NodeKind.CLEANUP, "user") in graph[NodeKind.CLEANUP, "old"].requires
    assert (NodeKind.UPDATE, "user") in graph[NodeKind.CLEANUP, "user"].requires


def test_a_replaced_record_goes_after_the_one_that_replaced_it():
    old, new = record("old"), record("new", replaces="old")
    graph = graphs.build(in_charge={}, requires={}, existing=[old, new], unchanged=())
    assert graph[NodeKind.CLEANUP, "old"].requires == {(NodeKind.CLEANUP, "new")}


@given(operations(), st.data())
def test_leaving_out_what_provably_stays_orders_the_clean_ups_as_the_full_graph_does(
    operation, data
):
    _, _, existing = operation
    chosen = {one.id: one.id for one in existing}
    needs = {one.id: one.requires for one in existing}
    gone = set()
    for one in existing:  # whoever stays requires only what stays
        if data.draw(st.booleans()) and not any(one.id in o.requires for o in existing):
            gone.add(one.id)
    kept = {i for i in chosen if i not in gone}
    in_charge = {i: i for i in kept}
    full = graphs.build(in_charge=in_charge, requires=needs, existing=existing, unchanged=())
    pruned = graphs.build(in_charge=in_charge, requires=needs, existing=existing, unchanged=kept)
    for one in gone:
        for other in gone:
            key, before = (NodeKind.CLEANUP, one), (NodeKind.CLEANUP, other)
            assert _after(full, key, before) == _after(pruned, key, before)


def _after(graph: graphs.Graph, key: graphs.Key, before: graphs.Key) -> bool:
    seen, open_ = set(), [key]
    while open_:
        for required in graph[open_.pop()].requires:
            if required == before:
                return True
            if required not in seen:
                seen.add(required)
                open_.append(required)
    return False
