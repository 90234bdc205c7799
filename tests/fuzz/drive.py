"""One target, for so many seconds: `python -m tests.fuzz.drive TARGET --seconds N …`.

With atheris at hand, what covers more of the compiler is kept and changed further; without it,
inputs are drawn at random. Findings are written down as they come, and what has been done every
second, for the process may end at any time: that, too, is a finding.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

HANG_S = 5
"""Processor time after which an input is a finding."""

MEMORY_BYTES = 3 * 1024**3
PER_RUN = 500  # inputs that hypothesis draws at a time
FRAMES = 3  # of a traceback that tell one finding from another


class Hang(BaseException):
    """An input takes too long. Nothing under test catches this."""


class Driver:
    """Tries inputs of a target, and keeps count."""

    def __init__(self, check: Callable[[Any], Any], folder: Path, status: Path) -> None:
        self.check = check
        self.folder = folder
        self.status = status
        self.executions = 0
        self.findings: dict[str, tuple[int, str]] = {}  # by name: size of the input, what it is
        self.told = 0.0
        self.slowest_s = 0.0

    def run(self, value: Any) -> None:
        """Try one input."""
        self.executions += 1
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, HANG_S)
        try:
            self.check(value)
        except (Exception, Hang) as problem:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self.found(value, problem)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self.slowest_s = max(self.slowest_s, time.process_time() - begun)
        if time.monotonic() - self.told > 1:
            self.tell()

    def found(self, value: Any, problem: BaseException) -> None:
        """Keep an input, unless a shorter one with the same problem is kept already."""
        frames = [
            f"{Path(one.filename).name}:{one.name}"
            for one in traceback.extract_tb(problem.__traceback__)[-FRAMES:]
        ]
        what = f"{type(problem).__name__} in {' > '.join(frames)}: {str(problem)[:200]}"
        key = hashlib.blake2b(f"{type(problem)}{frames}".encode(), digest_size=4).hexdigest()
        text = json.dumps(value, indent=1) + "\n"
        if key in self.findings and self.findings[key][0] <= len(text):
            return
        self.findings[key] = (len(text), what)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"found-{key}.json").write_text(text, encoding="ascii")
        self.tell()

    def tell(self) -> None:
        """Write down what has been done so far."""
        self.told = time.monotonic()
        done = {
            "executions": self.executions,
            "slowest_s": round(self.slowest_s, 2),
            "findings": {key: what for key, (_, what) in self.findings.items()},
        }
        self.status.write_text(json.dumps(done))


def hang(number: int, frame: FrameType | None) -> None:
    """The handler of the timer."""
    raise Hang(f"more than {HANG_S} s")


def by_coverage(atheris: Any, one: Any, arguments: argparse.Namespace) -> None:
    """Let atheris find inputs. Does not return."""
    arguments.work.mkdir(parents=True, exist_ok=True)
    flags = [
        sys.argv[0], str(arguments.work), f"-max_total_time={arguments.seconds}",
        f"-seed={arguments.seed + 1}", "-max_len=8192", "-len_control=0", "-rss_limit_mb=0",
        "-timeout=60", "-verbosity=0", f"-artifact_prefix={arguments.work}-",
    ]  # fmt: skip
    atheris.Setup(flags, one.hypothesis.fuzz_one_input)
    atheris.Fuzz()


def at_random(one: Any, arguments: argparse.Namespace) -> None:
    """Let hypothesis draw inputs until the time is over."""
    from hypothesis import seed

    end = time.monotonic() + arguments.seconds
    number = arguments.seed
    while time.monotonic() < end:
        seed(number)(one)()
        number += 1


def main() -> None:
    """The process of one target."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, required=True, help="folder for findings")
    parser.add_argument("--work", type=Path, required=True, help="folder of what covers more")
    parser.add_argument("--status", type=Path, required=True)
    parser.add_argument("--engine", choices=["atheris", "hypothesis"], required=True)
    arguments = parser.parse_args()
    atheris: Any = None
    if arguments.engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["hearth"], enable_loader_override=False):
            from tests.fuzz.targets import TARGETS
    else:
        from tests.fuzz.targets import TARGETS
    from hypothesis import HealthCheck, Phase, given, settings

    target = TARGETS[arguments.target]
    driver = Driver(target.check, arguments.keep / target.name, arguments.status)
    driver.tell()

    @settings(
        max_examples=PER_RUN, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(target.inputs)
    def one(value: Any) -> None:
        driver.run(value)

    signal.signal(signal.SIGVTALRM, hang)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if atheris is not None:
        by_coverage(atheris, one, arguments)
    else:
        at_random(one, arguments)
    driver.tell()
    os._exit(0)


if __name__ == "__main__":
    main()
