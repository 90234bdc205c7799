"""Faults are met in seconds here, not in minutes."""

import pytest

from hearth.engine.worker import strays


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strays are watched for seconds: no call of these tests comes later."""
    monkeypatch.setattr(strays, "LOOKS_S", (2.0, 4.0, 6.0))
    monkeypatch.setattr(strays, "WATCHED_S", 6.0)
