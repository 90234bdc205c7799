"""A mmdebstrap for tests: its archive has the machine's own shell, and a cloud-init that talks."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hearth_devcloud.images import build

PROGRAM = """#!{python}
import io, os, sys, tarfile
sys.stderr.write("I: " + " ".join(sys.argv[1:]) + "\\n")
{before}
def add(name, text="", **more):
    member = tarfile.TarInfo(name)
    member.mode = 0o755
    for key, value in more.items():
        setattr(member, key, value)
    data = text.encode()
    if member.isreg():
        member.size = len(data)
    archive.addfile(member, io.BytesIO(data))
archive = tarfile.open(fileobj=sys.stdout.buffer, mode="w|")
folder = lambda name, **more: add(name, type=tarfile.DIRTYPE, **more)
folder(".")
for name in ("usr", "usr/bin", "usr/sbin", "etc", "etc/cloud", "etc/cloud/cloud.cfg.d", "var",
             "var/lib", "var/lib/cloud", "var/log", "tmp", "dev", "home", "proc", "run", "sys"):
    folder(name)
folder("home/mia", uid=1000, gid=1000, mode=0o700)
folder("sealed", mode=0o555)
add("sealed/file", "x", mode=0o4755)
add("dev/null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)
add("etc/hostname", "builder")
add("usr/sbin/dhclient", "")
add("version", {version!r})
add("usr/bin/cloud-init", {cloud_init!r})
for path in {copied!r}:
    parts = path.lstrip("/").split("/")
    for depth in range(1, len(parts)):
        folder("/".join(parts[:depth]))
    with open(path, "rb") as file:
        member = tarfile.TarInfo(path.lstrip("/"))
        member.mode, member.size = 0o755, os.fstat(file.fileno()).st_size
        archive.addfile(member, file)
archive.close()
{after}
"""
CLOUD_INIT = """#!/bin/sh
echo "stage $*"
read -r version < /version
[ "$1 $2" = "init --local" ] && echo "version $version"
if [ "$2" = "--mode=final" ] && ! [ -e /var/lib/cloud/seen ]; then
  echo FIRST
  echo > /var/lib/cloud/seen
fi
read -r name < /etc/hostname
echo "on $name"
"""


def pretend(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    version: str = "1",
    before: str = "",
    after: str = "",
) -> None:
    """Put the program into a folder, the first of PATH."""
    shell = shutil.which("sh")
    assert shell is not None
    folder.mkdir(exist_ok=True)
    text = PROGRAM.format(
        python=sys.executable,
        before=before,
        after=after,
        version=version + "\n",
        cloud_init=CLOUD_INIT,
        copied=["/bin/sh", *_libraries(shell)],
    )
    (folder / build.PROGRAM).write_text(text)
    (folder / build.PROGRAM).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin")


def _libraries(program: str) -> list[str]:
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
    words = [word for line in done.stdout.splitlines() for word in line.split()]
    return [word for word in words if word.startswith("/")]
