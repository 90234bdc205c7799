"""`hearth serve`: a Keystone and a database that are there already, told by a configuration."""

import asyncio
import json
import os
import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aio_pika
import pytest
import requests
from msgspec.structs import replace

from hearth.cloud.credential import PasswordCredential
from hearth.cloud.fault import NoService
from hearth.config import signers
from hearth.config.configuration import read
from hearth.config.settings import Settings
from hearth.config.wrong import WrongSetting
from hearth.process.wiring import _cfn_url, _identity_url
from tests.clients.dev import HEARTH
from tests.clients.signing import Signer
from tests.conftest import lacking
from tests.devcloud.running import Served
from tests.selection import one_first

pytestmark = one_first

BROKER = os.environ.get("HEARTH_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/")

CONFIG = """
[DEFAULT]
auth_encryption_key = 0123456789abcdef0123456789abcdef
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = secret
stack_user_domain_name = {domain}
max_stacks_per_tenant = {stacks}
reauthentication_auth_method = {reauthentication}
default_notification_level = {level}

[oslo_messaging_notifications]
driver = {driver}
transport_url = {transport}
topics = {topic}

[heat_api_cfn]
bind_host = 127.0.0.1
bind_port = {cfn_port}

[ec2authtoken]
{signers}

[heat_api]
bind_host = 127.0.0.1

[database]
connection = {database}

[keystone_authtoken]
auth_url = {auth_url}
username = hearth
password = {password}
"""


@pytest.fixture(scope="module")
def cloud() -> Iterator[Served]:
    with Served() as running:
        yield running


