"""The boot of a server whose image has cloud-init.

There is no systemd, so Hearth runs the stages of cloud-init in order. The boot is finished when the
last stage has ended.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

from hearth_devcloud.sandbox.boot import ENVIRONMENT, place, say

PROGRAM = "/usr/bin/cloud-init"
STAGES = (
    ("init", "--local"),
    ("init",),
    ("modules", "--mode=config"),
    ("modules", "--mode=final"),
)
SEED = Path("/var/lib/cloud/seed/config_drive")


def run(plan: dict[str, Any]) -> None:
    """Run the stages of cloud-init. Failures are written to the console, and the boot continues."""
    began = time.monotonic()
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    os.umask(0o022)
    os.chdir("/")
    say(f"boot of {plan['hostname']}, instance {plan['instance_id']}")
    place(plan["etc"], plan["drive"], SEED)
    for note in plan["notes"]:
        say(note)
    for stage in STAGES:
        try:
            status = subprocess.run([PROGRAM, *stage], check=False).returncode
        except OSError as problem:
            say(f"{PROGRAM}: {problem.strerror}")
            break
        if status:
            say(f"cloud-init {' '.join(stage)} failed with status {status}")
    say(f"boot finished after {time.monotonic() - began:.2f} s")
