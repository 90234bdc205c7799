"""One `hearth dev` for all tests of a module; each test calls what it says it calls."""

from collections.abc import Iterator

import pytest

from tests.clients.covered import CALLED
from tests.clients.dev import Dev, hearth_dev


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


@pytest.fixture(autouse=True)
def keeps_its_word(request: pytest.FixtureRequest) -> Iterator[None]:
    CALLED.clear()
    yield
    said = getattr(request.function, "runs", frozenset())
    assert said <= CALLED, f"says it runs, but does not: {sorted(said - CALLED)}"
