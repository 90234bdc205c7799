"""Every property of every type, given wrong: refused with its name, and nothing is made."""

from collections.abc import Iterator

import pytest

from hearth.resources.described import example
from tests.selection import part_of
from tests.types.case import kinds, subject
from tests.types.cloud import Place, in_a_box
from tests.types.mistakes import mistakes
from tests.types.story import Wrong

pytestmark = pytest.mark.slow
NAMES = [name for name, kind in kinds().items() if example(kind) is not None]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with in_a_box(tmp_path_factory.mktemp("hearth")) as found:
        yield found


@pytest.mark.parametrize("name", part_of(NAMES, 2))
def test_each_mistake_is_refused_with_its_name(place: Place, name: str):
    one = subject(name)
    heat = place.heat(one.case.get("caller", "demo"))
    taken = []
    for mistake in mistakes(one):
        try:
            heat.create(f"bad-{one.slug}", one.with_properties(mistake.properties))
        except Wrong as refused:
            said = str(refused)
            told = said.startswith("400 ") and all(word in said for word in mistake.words)
            if not told or one.resource not in said:
                taken.append(f"{mistake.what}: {said}")
        else:
            taken.append(f"{mistake.what}: was taken")
    assert taken == []
    assert place.left_over() == []
    assert heat.call("GET", "/stacks")["stacks"] == []
