"""The boot plan of a server: user data and other settings, in the format that its init reads."""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Callable
from typing import Any

import yaml

from hearth_devcloud.sandbox.userdata import MimePart, Unreadable, parts

Plan = dict[str, Any]

CONFIG = "text/cloud-config"
_HANDLED = {
    "text/part-handler",
    "text/cloud-boothook",
    "text/x-shellscript",
    "text/x-shellscript-per-instance",
}
_USED = {"bootcmd", "runcmd", "write_files", "hostname", "fqdn", "ssh_authorized_keys"}
_WITHOUT_EFFECT = {"output", "manage_etc_hosts", "preserve_hostname", "disable_root", "merge_how"}
_MODE = 0o644


def boot_plan(
    *,
    instance_id: str,
    hostname: str,
    user_data: bytes,
    etc: dict[str, str] | None = None,
    keys: list[str] | None = None,
    drive: dict[str, bytes] | None = None,
    notes: list[str] | None = None,
) -> Plan:
    """Return the boot plan of a server without cloud-init.

    `etc` are texts of files by path, `keys` are SSH public keys, and `drive` are the files of the
    config drive. Unsupported parts of the user data become `notes`, which the console shows.
    """
    notes = list(notes or [])
    all_parts: list[MimePart] = []
    try:
        all_parts = parts(user_data)
    except Unreadable as problem:
        notes.append(f"user data: {problem}")
    config: dict[str, Any] = {}
    for part in all_parts:
        if part.type == CONFIG:
            config.update(_config(part, notes))
    ignored = sorted(set(config) - _USED - _WITHOUT_EFFECT)
    notes += [f"cloud-config: {key} is ignored in a sandbox server" for key in ignored]
    keys = [*(keys or []), *_texts(config, "ssh_authorized_keys", notes)]
    return {
        "cloud_init": False,
        "instance_id": instance_id,
        "hostname": _hostname(config, hostname),
        "notes": notes,
        "user_data": _text(user_data),
        "parts": [_part(part) for part in all_parts if part.type != CONFIG],
        "bootcmd": _commands(config, "bootcmd", notes),
        "runcmd": _commands(config, "runcmd", notes),
        "write_files": _files(config, notes),
        "authorized_keys": keys,
        "etc": etc or {},
        "drive": _texts_of(drive or {}),
    }


def cloud_init_plan(
    *, instance_id: str, hostname: str, etc: dict[str, str], drive: dict[str, bytes]
) -> Plan:
    """Return the boot plan of a server with cloud-init, which reads the user data itself."""
    return {
        "cloud_init": True,
        "instance_id": instance_id,
        "hostname": hostname,
        "notes": [],
        "etc": etc,
        "drive": _texts_of(drive),
    }


def _texts_of(drive: dict[str, bytes]) -> dict[str, str]:
    return {path: _text(data) for path, data in drive.items()}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _part(part: MimePart) -> Plan:
    is_handled = part.type in _HANDLED
    note = "" if is_handled else f"part {part.name} is ignored: no handler for the type {part.type}"
    return {"type": part.type, "name": part.name, "data": _text(part.data), "note": note}


def _hostname(config: dict[str, Any], default: str) -> str:
    name = config.get("hostname") or config.get("fqdn") or default
    return str(name).partition(".")[0][:63]


def _config(part: MimePart, notes: list[str]) -> dict[str, Any]:
    """Return the parsed cloud-config of a part.

    If it is invalid, add a note and return an empty map.
    """
    try:
        document = yaml.safe_load(part.data)
    except (yaml.YAMLError, RecursionError, ValueError, IndexError) as problem:
        notes.append(f"cloud-config {part.name}: {' '.join(str(problem).split())}")
        return {}
    if document is None:
        return {}
    if not isinstance(document, dict):
        notes.append(f"cloud-config {part.name}: expected a map")
        return {}
    return {str(key): value for key, value in document.items()}


def _list(config: dict[str, Any], key: str, notes: list[str]) -> list[Any]:
    value = config.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        notes.append(f"cloud-config: {key}: expected a list")
        return []
    return value


def _texts(config: dict[str, Any], key: str, notes: list[str]) -> list[str]:
    return [str(item) for item in _list(config, key, notes)]


def _commands(config: dict[str, Any], key: str, notes: list[str]) -> str:
    """Return the commands under a key of a cloud-config as a shell script.

    A list is a command with arguments; a text is a line of the script.
    """
    lines = []
    for item in _list(config, key, notes):
        match item:
            case None:
                continue
            case list():
                lines.append(" ".join(shlex.quote(str(word)) for word in item))
            case str() | int() | float():
                lines.append(str(item))
            case _:
                notes.append(f"cloud-config: {key}: expected text or a list, got {item!r}")
    return "#!/bin/sh\n" + "\n".join(lines) + "\n" if lines else ""


def _files(config: dict[str, Any], notes: list[str]) -> list[Plan]:
    files = []
    for item in _list(config, "write_files", notes):
        try:
            files.append(_file(item))
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            notes.append(f"cloud-config: write_files: {item!r:.80}: {problem!r:.80}")
    return files


_DECODERS: dict[str, tuple[bool, bool]] = {  # encoding: (is base64, is gzip)
    "": (False, False),
    "text/plain": (False, False),
    "b64": (True, False),
    "base64": (True, False),
    "gz": (False, True),
    "gzip": (False, True),
    **{f"{z}+{b}": (True, True) for z in ("gz", "gzip") for b in ("b64", "base64")},
}


def _file(item: dict[str, Any]) -> Plan:
    is_base64, is_gzip = _DECODERS[str(item.get("encoding") or "").lower()]
    content = item.get("content", "")
    data = content if isinstance(content, bytes) else str(content).encode()
    if is_base64:
        try:
            data = base64.b64decode(data)
        except binascii.Error as problem:
            raise ValueError(str(problem)) from None
    return {
        "path": str(item["path"]),
        "data": _text(data),
        "compressed": is_gzip,
        "append": bool(item.get("append")),
        "mode": _mode(item.get("permissions")),
        "owner": str(item.get("owner") or "root:root"),
    }


def _mode(mode: Any) -> int:
    """Return file permissions as an integer; a text is an octal number. Raises ValueError."""
    if mode is None:
        return _MODE
    parse: Callable[[Any], int] = int if isinstance(mode, int) else lambda text: int(text, 8)
    return parse(mode) & 0o7777
