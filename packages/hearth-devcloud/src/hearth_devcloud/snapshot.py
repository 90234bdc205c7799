"""Snapshots of the state of the cloud, in memory and in a file."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from hearth_devcloud.http import Cloud
from hearth_devcloud.ledger import CallEntry, Entry
from hearth_devcloud.store import Resource

FORMAT = 1


class _State(msgspec.Struct):
    format: int
    resources: list[Resource] = msgspec.field(name="things")
    agenda: list[tuple[float, int, str, str, str]]
    entries: list[Entry]
    calls: list[CallEntry]
    marks: dict[str, int]
    serials: dict[str, int]


def dump(cloud: Cloud) -> bytes:
    """Return the complete state of the cloud."""
    store, ledger = cloud.store, cloud.store.ledger
    state = _State(
        format=FORMAT,
        resources=[resource for table in store.tables.values() for resource in table.values()],
        agenda=store.agenda,
        entries=ledger.entries,
        calls=ledger.calls,
        marks={
            "seq": ledger.seq,
            "first": ledger.first,
            "calls_from": ledger.calls_from,
        },
        serials=store.serials,
    )
    return msgspec.msgpack.encode(state)


def save(cloud: Cloud, path: Path) -> None:
    """Write the complete state of the cloud to a file, which is replaced atomically."""
    data = dump(cloud)
    new_path = path.with_name(path.name + ".new")
    new_path.unlink(missing_ok=True)  # it is created exclusively, never opened through a link
    with open(os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    os.replace(new_path, path)
    cloud.store.changed = False


def load(cloud: Cloud, path: Path) -> None:
    """Replace the state of the cloud by the saved state in a file, if the file exists.

    Raises ValueError if the file has another format version.
    """
    if not path.exists():
        return
    try:
        restore(cloud, path.read_bytes())
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def restore(cloud: Cloud, data: bytes) -> None:
    """Replace the state of the cloud by one that `dump` returned.

    Raises ValueError if it has another format version.
    """
    state = msgspec.msgpack.decode(data, type=_State)
    if state.format != FORMAT:
        raise ValueError(f"expected a state of format {FORMAT}, got format {state.format}")
    store, ledger = cloud.store, cloud.store.ledger
    store.clear()
    for resource in state.resources:
        store.adopt(resource)
    store.restore_agenda(state.agenda)
    ledger.entries = state.entries
    ledger.forget_calls()
    for call in state.calls:
        ledger.called(call)
    ledger.seq, ledger.first = state.marks["seq"], state.marks["first"]
    ledger.calls_from, store.serials = state.marks["calls_from"], state.serials
    cloud.callers.clear()
    store.changed = True
