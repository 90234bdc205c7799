"""Build the wheel of Hearth, and a lock file that installs it with its libraries.

    .venv/bin/python deploy/wheel/build.py dist

The lock file is requirements/run-time.lock and the wheel, all with hashes. In the folder of both,
`pip install -r hearth-VERSION.lock` installs Hearth in one line.
"""

import contextlib
import hashlib
import sys
from pathlib import Path

from hatchling.build import build_wheel

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "run-time.lock"


def build(folder: Path, root: Path = ROOT) -> tuple[Path, Path]:
    """Build the wheel and its lock file from the source in `root`; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder.resolve()
    with contextlib.chdir(root):
        wheel = folder / build_wheel(str(place))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock = folder / f"{'-'.join(wheel.name.split('-')[:2])}.lock"
    lines = f"./{wheel.name} \\\n    --hash=sha256:{digest}\n"
    lock.write_text(LOCK.read_text() + lines)
    return wheel, lock


if __name__ == "__main__":
    for path in build(Path(sys.argv[1])):
        print(path)
