"""User data as a plan: what cloud-init would find in it, without a server."""

from __future__ import annotations

import base64
import gzip
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

import pytest

from hearth_devcloud.sandbox import userdata
from hearth_devcloud.sandbox.plan import boot_plan
from hearth_devcloud.sandbox.userdata import MimePart, Unreadable, parts


def plan(user_data: bytes) -> dict[str, Any]:
    return boot_plan(instance_id="i", hostname="h", user_data=user_data)


def multipart(*given: tuple[str, str | None, str]) -> bytes:
    message = MIMEMultipart()
    for kind, name, text in given:
        part = MIMEText(text, kind)
        if name:
            part.add_header("Content-Disposition", "attachment", filename=name)
        message.attach(part)
    return message.as_bytes()


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        ("#!/bin/sh\n", "text/x-shellscript"),
        ("#cloud-config\n", "text/cloud-config"),
        ("#cloud-boothook\n", "text/cloud-boothook"),
        ("#part-handler\n", "text/part-handler"),
        ("#include\n", "text/x-include-url"),
        ("just text", "text/plain"),
    ],
)
def test_the_start_tells_the_type_also_in_gzip_and_in_a_part_of_plain_text(start: str, kind: str):
    data = start.encode()
    for wrapped in (data, gzip.compress(data)):
        (part,) = parts(wrapped)
        assert (part.type, part.name, part.data) == (kind, "part-001", data)
    (part,) = parts(multipart(("plain", "a.sh", start)))
    assert (part.type, part.name) == (kind, "a.sh")


def test_parts_keep_their_order_names_and_types():
    found = parts(
        multipart(
            ("cloud-config", None, "#cloud-config\n"),
            ("x-cfninitdata", "cfn-init-data", "{}"),
            ("x-shellscript", "../../etc/run", "#!/bin/sh\n"),
        )
    )
    assert [(part.type, part.name) for part in found] == [
        ("text/cloud-config", "part-001"),
        ("text/x-cfninitdata", "cfn-init-data"),
        ("text/x-shellscript", "_.._etc_run"),
    ]


def test_no_user_data_is_no_part():
    assert parts(b"") == parts(b" \n") == []


def test_damaged_and_enormous_gzip_is_a_note(monkeypatch: pytest.MonkeyPatch):
    damaged = gzip.compress(b"#!/bin/sh\n")[:6] + b"junkjunkjunk"
    with pytest.raises(Unreadable, match="damaged"):
        parts(damaged)
    assert any("damaged" in note for note in plan(damaged)["notes"])
    monkeypatch.setattr(userdata, "SIZE_MAX", 1000)
    with pytest.raises(Unreadable, match="longer than 1000"):
        parts(gzip.compress(b"x" * 1001))
    assert parts(gzip.compress(b"x" * 1000)) == [MimePart("text/plain", "part-001", b"x" * 1000)]


CONFIG = b"""#cloud-config
hostname: other.example
users: [default]
packages: [nginx]
bootcmd: [echo one]
runcmd:
  - echo "$HOME" > /tmp/a
  - [touch, "a b"]
  -
write_files:
  - {path: /a, content: plain}
  - {path: /b, content: AAEC, encoding: b64, permissions: "0600", owner: "nobody:nogroup"}
  - {path: /c, content: x, append: true, permissions: 493}
  - {content: "no path"}
"""


def test_cloud_config_becomes_steps_and_what_it_cannot_do_becomes_notes():
    found = plan(CONFIG)
    assert found["hostname"] == "other"
    assert found["bootcmd"] == "#!/bin/sh\necho one\n"
    assert found["runcmd"] == "#!/bin/sh\necho \"$HOME\" > /tmp/a\ntouch 'a b'\n"
    a, b, c = found["write_files"]
    assert (a["path"], base64.b64decode(a["data"]), a["mode"]) == ("/a", b"plain", 0o644)
    assert (base64.b64decode(b["data"]), b["mode"], b["owner"]) == (
        b"\0\1\2",
        0o600,
        "nobody:nogroup",
    )
    assert (c["append"], c["mode"]) == (True, 0o755)
    ignored = [note.split()[1] for note in found["notes"] if "is ignored" in note]
    assert ignored == ["packages", "users"]
    assert sum("write_files" in note for note in found["notes"]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "#cloud-config\n- a list", "#cloud-config\n{", "#cloud-config\nruncmd: 3",
        "#cloud-config\nruncmd: " + "[" * 3000, "#cloud-config\nx: 2001-99-99",
        "#cloud-config\nx: !!int ''",
    ],
)  # fmt: skip
def test_a_cloud_config_that_is_none_is_a_note(text: str):
    found = plan(text.encode())
    assert len(found["notes"]) == 1
    assert found["runcmd"] == ""


def test_a_later_cloud_config_wins_by_key():
    first, second = "#cloud-config\nruncmd: [a]\nbootcmd: [b]\n", "#cloud-config\nruncmd: [c]\n"
    found = plan(multipart(("cloud-config", None, first), ("cloud-config", None, second)))
    assert (found["runcmd"], found["bootcmd"]) == ("#!/bin/sh\nc\n", "#!/bin/sh\nb\n")


def test_what_nothing_handles_has_a_note_of_its_own():
    found = plan(multipart(("x-unknown", "odd", "?"), ("x-shellscript", None, "#!/bin/sh\n")))
    assert [bool(part["note"]) for part in found["parts"]] == [True, False]
