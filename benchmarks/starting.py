"""From a command to its first answer, and what it needs when idle."""

import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figure import Figure, median_s
from benchmarks.machine import pss_mib
from benchmarks.served import HEARTH, Client

IDLE_S = 3.0


def starting(quick: bool) -> Iterator[Figure]:
    """`hearth dev` on a fresh folder and on the same once more, and `hearth --help`."""
    runs = 1 if quick else 5
    fresh, again, sizes = [], [], []
    with tempfile.TemporaryDirectory() as cache:
        environment = _environment(cache)
        for _ in range(runs + 1):
            with tempfile.TemporaryDirectory() as folder:
                fresh.append(_dev(Path(folder), environment)[0])
                took, size = _dev(Path(folder), environment)
                again.append(took)
                sizes.append(size)
        helped = median_s(lambda: _help(environment), max(3, 2 * runs))
        with tempfile.TemporaryDirectory() as folder:
            bare = {**environment, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": folder}
            without = _dev(Path(folder), bare)[0]
    yield Figure("hearth dev to the first answer", statistics.median(fresh[1:]), "s", 1.5)
    yield Figure(
        "hearth dev to the first answer, data there", statistics.median(again[1:]), "s", 1.5
    )
    yield Figure("hearth dev, idle memory of both (PSS)", statistics.median(sizes), "MiB", 150)
    yield Figure("hearth --help", helped, "s", 0.12)
    yield Figure("hearth dev, no byte code at all (first start after copying)", without, "s")


def _help(environment: dict[str, str]) -> None:
    command = [str(HEARTH), "--help"]
    subprocess.run(command, capture_output=True, check=True, env=environment)


def _environment(cache: str) -> dict[str, str]:
    """As an installed package has it: with byte code, whatever this environment forbids."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": cache}


def _dev(folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds to the first answer and MiB of both processes when idle."""
    start = time.perf_counter()
    command = [str(HEARTH), "dev", "--port", "0", "--data", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = next(word.rstrip(",") for word in line.split() if word.startswith("http"))
        client = Client(url.removesuffix("/v1"))
        status, _ = client.call("GET", "/")
        assert status in (200, 300)
        took = time.perf_counter() - start
        client.close()
        time.sleep(IDLE_S)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return took, sum(pss_mib(pid) for pid in (process.pid, *map(int, children)))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(15)
        if process.stdout is not None:
            process.stdout.close()
