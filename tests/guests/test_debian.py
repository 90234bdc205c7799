"""Servers of the image `debian`: what the cloud-init of Debian does with user data."""

import re
from collections.abc import Iterator
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest
import yaml

from tests.clients.dev import Dev, hearth_dev, settled
from tests.devcloud.sandbox.machines import Machines
from tests.devcloud.sandbox.test_images import image_of
from tests.devcloud.sandbox.test_servers import HANDLER
from tests.guests.debian import need_image
from tests.guests.test_sandbox import check_deployment

pytestmark = pytest.mark.slow

CONFIG = """#cloud-config
hostname: renamed
bootcmd: ["echo BOOTCMD"]
write_files: [{path: /etc/wanted, content: "WRITTEN\\n", permissions: "0640"}]
runcmd: ["echo RUNCMD $(cat /etc/wanted) $(stat -c %a /etc/wanted)"]
users: [{name: mia, shell: /bin/sh}]
"""
BOOTHOOK = "#cloud-boothook\n#!/bin/sh\necho BOOTHOOK $INSTANCE_ID > /dev/console\n"
FACTS = """#!/bin/sh
echo "HOST $(hostname -f)"
echo "SOURCE $(cloud-init query platform) $(cloud-init --version)"
echo "KEYS $(cut -d' ' -f3 /root/.ssh/authorized_keys)"
echo "ADDRESS $(ip -o -4 addr show eth0 | sed 's/.*inet //; s/ .*//')"
echo "MAC $(cat /sys/class/net/eth0/address)"
echo "DEBIAN $(cut -d. -f1 /etc/debian_version)"
"""
NOTIFIED = """
heat_template_version: 2021-04-16
resources:
  server:
    type: OS::Nova::Server
    properties:
      image: debian
      flavor: m1.tiny
      networks: [{network: private}]
      user_data_format: HEAT_CFNTOOLS
      user_data:
        str_replace:
          template: |
            #!/bin/sh
            NOTIFY --data-binary "{\\"status\\": \\"SUCCESS\\", \\"data\\": \\"$(hostname)\\"}"
          params: {NOTIFY: {get_attr: [handle, curl_cli]}}
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 60}}
outputs:
  data: {value: {get_attr: [wait, data]}}
"""


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    need_image(tmp_path)
    with Machines(data=tmp_path / "cloud.json") as cloud:
        yield cloud


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = tmp_path_factory.mktemp("hearth")
    need_image(folder)
    with hearth_dev(folder, "--servers", "sandbox") as running:
        yield running


def spoken(text: str) -> list[str]:
    """The lines of the console that begin with a word in capitals."""
    return [line for line in text.splitlines() if re.match(r"(@|[A-Z]{3,}) ?", line)]


@pytest.mark.parametrize("drive", [False, True], ids=["metadata service", "config drive"])
def test_a_server_is_what_its_metadata_say(machines: Machines, drive: bool):
    server = machines.boot(
        FACTS, imageRef=image_of(machines, "debian"), key_name="default", config_drive=drive
    )
    text = machines.said(server)
    found = dict(line.split(" ", 1) for line in spoken(text))
    (addresses,) = machines.show(server)["addresses"].values()
    assert found["HOST"] == "box.novalocal"
    source = "configdrive" if drive else "openstack"
    assert found["SOURCE"].startswith(f"{source} /usr/bin/cloud-init 22.4")
    assert found["KEYS"] == "default"
    assert found["ADDRESS"].split("/")[0] == addresses[0]["addr"]
    assert found["MAC"] == addresses[0]["OS-EXT-IPS-MAC:mac_addr"]
    assert found["DEBIAN"] == "12"
    assert ("Datasource DataSourceConfigDrive" in text) == drive
    assert "WARNING" not in text.replace("schema.py[WARNING]", "")  # of an empty cloud-config


def test_each_part_of_a_message_is_carried_out_once(machines: Machines):
    message = MIMEMultipart()
    for kind, name, text in (
        ("x-shellscript", "zz-last", "#!/bin/sh\necho SCRIPT zz $(hostname) $(id -un mia)\n"),
        ("cloud-config", "config", CONFIG),
        ("part-handler", "handler.py", HANDLER),
        ("x-mine", "own", "PAYLOAD"),
        ("cloud-boothook", "hook", BOOTHOOK),
        ("x-shellscript", "aa-first", "#!/bin/sh\necho SCRIPT aa\n"),
    ):
        part = MIMEText(text, kind)
        part.add_header("Content-Disposition", "attachment", filename=name)
        message.attach(part)
    server = machines.boot(message.as_bytes(), imageRef=image_of(machines, "debian"))
    first = [
        "HANDLER __begin__ None",
        "HANDLER text/x-mine own PAYLOAD",
        f"BOOTHOOK {server}",
        "HANDLER __end__ None",
        "BOOTCMD",
        "SCRIPT aa",
        "RUNCMD WRITTEN 640",
        "SCRIPT zz renamed mia",
    ]
    assert sorted(line.strip() for line in spoken(machines.said(server))) == sorted(first)
    for times, stop in ((2, lambda: machines.act(server, "reboot", {"type": "SOFT"})), (3, None)):
        if stop is not None:
            stop()
        else:
            machines.act(server, "os-stop")
            machines.reaches(server, "SHUTOFF")
            machines.act(server, "os-start")
        lines = spoken(machines.said(server, times=times))
        assert [lines.count(one) for one in ("SCRIPT aa", "BOOTCMD", f"BOOTHOOK {server}")] == [
            1, times, times,
        ]  # fmt: skip
    machines.delete(server)


@pytest.mark.parametrize("transport", ["POLL_SERVER_CFN", "POLL_SERVER_HEAT", "ZAQAR_MESSAGE"])
def test_our_agent_comes_along_and_reports(dev: Dev, transport: str):
    check_deployment(dev, transport, image="debian")


def test_user_data_of_heat_notify_a_wait_condition(dev: Dev):
    with dev.heat() as heat:
        made = heat.stacks.create(stack_name="notified", template=yaml.safe_load(NOTIFIED))
        stack_id = made["stack"]["id"]
        state = settled(heat, stack_id, "CREATE")
        assert state.stack_status == "CREATE_COMPLETE", state.stack_status_reason
        (output,) = heat.stacks.get(stack_id).outputs
        assert "notified-server" in output["output_value"]
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
