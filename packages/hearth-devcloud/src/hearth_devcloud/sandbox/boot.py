"""The boot of a server without cloud-init: it processes the user data as cloud-init would do.

At each boot, the boothooks run in the order of the user data, and then bootcmd. At the first boot,
the other parts of the user data are passed to their handlers before bootcmd. After bootcmd follow
write_files, the authorized keys, runcmd, and the scripts in the order of their names.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import os
import pwd
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

DRIVE = Path("/mnt/config")
LIB = Path("/var/lib/cloud")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/sh",
    "LANG": "C.UTF-8",
}
_HANDLERS_MAX = {1: 4, 2: 5, 3: 6}  # arguments of handle_part by version

Plan = dict[str, Any]


def run(plan: Plan) -> None:
    """Carry out a boot plan. Failures are written to the console, and the boot continues."""
    began = time.monotonic()
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    os.umask(0o022)
    os.chdir("/")
    first = not (LIB / "instances" / plan["instance_id"] / "boot-finished").exists()
    say(f"boot of {plan['hostname']}, instance {plan['instance_id']}")
    instance = _place(plan)
    for note in plan["notes"]:
        say(note)
    steps: list[Callable[[], None]] = [
        lambda: _parts(plan["parts"], instance, first=first),
        lambda: _commands(plan["bootcmd"], instance / "bootcmd.sh"),
    ]
    if first:
        steps += [
            lambda: _write_files(plan["write_files"]),
            lambda: _keys(plan["authorized_keys"]),
            lambda: _script_of(plan["runcmd"], instance / "scripts" / "runcmd"),
            lambda: _scripts(instance / "scripts"),
        ]
    for step in steps:
        try:
            step()
        except Exception:
            say(traceback.format_exc())
    (instance / "boot-finished").write_text(f"{time.monotonic() - began:.2f}\n")
    say(f"boot finished after {time.monotonic() - began:.2f} s")


def say(text: str) -> None:
    """Write a line to the console of the server."""
    sys.stdout.write(f"hearth-init: {text}\n")
    sys.stdout.flush()


def place(etc: dict[str, str], drive: dict[str, str], folder: Path) -> None:
    """Write files that a server needs at its boot.

    `etc` contains texts by path; files that exist are not overwritten. `drive` contains the config
    drive (base64 by path), which is written to `folder`.
    """
    for path, text in etc.items():
        if not Path(path).exists():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
    for name, data in drive.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(base64.b64decode(data))


def _place(plan: Plan) -> Path:
    """Create the files of the instance in the folders that cloud-init uses.

    Return the folder of the instance.
    """
    instance = LIB / "instances" / str(plan["instance_id"])
    for folder in (instance / "scripts", LIB / "data", LIB / "seed", Path("/run/cloud-init")):
        folder.mkdir(parents=True, exist_ok=True)
    link = LIB / "instance"
    link.unlink(missing_ok=True)
    link.symlink_to(instance)
    (instance / "user-data.txt").write_bytes(base64.b64decode(plan["user_data"]))
    (instance / "user-data.txt").chmod(0o600)
    (LIB / "data" / "instance-id").write_text(plan["instance_id"] + "\n")
    place(plan["etc"], plan["drive"], DRIVE)
    return instance


def _parts(parts: list[Plan], instance: Path, *, first: bool) -> None:
    """Process the parts of the user data in order; `first` is true at the first boot."""
    handlers: list[tuple[ModuleType, list[str]]] = []
    for number, part in enumerate(parts):
        data = base64.b64decode(part["data"])
        try:
            match part["type"]:
                case "text/part-handler" if first:
                    handlers.append(_handler(data, f"part_handler_{number}"))
                case "text/cloud-boothook":
                    _boothook(data, instance / "boothooks" / part["name"], plan_id=instance.name)
                case "text/x-shellscript" | "text/x-shellscript-per-instance" if first:
                    _write_script(instance / "scripts" / part["name"], data)
                case kind if first and not _handled(handlers, kind, part["name"], data):
                    if part["note"]:
                        say(part["note"])
        except Exception:
            say(f"part {part['name']}:\n{traceback.format_exc()}")
    for module, _ in handlers:
        _call(module, "__end__", None, None)


def _handler(data: bytes, name: str) -> tuple[ModuleType, list[str]]:
    module = ModuleType(name)
    exec(compile(data, name, "exec"), module.__dict__)  # noqa: S102 - inside the server
    types = list(module.list_types())
    _call(module, "__begin__", None, None)
    return module, types


def _handled(
    handlers: list[tuple[ModuleType, list[str]]], kind: str, name: str, data: bytes
) -> bool:
    """Pass a part to the first part handler for its type; return whether there is one."""
    for module, types in handlers:
        if kind in types:
            _call(module, kind, name, data.decode(errors="surrogateescape"))
            return True
    return False


def _call(module: ModuleType, kind: str, name: str | None, text: str | None) -> None:
    version = int(getattr(module, "handler_version", 1))
    arguments: list[Any] = [{}, kind, name, text, "once-per-instance", {}]
    try:
        module.handle_part(*arguments[: _HANDLERS_MAX.get(version, 4)])
    except Exception:
        say(f"part handler:\n{traceback.format_exc()}")


def _boothook(data: bytes, path: Path, *, plan_id: str) -> None:
    _write_script(path, data.removeprefix(b"#cloud-boothook\n"))
    _execute([str(path)], {"INSTANCE_ID": plan_id})


def _write_script(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o700)


def _execute(command: list[str], extra: dict[str, str] | None = None) -> None:
    """Run a program and report a failure on the console. A script without `#!` runs in sh.

    `extra` are further environment variables.
    """
    sys.stdout.flush()
    try:
        status = subprocess.run(
            command, env={**os.environ, **(extra or {})}, check=False
        ).returncode
    except OSError as problem:
        if problem.errno != 8:  # ENOEXEC
            say(f"{command[0]}: {problem.strerror}")
            return
        status = subprocess.run(["/bin/sh", *command], check=False).returncode
    if status:
        say(f"{Path(command[0]).name} failed with status {status}")


def _script_of(commands: str, path: Path) -> None:
    if commands:
        _write_script(path, commands.encode())


def _commands(commands: str, path: Path) -> None:
    if commands:
        _write_script(path, commands.encode())
        _execute([str(path)])


def _scripts(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_file():
            _execute([str(path)])


def _keys(keys: list[str]) -> None:
    if keys:
        folder = Path("/root/.ssh")
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "authorized_keys").write_text("".join(f"{key}\n" for key in keys))
        (folder / "authorized_keys").chmod(0o600)


def _write_files(files: list[Plan]) -> None:
    for file in files:
        try:
            _write_file(file)
        except (OSError, ValueError, LookupError) as problem:
            say(f"write_files: {file['path']}: {problem}")


def _write_file(file: Plan) -> None:
    data = base64.b64decode(file["data"])
    if file["compressed"]:
        data = gzip.decompress(data)
    path = Path(file["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    if not file["append"]:
        path.unlink(missing_ok=True)  # the server may replace a file of the machine, not write it
    with path.open("ab" if file["append"] else "wb") as opened:
        opened.write(data)
    path.chmod(file["mode"])
    if file["owner"] not in ("root:root", "root"):
        user, _, group = file["owner"].partition(":")
        with contextlib.suppress(OSError):  # the server may only have the user root
            pwd.getpwnam(user)
            shutil.chown(path, user, group or None)
