"""The cache keeps what was used last, within its limits."""

from hypothesis import given
from hypothesis import strategies as st

from hearth.model.cache import Cache

KEYS = st.sampled_from("abcdef")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), KEYS, st.integers(0, 12)),
        st.tuples(st.sampled_from(("get", "peek", "drop")), KEYS, st.just(0)),
        st.tuples(st.just("drop_oldest"), KEYS, st.just(0)),
    ),
    max_size=40,
)


@given(STEPS, st.integers(1, 4), st.one_of(st.none(), st.integers(1, 10)))
def test_it_behaves_like_a_list_in_the_order_of_use(
    steps: list[tuple[str, str, int]], most: int, size_max: int | None
) -> None:
    cache = Cache[str, int](most, size_max)
    model: list[tuple[str, int, int]] = []  # key, value, size; the last used is last
    for value, (step, key, size) in enumerate(steps):
        found = next((one for one in model if one[0] == key), None)
        rest = [one for one in model if one[0] != key]
        if step == "keep":
            cache.keep(key, value, size)
            model = [*rest, (key, value, size)]
            while len(model) > most or (
                size_max is not None and sum(one[2] for one in model) > size_max and len(model) > 1
            ):
                del model[0]
        elif step == "get":
            assert cache.get(key) == (found and found[1])
            model = [*rest, found] if found else model
        elif step == "peek":
            assert cache.peek(key) == (found and found[1])
        elif step == "drop":
            cache.drop(key)
            model = rest
        elif model:
            cache.drop_oldest()
            del model[0]
        assert len(cache) == len(model)
        assert cache.oldest() == (model[0][1] if model else None)
    assert [cache.peek(key) for key, _, _ in model] == [value for _, value, _ in model]
