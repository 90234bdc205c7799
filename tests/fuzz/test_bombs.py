"""Bombs go off in a process with 512 MiB and twenty seconds: none of them ends it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.bombs import BOMBS
from tests.selection import part_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_every_bomb_ends_in_a_value_or_a_problem():
    names = part_of(list(BOMBS), 4)  # `make bombs`: all
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.confined", *names],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    lines = ended.stdout.splitlines()
    assert [line for line in lines if ": BAD " in line] == [], ended.stderr
    assert [line.partition(": ok ")[0] for line in lines] == names


def test_what_would_fill_the_memory_or_take_for_ever_is_noticed():
    program = (
        "import tests.fuzz.confined as it; it.PROCESSOR_S = 1\n"
        "print(it.confined(lambda: bytearray(2**30)))\n"
        "print(it.confined(lambda: sum(iter(int, 1))))\n"
        "print(it.confined(lambda: 1 / 0))\n"
        "print(it.confined(lambda: 3))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    memory, time, error, value = ended.stdout.splitlines()
    assert memory.startswith("BAD")
    assert "MemoryError" in memory
    assert "ended by signal" in time
    assert "ZeroDivisionError" in error
    assert value.startswith("ok")
    assert value.endswith("value: 3")
