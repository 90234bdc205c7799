"""One target for a while: `python -m tests.fuzz.one ENGINE NAME SECONDS SEED DIR`."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

ENGINE, NAME, SECONDS, SEED, FOLDER = sys.argv[1:6]
if ENGINE == "atheris":
    import atheris

    WATCHED = ["hearth.template", "hearth.schema", "hearth.authoring", "hearth.model"]
    watching: Any = atheris.instrument_imports(include=WATCHED)
else:
    watching = nullcontext()
with watching:
    from hypothesis import HealthCheck, Phase, given, seed, settings

    from tests.fuzz.corpus import keep
    from tests.fuzz.run import ROUND
    from tests.fuzz.targets import TARGETS

inputs = 0


def answered(value: Any) -> None:
    """Check one input; keep it if it is a finding."""
    global inputs
    inputs += 1
    try:
        TARGETS[NAME].check(value)
    except Exception as problem:
        keep(Path(FOLDER), NAME, f"{type(problem).__name__}-{inputs}", value)
        raise


def with_hypothesis() -> None:
    """Rounds of random inputs until the time is over, or something is found."""
    until, number = time.monotonic() + int(SECONDS), int(SEED)
    while time.monotonic() < until:
        one = settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )(given(TARGETS[NAME].inputs)(answered))
        try:
            seed(number)(one)()
        except Exception as problem:
            print(repr(problem)[:500])
            break
        number += 1
    print(f"number_of_executed_units: {inputs}")


def with_atheris() -> None:
    """Inputs that reach new branches breed further ones."""
    test = settings(deadline=None, database=None)(given(TARGETS[NAME].inputs)(answered))
    words = [f"-max_total_time={SECONDS}", f"-seed={int(SEED) % 2**31}", "-print_final_stats=1"]
    words += [f"-artifact_prefix={FOLDER}/", "-max_len=8192"]
    atheris.Setup([sys.argv[0], *words], test.hypothesis.fuzz_one_input)
    atheris.Fuzz()


with_atheris() if ENGINE == "atheris" else with_hypothesis()
