"""The API of a Hearth with revived types."""

from collections.abc import Iterator

import pytest

from tests.api.conftest import Caller
from tests.clients.dev import hearth_dev


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with hearth_dev(tmp_path_factory.mktemp("dev"), "--revive-retired-types") as dev:
        yield Caller(dev)
