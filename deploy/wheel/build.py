"""Build the wheels and the source archives of Hearth and of its embedded cloud, a lock file that
installs Hearth with its libraries, and its bill of materials.

    .venv/bin/python -m deploy.wheel.build dist

The lock file is requirements/run-time.lock and the wheel, all with hashes. In the folder of both,
`pip install -r hearth-VERSION.lock` installs Hearth in one line. `hearth-VERSION.cdx.json` lists
the packages in the format of CycloneDX. The wheel of the embedded cloud needs no other library.
"""

import contextlib
import hashlib
import sys
from pathlib import Path

from deploy.packages import sbom
from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "run-time.lock"
CLOUD = Path("packages", "hearth-devcloud")


def build_cloud(folder: Path, root: Path = ROOT) -> Path:
    """Build the wheel of the embedded cloud from the source in `root`; return its path."""
    return _wheel(folder, root / CLOUD)


def build_sources(folder: Path, root: Path = ROOT) -> list[Path]:
    """Build the source archives of both packages from the source in `root`; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    target, archives = folder.resolve(), []
    for source in (root, root / CLOUD):
        with contextlib.chdir(source):
            archives.append(folder / build_sdist(str(target)))
    return archives


def build(folder: Path, root: Path = ROOT) -> tuple[Path, Path, Path]:
    """Build the wheel of Hearth, its lock file and its bill of materials from the source in `root`;
    return their paths.
    """
    wheel = _wheel(folder, root)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    name = "-".join(wheel.name.split("-")[:2])
    lock = folder / f"{name}.lock"
    lines = f"./{wheel.name} \\\n    --hash=sha256:{digest}\n"
    lock.write_text(LOCK.read_text() + lines)
    return wheel, lock, sbom.write(folder / f"{name}.cdx.json", wheel)


def _wheel(folder: Path, source: Path) -> Path:
    """Build the wheel of the package in `source`; return its path in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder.resolve()
    with contextlib.chdir(source):
        return folder / build_wheel(str(target))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    for path in (*build(target), build_cloud(target), *build_sources(target)):
        print(path)
