"""A cloud on a port, in a thread of its own, for clients that block."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.devcloud.running import Served


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """One cloud for all tests of a module."""
    with Served() as cloud:
        yield cloud


@pytest.fixture
def fresh() -> Iterator[Served]:
    """A cloud of the test's own."""
    with Served() as cloud:
        yield cloud
