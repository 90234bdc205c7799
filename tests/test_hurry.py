"""Waiting in a hurry."""

import asyncio
import time

from hearth.cli.process import run_until_complete
from tests.hurry import hurried

NAP_S = 20.0


async def nap() -> int:
    began = time.monotonic()
    await asyncio.sleep(NAP_S)
    return int(time.monotonic() - began >= NAP_S)


def test_a_process_of_hearth_is_in_a_hurry():
    began = time.monotonic()
    with hurried():
        assert run_until_complete(nap()) == 1
    assert time.monotonic() - began < NAP_S / 2
