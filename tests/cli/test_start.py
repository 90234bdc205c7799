"""The `hearth` command pauses the garbage collector while it imports its modules."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import gc
import hearth.cli.main

def show():
    print(gc.isenabled(), gc.get_freeze_count() > 0)

hearth.cli.main.main = show
from hearth.cli.start import main
main()
print(gc.isenabled())
"""


def printed(script: str, folder: Path) -> str:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_collections_pause_only_for_the_imports(tmp_path: Path) -> None:
    assert printed(SCRIPT, tmp_path).split() == ["True", "True", "True"]
