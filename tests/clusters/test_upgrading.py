"""Which workers an upgrade replaces, for stacks in any state."""

from hypothesis import given
from hypothesis import strategies as st

from hearth.clusters.upgrading import Booted, WorkerStack, in_stack, next_parameters

IMAGES = st.sampled_from([Booted("a", "v1"), Booted("b", "v2"), Booted("c", "v3")])


def stack(**more: object) -> WorkerStack:
    """The workers of a stack with these parameters."""
    return in_stack({"minion_image": "a", "kube_version": "v1", **more}, [0, 1, 2])


def test_a_stack_without_generations_boots_one_image() -> None:
    assert stack().old(Booted("a", "v1")) == []
    assert stack().old(Booted("b", "v2")) == [0, 1, 2]
    assert stack().pinned(Booted("a", "v1")) == []
    assert stack().pinned(Booted("b", "v2")) == [{"below": 3, "image": "a", "kube_version": "v1"}]


def test_workers_of_an_upgrade_that_stopped_are_known() -> None:
    generations = [{"below": 2, "image": "z", "kube_version": "v0"}]
    found = stack(worker_generations=generations, temporary_minions=1)
    assert found.temporary == 1
    assert found.old(Booted("a", "v1")) == [0, 1]
    assert found.pinned(Booted("a", "v1")) == generations
    assert found.pinned(Booted("b", "v2")) == [
        *generations, {"below": 3, "image": "a", "kube_version": "v1"},
    ]  # fmt: skip


def test_an_empty_group_pins_nothing() -> None:
    empty = in_stack({"minion_image": "a", "kube_version": "v1"}, [])
    assert empty.pinned(Booted("b", "v2")) == []


def test_the_last_update_leaves_nothing_behind() -> None:
    pins = [{"below": 3, "image": "a", "kube_version": "v1"}]
    between = next_parameters(pins, count=3, extra=2, removed=[0], workers=4)
    assert between == {
        "number_of_minions": 5, "temporary_minions": 2, "minions_to_remove": ["0"],
        "worker_generations": pins, "update_max_batch_size": 4,
    }  # fmt: skip
    last = next_parameters(pins, count=3, extra=0, removed=[2], workers=4)
    assert (last["worker_generations"], last["temporary_minions"]) == ([], 0)


@given(st.lists(st.tuples(IMAGES, st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_no_update_changes_what_an_existing_worker_booted(
    steps: list[tuple[Booted, int, int]],
) -> None:
    """Whatever upgrades begin and stop: each worker keeps the image that it booted."""
    newest, generations, booted = Booted("a", "v1"), [], {0: Booted("a", "v1")}
    for wanted, more, fewer in steps:
        now = WorkerStack(newest=newest, generations=generations, indexes=sorted(booted))
        assert now.old(wanted) == [index for index in sorted(booted) if booted[index] != wanted]
        generations, newest = now.pinned(wanted), wanted
        first = max(booted, default=-1) + 1
        booted |= dict.fromkeys(range(first, first + more), wanted)
        for index in now.old(wanted)[:fewer]:
            del booted[index]