class Site:
    """A configuration that works, and what happens with one value of it changed."""

    def __init__(self, cloud: Served, folder: Path) -> None:
        self.path = folder / "hearth.conf"
        self.values = {
            "domain": "heat",
            "stacks": "5",
            "database": f"sqlite:///{folder}/hearth.db",
            "auth_url": f"{cloud.url}/identity/v3",
            "password": "secret",
            "reauthentication": "trusts",
            "level": "info",
            "driver": "",
            "transport": "",
            "topic": "notifications",
            "cfn_port": "0",
            "signers": "",
        }

    def command(self, **changed: str) -> list[str]:
        self.path.write_text(CONFIG.format(**{**self.values, **changed}))
        return [*HEARTH, "serve", "--port", "0", "--config", str(self.path)]

    def refused(self, **changed: str) -> str:
        done = subprocess.run(
            self.command(**changed), capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith("hearth: ")
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr


@pytest.fixture
def site(cloud: Served, tmp_path: Path) -> Site:
    return Site(cloud, tmp_path)


@pytest.mark.slow
def test_it_serves_an_existing_cloud(cloud: Served, site: Site):
    with subprocess.Popen(site.command(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("hearth is ready: all http://127.0.0.1:")
            url = line.split()[4]
            token = cloud.token()
            project = cloud.call("GET", "/identity/v3/auth/tokens", headers={
                "X-Subject-Token": token}).json()["token"]["project"]["id"]  # fmt: skip
            listed = requests.get(
                f"{url}/{project}/stacks", headers={"X-Auth-Token": token}, timeout=10
            )
            assert listed.json() == {"stacks": []}
            asked = signer(cloud, line.split()[-1]).ask("ListStacks")
            assert asked.text == (
                "<ListStacksResponse><ListStacksResult><StackSummaries></StackSummaries>"
                "</ListStacksResult></ListStacksResponse>"
            )
            assert asked.headers["X-Openstack-Request-Id"].startswith("req-")
        finally:
            process.terminate()
        assert process.wait(20) == 0


def signer(cloud: Served, url: str) -> Signer:
    """A key pair of the user demo, for the API that has a port of its own."""
    demo = cloud.cloud.store.where("identity.users", name="demo")[0]
    project = cloud.cloud.store.where("identity.projects", name="demo")[0]
    path = f"/identity/v3/users/{demo.id}/credentials/OS-EC2"
    pair = cloud.call("POST", path, {"tenant_id": project.id}).json()["credential"]
    return Signer(url, pair["access"], pair["secret"])


@pytest.mark.slow
def test_signers_are_looked_for_in_several_clouds(cloud: Served, site: Site):
    dead = "http://127.0.0.1:1/identity/v3"
    clouds = f"""multi_cloud = true
clouds = dead, live
[ec2authtoken.dead]
auth_uri = {dead}
[ec2authtoken.live]
auth_uri = {site.values["auth_url"]}/ec2tokens
username = admin
password = secret
project_name = admin
"""
    with subprocess.Popen(site.command(signers=clouds), stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        try:
            url = one.stdout.readline().split()[-1]
            assert signer(cloud, url).ask("ListStacks").status_code == 200
            assert Signer(url, "nobody", "x").ask("ListStacks").status_code == 403
        finally:
            one.terminate()


def test_sections_of_clouds_fall_back_to_the_service_user(tmp_path: Path):
    path = tmp_path / "heat.conf"
    path.write_text("""[ec2authtoken]
multi_cloud = true
clouds = a, b
[ec2authtoken.a]
auth_uri = http://a/v2.0/ec2tokens
[ec2authtoken.b]
auth_url = http://b/v3
username = hearth-b
password = other
""")
    user = PasswordCredential("http://main/v3", "hearth", "secret", project_name="service")
    assert signers.signers(read([path]).conf, user) == (
        replace(user, auth_url="http://a"),
        replace(user, auth_url="http://b/v3", username="hearth-b", password="other"),
    )
    path.write_text("")
    assert signers.signers(read([path]).conf, user) == (user,)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("multi_cloud = true", "clouds"),
        ("multi_cloud = true\nclouds = a", "[ec2authtoken.a] auth_url"),
        ("auth_uri = http://a\nusername = one", "password"),
    ],
)
def test_clouds_that_are_told_by_half_are_refused(tmp_path: Path, text: str, told: str):
    path = tmp_path / "heat.conf"
    path.write_text(f"[ec2authtoken]\n{text}\n")
    user = PasswordCredential("http://main/v3", "hearth", "secret")
    with pytest.raises(WrongSetting) as wrong:
        signers.signers(read([path]).conf, user)
    assert told in str(wrong.value)


class Catalogue:
    """A pool of one cloud, whose catalogue has that address for the API, or none."""

    def __init__(self, url: str | None) -> None:
        self.url = url

    def cloud(self, _: PasswordCredential) -> "Catalogue":
        return self

    async def endpoint(self, service: str) -> str:
        if self.url is None or service != "cloudformation":
            raise NoService(service)
        return self.url


@pytest.mark.parametrize(
    ("url", "told"),
    [("http://h:8000/v1/", "http://h:8000/v1"), ("http://h/cfn", "http://h/cfn/v1"),
     (None, "http://here/v1")],
)  # fmt: skip
def test_guests_are_told_what_the_catalogue_says(url: str | None, told: str):
    user = PasswordCredential("http://main/v3", "hearth", "secret")
    settings = Settings("", "", "", user, cfn_here="http://here/v1")
    assert asyncio.run(_cfn_url(Catalogue(url), settings)) == told


@pytest.mark.slow
def test_servers_are_told_the_endpoint_of_keystone_that_is_set(cloud: Served):
    user = PasswordCredential(
        f"{cloud.url}/identity/v3", "hearth", "secret", project_name="service",
        user_domain_id="default", project_domain_id="default",
    )  # fmt: skip
    settings = Settings("", "", user.auth_url, user, identity_url="http://told/v3")
    assert asyncio.run(_identity_url(settings)) == "http://told/v3"
    chosen = replace(settings, server_keystone_endpoint_type="internal")
    assert asyncio.run(_identity_url(chosen)).startswith(f"{cloud.url}/identity")
    away = replace(chosen, service_user=replace(user, password="wrong"))
    assert asyncio.run(_identity_url(away)) == "http://told/v3"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"stacks": "many"}, "max_stacks_per_tenant"),
        ({"database": "nonsense"}, "[database] connection"),
        ({"database": "sqlite:////nowhere/hearth.db"}, "/nowhere/hearth.db"),
        ({"database": "mysql+pymysql://a:b@127.0.0.1:1/x"}, "the database cannot be used"),
        ({"database": ""}, "required settings are not set: [database] connection"),
        ({"domain": "nodomain"}, "Keystone has no domain nodomain"),
        ({"auth_url": "http://127.0.0.1:1/v3"}, "Keystone at http://127.0.0.1:1/v3"),
        ({"password": "wrong"}, "the user hearth of this service"),
        ({"reauthentication": "always"}, "reauthentication_auth_method"),
        ({"cfn_port": "70000"}, "bind_port"),
        ({"signers": "multi_cloud = true"}, "[ec2authtoken] clouds: not set"),
        (
            {"driver": "syslog"},
            "driver: expected one of messagingv2, messaging, log and noop; got syslog",
        ),
        ({"driver": "messagingv2"}, "transport_url: not set"),
        (
            {"driver": "messagingv2", "transport": "kafka://h/"},
            'must begin with "rabbit://", got the scheme "kafka"',
        ),
        ({"driver": "messaging", "transport": "rabbit://h", "level": "loud"}, "got LOUD"),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(site: Site, changed: dict[str, str], told: str):
    assert told in site.refused(**changed)


