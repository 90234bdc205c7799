"""An error of Python in a resource type: before its call nothing can have been made."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.resources.cinder.volume import Volume
from tests.engine.worker.test_faults import Town, told
from tests.engine.worker.test_timed_out import VOLUME, ended

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("sent", [False, True])
def test_an_error_before_a_call_is_no_lost_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, sent: bool
) -> None:
    made = Volume.create

    async def fails(self: Volume, ctx: Any) -> Any:
        if sent:
            await made(self, ctx)
        raise KeyError("colour")

    async def story(town: Town) -> None:
        monkeypatch.setattr(Volume, "create", fails)
        state, _, reason = await ended(town, VOLUME)
        assert state == ("CREATE_COMPLETE" if sent else "CREATE_FAILED")
        assert ("KeyError" in reason) is not sent

    told(story)
    assert "KeyError: 'colour'" in caplog.text
    assert ("cannot be read" in caplog.text) is sent
