"""Which workers an upgrade replaces, for stacks in any state."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hearth.clusters.upgrading import (
    Booted,
    Generations,
    WorkerStack,
    in_stack,
    next_parameters,
)

IMAGES = st.sampled_from([Booted("a", "v1"), Booted("b", "v2"), Booted("c", "v3")])
OLD = {"workers": {"0": "x", "1": "x"}, "booted": {"x": {"image": "z", "kube_version": "v0"}}}


def stack(**more: object) -> WorkerStack:
    """The workers of a stack with these parameters."""
    return in_stack({"minion_image": "a", "kube_version": "v1", **more}, [0, 1, 2])


def test_a_stack_without_generations_boots_one_image() -> None:
    assert stack().old(Booted("a", "v1")) == []
    assert stack().old(Booted("b", "v2")) == [0, 1, 2]
    assert stack().pinned(Booted("a", "v1")) == Generations()
    assert stack().pinned(Booted("b", "v2")) == Generations(
        workers={"0": "0", "1": "0", "2": "0"}, booted={"0": Booted("a", "v1")}
    )


def test_workers_of_an_upgrade_that_stopped_are_known() -> None:
    found = stack(worker_generations=OLD, temporary_minions=1)
    assert found.temporary == 1
    assert found.old(Booted("a", "v1")) == [0, 1]
    assert found.pinned(Booted("b", "v2")) == Generations(
        workers={"0": "0", "1": "0", "2": "1"},
        booted={"0": Booted("z", "v0"), "1": Booted("a", "v1")},
    )


def test_a_value_of_somebody_else_is_ignored() -> None:
    assert stack(worker_generations=["what?"]).old(Booted("a", "v1")) == []


def test_the_last_update_leaves_nothing_behind() -> None:
    pins = stack().pinned(Booted("b", "v2"))
    between = next_parameters(pins, count=3, extra=2, to_remove=[0], workers=4)
    assert between == {
        "number_of_minions": 5, "temporary_minions": 2, "minions_to_remove": ["0"],
        "worker_generations": msgspec.to_builtins(pins), "update_max_batch_size": 4,
    }  # fmt: skip
    last = next_parameters(pins, count=3, extra=0, to_remove=[2], workers=4)
    assert last["worker_generations"] == {"workers": {}, "booted": {}}
    assert last["temporary_minions"] == 0


@given(st.lists(st.tuples(IMAGES, st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_no_update_changes_what_an_existing_worker_booted(
    steps: list[tuple[Booted, int, int]],
) -> None:
    """Whatever upgrades begin and stop: each worker keeps the image that it booted."""
    newest, older, booted = Booted("a", "v1"), Generations(), {0: Booted("a", "v1")}
    for wanted, more, fewer in steps:
        now = WorkerStack(newest=newest, older=older, indexes=sorted(booted))
        assert now.old(wanted) == [index for index in sorted(booted) if booted[index] != wanted]
        older, newest = now.pinned(wanted), wanted
        first = max(booted, default=-1) + 1
        booted |= dict.fromkeys(range(first, first + more), wanted)
        for index in now.old(wanted)[:fewer]:
            del booted[index]
