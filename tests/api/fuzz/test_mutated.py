"""Broken requests: never a fault of ours, never another's data; `python -m tests.api.fuzz.run`."""

from pathlib import Path

import pytest

from tests.api.fuzz.run import play
from tests.clients.dev import hearth_dev
from tests.walk.ground import prepare

pytestmark = pytest.mark.slow


def test_broken_requests_are_refused_and_nothing_else(tmp_path: Path):
    with hearth_dev(tmp_path) as dev:
        ground = prepare(dev)
        assert play(ground, 1500, seed=1) == []
        assert dev.process.poll() is None
