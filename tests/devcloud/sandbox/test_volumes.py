"""Volumes and config drives of servers that run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcloud.sandbox.machines import Machines, until

pytestmark = pytest.mark.slow

WATCH = """#!/bin/sh
for i in $(seq 200); do
    [ -d /mnt/vdb ] && [ ! -e /was ] && echo "SHOWN $(cat /mnt/vdb/note 2>/dev/null)" && touch /was
    [ -d /mnt/vdb ] && echo "from $(hostname)" > /mnt/vdb/note
    [ ! -d /mnt/vdb ] && [ -e /was ] && echo HIDDEN && exit
    sleep 0.05
done
"""


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with Machines(data=tmp_path / "cloud.json") as cloud:
        yield cloud


def volume(machines: Machines) -> str:
    project = machines.call("GET", "/identity/v3/auth/projects").json()["projects"][0]["id"]
    reply = machines.call("POST", f"/volume/v3/{project}/volumes", {"volume": {"size": 1}})
    made = reply.json()["volume"]["id"]
    path = f"/volume/v3/{project}/volumes/{made}"
    until(lambda: machines.call("GET", path).json()["volume"]["status"] == "available")
    return str(made)


def test_a_volume_is_shown_while_it_is_attached_and_keeps_what_was_written(
    machines: Machines, tmp_path: Path
):
    made = volume(machines)
    for name, before in (("first", ""), ("second", "from first")):
        server = machines.boot(WATCH, name=name)
        machines.reaches(server, "ACTIVE")
        path = f"/compute/v2.1/servers/{server}/os-volume_attachments"
        given = {"volumeAttachment": {"volumeId": made}}
        assert machines.call("POST", path, given).status_code == 200
        assert f"SHOWN {before}".strip() in machines.said(server, "SHOWN")
        until((tmp_path / "volumes" / made / "note").exists)
        assert machines.call("DELETE", f"{path}/{made}").status_code == 202
        machines.said(server, "HIDDEN")
        machines.delete(server)
    objects = machines.call("DELETE", f"/devcloud/objects/{made}")
    assert objects.status_code == 200
    until(lambda: not (tmp_path / "volumes" / made).exists())


def test_a_server_that_is_lost_ends(machines: Machines):
    server = machines.boot("#!/bin/sh\necho up\n")
    machines.said(server)
    sandbox = machines.running.sandbox
    assert sandbox is not None
    assert server in sandbox._running
    machines.call("DELETE", f"/devcloud/objects/{server}")
    until(lambda: server not in sandbox._running)


def test_a_config_drive_is_a_folder(machines: Machines):
    script = "#!/bin/sh\ncat /mnt/config/openstack/latest/meta_data.json; echo\n"
    for wanted in (True, False):
        server = machines.boot(script, config_drive=wanted)
        text = machines.said(server)
        lines = [line for line in text.splitlines() if line.startswith("{")]
        assert [json.loads(line)["uuid"] for line in lines] == [server] * wanted
        machines.delete(server)


STUBBORN = """#!/bin/sh
for i in $(seq 400); do
    [ -e /mnt/vdb/kept ] && [ ! -e /seen ] && touch /seen && echo SHOWN
    [ -e /seen ] && mkdir -p /mnt/vdb/more && echo mine > /mnt/vdb/more/note
    [ -e /seen ] && [ ! -e /mnt/vdb/kept ] && echo GONE && rm -r /seen && exit
    sleep 0.01
done
"""


def test_a_server_that_writes_to_the_mount_point_does_not_keep_the_volume(
    machines: Machines, tmp_path: Path
):
    made = volume(machines)
    server = machines.boot(STUBBORN, name="stubborn")
    machines.reaches(server, "ACTIVE")
    path = f"/compute/v2.1/servers/{server}/os-volume_attachments"
    given = {"volumeAttachment": {"volumeId": made}}
    assert machines.call("POST", path, given).status_code == 200
    folder = tmp_path / "volumes" / made
    until(folder.exists)
    (folder / "kept").write_text("data")
    machines.said(server, "SHOWN")
    assert machines.call("DELETE", f"{path}/{made}").status_code == 202
    machines.said(server, "GONE")
    assert (folder / "kept").read_text() == "data"  # only the mount point was removed
    other = machines.boot(WATCH, name="other")
    machines.reaches(other, "ACTIVE")
    path = f"/compute/v2.1/servers/{other}/os-volume_attachments"
    assert machines.call("POST", path, given).status_code == 200
    machines.said(other, "SHOWN")
