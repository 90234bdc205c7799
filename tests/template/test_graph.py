from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hearth.template.graph import cycle_in, topological

NAMES = [str(number) for number in range(8)]
GRAPHS = st.dictionaries(
    st.sampled_from(NAMES), st.frozensets(st.sampled_from(NAMES), max_size=3), max_size=8
).map(lambda graph: {name: needs & graph.keys() for name, needs in graph.items()})


@given(GRAPHS)
def test_each_name_comes_after_what_it_requires_or_there_is_a_cycle(requires):
    order = topological(requires)
    for place, name in enumerate(order):
        assert requires[name] <= set(order[:place])
    if len(order) < len(requires):
        cycle = cycle_in(requires, set(order))
        assert cycle[0] == cycle[-1]
        assert all(need in requires[name] for name, need in pairwise(cycle))


def test_a_long_cycle_is_no_burden():
    requires = {str(n): frozenset({str((n + 1) % 20_000)}) for n in range(20_000)}
    assert len(cycle_in(requires, set())) == 20_001


def test_a_long_chain_is_no_burden():
    requires = {str(n): frozenset({str(n + 1)}) for n in range(50_000)} | {"50000": frozenset()}
    order = topological(requires)
    assert order[0] == "50000"
    assert order[-1] == "0"
