"""What the figures were taken on."""

import os
import platform
import sqlite3
import subprocess
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    """Processor, memory, kernel, versions and the commit."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory": _field("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load": os.getloadavg()[0],
        "commit": _commit(),
    }


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _commit() -> str:
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def pss_mib(pid: int) -> float:
    """The proportional set size of a process."""
    return int(_field(f"/proc/{pid}/smaps_rollup", "Pss").split()[0]) / 1024


def cpu_s(pid: int) -> float:
    """Processor time that the living threads of a process have used."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def peak_mib() -> float:
    """The most memory this process has had."""
    return int(_field("/proc/self/status", "VmHWM").split()[0]) / 1024