@pytest.mark.slow
def test_what_stacks_come_to_is_told_over_rabbitmq(cloud: Served, site: Site):
    topic = f"hearth-test-{uuid.uuid4().hex[:8]}"
    command = site.command(driver="messagingv2", transport=BROKER, topic=topic)
    told = asyncio.run(heard(f"{topic}.info", lambda: served(command, cloud)))
    kinds = [one["event_type"].removeprefix("orchestration.stack.") for one in told]
    assert kinds == ["create.start", "create.end"]
    assert [one["payload"]["username"] for one in told] == ["demo", "demo"]
    assert told[0]["publisher_id"] == f"orchestration.{socket.gethostname()}"


def served(command: list[str], cloud: Served) -> "subprocess.Popen[str]":
    """Hearth as a process, asked for a stack."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    url, token = line.split()[4], cloud.token()
    template = {"heat_template_version": "2021-04-16", "resources": {}}
    owner = cloud.call("GET", "/identity/v3/auth/tokens", headers={"X-Subject-Token": token})
    project = owner.json()["token"]["project"]["id"]
    body = {"stack_name": "told", "template": template}
    headers = {"X-Auth-Token": token}
    reply = requests.post(f"{url}/{project}/stacks", json=body, headers=headers, timeout=10)
    assert reply.status_code == 201, reply.text
    return process


async def heard(name: str, act: Callable[[], "subprocess.Popen[str]"]) -> list[dict[str, Any]]:
    """The first two notifications of a queue after something was done."""
    try:
        connection = await aio_pika.connect(BROKER.replace("rabbit:", "amqp:"), timeout=5)
    except (OSError, TimeoutError, aio_pika.exceptions.AMQPError) as problem:
        lacking(f"a RabbitMQ server at {BROKER} ({problem})")
    async with connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(name, durable=False)
        found: list[dict[str, Any]] = []
        with act() as process:
            try:
                async with asyncio.timeout(30):
                    while len(found) < 2:
                        message = await queue.get(fail=False)
                        if message is None:
                            await asyncio.sleep(0.1)
                            continue
                        await message.ack()
                        found.append(json.loads(json.loads(message.body)["oslo.message"]))
            finally:
                process.terminate()
        await queue.delete()
    return found


def test_a_configuration_that_is_not_there_is_told(tmp_path: Path):
    command = [*HEARTH, "serve", "--config", str(tmp_path / "none.conf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "there is no such file" in done.stderr
