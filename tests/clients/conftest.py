"""One `hearth dev` for all tests of a module."""

from collections.abc import Iterator

import pytest

from tests.clients.dev import Dev, hearth_dev


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running
