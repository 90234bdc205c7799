"""One cluster API for all tests of a module."""

from collections.abc import Iterator

import pytest

from tests.api.clusters.server import Api, running


@pytest.fixture(scope="module")
def magnum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with running(tmp_path_factory.mktemp("clusters")) as api:
        yield api
