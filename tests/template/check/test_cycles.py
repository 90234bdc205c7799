"""Cycles are found whatever is around them, the shortest first, at a price of the edges."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hearth.template.check.cycles import cycles
from hearth.template.load import load
from hearth.template.parse import parse
from tests.growth import growth

HEAD = "heat_template_version: 2018-08-31\nresources:\n"


def resources(waits):
    lines = [
        f"  {name}: {{type: OS::Heat::None, depends_on: [{', '.join(needs)}]}}\n"
        for name, needs in waits.items()
    ]
    return parse(load(HEAD + "".join(lines)), "t").resources


def found(waits):
    return [cycle for _, cycle in cycles(resources(waits))]


def test_the_shortest_cycle_is_told_where_it_closes():
    waits = {"a": "b", "b": "cd", "c": "a", "d": "b", "e": "a"}
    ((at, cycle),) = cycles(resources(waits))
    assert cycle in (("b", "d", "b"), ("d", "b", "d"))
    assert at.line == (4 if cycle[0] == "b" else 6)


def test_cycles_apart_are_both_told():
    assert {frozenset(c) for c in found({"a": "b", "b": "a", "c": "d", "d": "c"})} == {
        frozenset("ab"),
        frozenset("cd"),
    }


NAMES = "abcdefgh"
GRAPHS = st.dictionaries(st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES), max_size=3))


@given(GRAPHS)
def test_a_cycle_is_told_if_and_only_if_there_is_one(graph):
    waits = {name: sorted(graph.get(name, ())) for name in NAMES}
    told = found(waits)
    for cycle in told:
        assert cycle[0] == cycle[-1]
        assert all(need in waits[name] for name, need in itertools.pairwise(cycle))
    left = dict(waits)
    while free := [name for name, needs in left.items() if not set(needs) & left.keys()]:
        for name in free:
            del left[name]
    assert bool(told) is bool(left)


def test_a_long_cycle_with_much_behind_it_costs_no_more_than_its_length():
    def work(size):
        ring = {f"r{i}": [f"r{(i + 1) % 50}"] for i in range(50)}
        behind = {f"b{i}": [f"b{i - 1}" if i else "r0"] for i in range(size)}
        assert len(found(ring | behind)) == 1

    assert growth(work, 500, 4000) < 3
