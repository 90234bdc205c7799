"""The state in a file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hearth_devcloud import snapshot
from hearth_devcloud.cloud import DevCloud
from hearth_devcloud.fixed_ids import fixed, fixed_hex
from hearth_devcloud.store import Resource


def test_what_was_to_happen_still_happens_after_a_restart(tmp_path: Path) -> None:
    before, after = DevCloud(), DevCloud()
    body = {"id": "v", "name": "v", "status": "creating", "size": 1, "updated_at": None}
    volume = before.store.insert(Resource("v", "volume.volumes", "p", body))
    before.store.later(0, volume, "volume.ready")
    snapshot.save(before, tmp_path / "state")
    snapshot.load(after, tmp_path / "state")
    after.settle()
    assert after.store.table("volume.volumes")["v"].body["status"] == "available"
    assert [entry.id for entry in after.store.ledger.entries] == ["v"]


def test_indexes_are_there_after_a_restart(tmp_path: Path) -> None:
    before, after = DevCloud(), DevCloud()
    snapshot.save(before, tmp_path / "state")
    snapshot.load(after, tmp_path / "state")
    network = fixed("network", "private")
    found = after.store.where("network.subnets", network_id=network)
    assert [subnet.body["cidr"] for subnet in found] == ["10.0.0.0/24"]
    assert after.store.where("identity.assignments", target=fixed_hex("project", "demo"))


def test_a_state_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    cloud = DevCloud()
    snapshot.save(cloud, path)
    state = msgspec.msgpack.decode(path.read_bytes())
    path.write_bytes(msgspec.msgpack.encode({**state, "format": 99}))
    with pytest.raises(ValueError, match="format 99"):
        snapshot.load(cloud, path)


def test_no_link_is_followed_and_only_the_owner_can_read_the_state(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("a file of the user")
    (tmp_path / "state.new").symlink_to(target)
    snapshot.save(DevCloud(), tmp_path / "state")
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    assert target.read_text() == "a file of the user"
