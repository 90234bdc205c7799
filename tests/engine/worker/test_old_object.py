"""A replacement gets what the old object holds, whatever has become of the old object."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hearth.cloud import CloudFault
from hearth.model.state import Action
from hearth.store import accept, health, reads
from hearth.store.rows import Options, Revision
from hearth_devcloud.nova.life import fail
from tests.engine.worker.test_faults import Town, state, told
from tests.resources.test_in_engine import new_id

pytestmark = pytest.mark.slow

SERVERS = "/servers"
BASE: dict[str, Any] = {
    "net": {"type": "OS::Neutron::Net"},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.0.0.0/24"},
    },
    "port": {
        "type": "OS::Neutron::Port",
        "depends_on": "subnet",
        "properties": {"network": {"get_resource": "net"}},
    },
}
PLAIN = {"image": "cirros", "flavor": "m1.tiny", "user_data_format": "RAW"}


def nova(text: str = "a", **more: Any) -> dict[str, Any]:
    networks = [{"port": {"get_resource": "port"}}]
    return {
        "type": "OS::Nova::Server",
        "properties": {**PLAIN, "user_data": text, "networks": networks, **more},
    }


def ec2(text: str = "a", **more: Any) -> dict[str, Any]:
    properties = {
        "ImageId": "cirros",
        "InstanceType": "m1.tiny",
        "UserData": text,
        "NetworkInterfaces": [{"get_resource": "port"}],
        "Volumes": [{"VolumeId": {"get_resource": "disk"}, "Device": "/dev/vdb"}],
    }
    return {"type": "AWS::EC2::Instance", "properties": {**properties, **more}}


def revision(server: Any, **more: Any) -> Revision:
    resources = {**BASE, "server": server, **more}
    return Revision(json.dumps({"heat_template_version": "2021-04-16", "resources": resources}))


class Site:
    """A stack with a server on a port, and what users do to both."""

    def __init__(self, town: Town) -> None:
        self.town, self.cloud = town, town.clouds_of("demo")
        self.ident = ""

    async def create(self, wanted: Revision) -> None:
        row = await self.town.make(wanted.template, {})
        assert state(row) == "CREATE_COMPLETE", row.reason
        self.ident = row.id

    async def update(self, wanted: Revision, *, rollback: bool = False, **options: Any) -> str:
        operation = accept.OperationRequest(
            Action.UPDATE, wanted, disable_rollback=not rollback, options=Options(**options)
        )
        await self.town.store.run(
            lambda tx: accept.operate(tx, self.ident, operation, time.time(), new_id)
        )
        row = await self.town.rest(self.ident)
        return state(row) if row.status == "COMPLETE" else f"{state(row)}: {row.reason}"

    def records(self) -> list[Any]:
        found = self.town.store.transact(lambda tx: reads.records(tx, self.ident), write=False)
        return list(found)

    def record(self, name: str = "server") -> Any:
        return reads.in_charge(self.records())[name]

    def id_of(self, name: str = "server") -> str:
        return str(self.record(name).physical_id)

    async def mark_unhealthy(self, name: str) -> None:
        await self.town.settle(self.ident)
        record = self.record(name)
        done = await self.town.store.run(
            lambda tx: health.mark(
                tx, self.ident, record.id, healthy=False, reason="bad",
                now=time.time(), event_id=new_id(),
            )
        )  # fmt: skip
        assert done

    def server(self) -> Any:
        return self.town.running.cloud.store.table("compute.servers")[self.id_of()]

    async def delete_server(self) -> None:
        path = f"{SERVERS}/{self.id_of()}"
        await self.cloud.request("compute", "DELETE", path)
        for _ in range(200):
            try:
                await self.cloud.request("compute", "GET", path)
            except CloudFault:
                return
            await asyncio.sleep(0.1)
        raise TimeoutError(path)

    async def act(self, action: str, status: str) -> None:
        """Call an action of the server, and wait for its status."""
        path = f"{SERVERS}/{self.id_of()}"
        await self.cloud.request("compute", "POST", f"{path}/action", json={action: None})
        for _ in range(200):
            shown = await self.cloud.request("compute", "GET", path)
            if shown.body["server"]["status"] == status:
                return
            await asyncio.sleep(0.1)
        raise TimeoutError(status)

    def servers(self) -> list[str]:
        return [one.id for one in self.town.running.cloud.store.all("compute.servers")]

    def writes(self) -> list[str]:
        ledger = self.town.running.cloud.store.ledger
        return [f"{one.method} {one.path}" for one in ledger.calls if one.method != "GET"]

    async def holder(self, name: str = "port") -> str:
        """The id of the server that has the port."""
        shown = await self.cloud.request("network", "GET", f"/v2.0/ports/{self.id_of(name)}")
        return str(shown.body["port"]["device_id"])


def at_site(story: Callable[[Site], Awaitable[Any]]) -> Any:
    return told(lambda town: story(Site(town)))


async def replaced(site: Site, before: tuple[str, str]) -> None:
    """The server is another one, on the old port, and no other server is left."""
    server, port = before
    assert site.id_of() != server
    assert site.id_of("port") == port
    assert site.servers() == [site.id_of()] == [await site.holder()]
    assert state(await site.town.unmake(site.ident)) == "DELETE_COMPLETE"
    assert site.town.alive() == []


async def other_user_data(site: Site) -> str:
    return await site.update(revision(nova("b")))


async def marked_unhealthy(site: Site) -> str:
    await site.mark_unhealthy("server")
    return await site.update(revision(nova()))


async def converged(site: Site) -> str:
    return await site.update(revision(nova()), converge=True)


async def checked(site: Site) -> str:
    row = await site.town.operate(site.ident, Action.CHECK)
    assert state(row) == "CHECK_FAILED"
    return await site.update(revision(nova()))


async def changed_in_place(site: Site) -> str:
    first = await site.update(revision(nova(metadata={"a": "1"})))
    if not first.startswith("UPDATE_FAILED"):
        return first
    return await site.update(revision(nova(metadata={"a": "1"})))


async def rolled_back(site: Site) -> str:
    """The new server is refused, and the rollback returns to the old one or makes another."""
    site.town.knob({"service": "compute", "method": "POST", "path_regex": "/servers$", "times": 1},
                   {"status": 400})  # fmt: skip
    ended = await site.update(revision(nova("b")), rollback=True)
    assert ended == "ROLLBACK_COMPLETE", ended
    return "UPDATE_COMPLETE"


async def rolled_back_later(site: Site) -> str:
    """Something else fails after the server was replaced."""
    address = [{"ip_address": "9.9.9.9"}]
    bad = {
        "type": "OS::Neutron::Port",
        "depends_on": "server",
        "properties": {"network": {"get_resource": "net"}, "fixed_ips": address},
    }
    ended = await site.update(revision(nova("b"), bad=bad), rollback=True)
    assert ended == "ROLLBACK_COMPLETE", ended
    return "UPDATE_COMPLETE"


SECOND_STEPS = (
    other_user_data,
    marked_unhealthy,
    converged,
    checked,
    changed_in_place,
    rolled_back,
    rolled_back_later,
)


@pytest.mark.parametrize("second_step", SECOND_STEPS)
def test_a_server_deleted_by_somebody_else_is_replaced_on_its_port(second_step: Any) -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        before = site.id_of(), site.id_of("port")
        await site.delete_server()
        assert await second_step(site) == "UPDATE_COMPLETE"
        await replaced(site, before)

    at_site(story)


def test_a_deleted_server_is_replaced_together_with_its_port() -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        before = site.id_of(), site.id_of("port")
        await site.delete_server()
        await site.mark_unhealthy("server")
        await site.mark_unhealthy("port")
        assert await site.update(revision(nova())) == "UPDATE_COMPLETE"
        assert site.id_of() != before[0]
        assert site.id_of("port") != before[1]
        assert site.servers() == [site.id_of()] == [await site.holder()]
        assert state(await site.town.unmake(site.ident)) == "DELETE_COMPLETE"
        assert site.town.alive() == []

    at_site(story)


@pytest.mark.parametrize("second_step", [s for s in SECOND_STEPS if s is not changed_in_place])
def test_a_server_in_error_is_replaced_on_its_port(second_step: Any) -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        before = site.id_of(), site.id_of("port")
        fail(site.town.running.cloud, site.server(), "The host is broken.")
        if second_step is converged:  # nothing that an update can change differs
            await site.mark_unhealthy("server")
        assert await second_step(site) == "UPDATE_COMPLETE"
        await replaced(site, before)

    at_site(story)


@pytest.mark.parametrize(
    ("action", "status"),
    [("os-stop", "SHUTOFF"), ("pause", "PAUSED"), ("suspend", "SUSPENDED"),
     ("rescue", "RESCUE"), ("shelve", "SHELVED_OFFLOADED")],
)  # fmt: skip
@pytest.mark.parametrize("rollback", [False, True])
def test_a_server_in_any_state_is_replaced_on_its_port(
    action: str, status: str, rollback: bool
) -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        before = site.id_of(), site.id_of("port")
        await site.act(action, status)
        second_step = rolled_back if rollback else other_user_data
        assert await second_step(site) == "UPDATE_COMPLETE"
        kept = rollback and status in ("SHUTOFF", "PAUSED")  # such a server can release its port
        assert (site.id_of() == before[0]) is kept
        assert site.servers() == [site.id_of()] == [await site.holder()]

    at_site(story)


def test_a_server_on_a_host_that_is_down_is_deleted_first() -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        before = site.id_of(), site.id_of("port")
        match = {"service": "compute", "method": "DELETE", "path_regex": "/os-interface/"}
        site.town.knob(match, {"status": 202})  # accepted, and never carried out
        assert await other_user_data(site) == "UPDATE_COMPLETE"
        await replaced(site, before)

    at_site(story)


def test_a_server_that_is_only_busy_is_not_deleted_first() -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        before = site.id_of(), site.id_of("port")
        busy = site.server()
        busy.body["task_state"] = "image_snapshot"
        update = asyncio.ensure_future(other_user_data(site))
        await asyncio.sleep(5.0)
        assert site.servers() == [before[0]]
        busy.body["task_state"] = None
        assert await update == "UPDATE_COMPLETE"
        assert "os-interface" in " ".join(site.writes())
        await replaced(site, before)

    at_site(story)


def test_the_port_of_a_locked_server_stays_until_the_server_is_unlocked() -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        before = site.id_of(), site.id_of("port")
        path = f"{SERVERS}/{site.id_of()}/action"
        await site.cloud.request("compute", "POST", path, json={"lock": None})
        ended = await site.update(revision(nova("b")))
        assert ended.startswith("UPDATE_FAILED"), ended
        assert f"Instance {before[0]} is locked" in ended
        assert site.servers() == [before[0]] == [await site.holder()]
        await site.cloud.request("compute", "POST", path.replace(site.id_of(), before[0]),
                                 json={"unlock": None})  # fmt: skip
        assert await site.update(revision(nova("b"))) == "UPDATE_COMPLETE"
        await replaced(site, before)

    at_site(story)


def test_a_server_that_is_retained_keeps_its_port() -> None:
    async def story(site: Site) -> None:
        kept = {**nova(), "deletion_policy": "retain"}
        await site.create(revision(kept))
        old = site.id_of()
        fail(site.town.running.cloud, site.server(), "The host is broken.")
        ended = await site.update(revision({**nova("b"), "deletion_policy": "retain"}))
        assert "vm_state error" in ended
        assert site.servers() == [old]

    at_site(story)


def test_a_port_that_still_names_a_deleted_server_is_released() -> None:
    async def story(site: Site) -> None:
        await site.create(revision(nova()))
        before = site.id_of(), site.id_of("port")
        await site.delete_server()
        ports = site.town.running.cloud.store.table("network.ports")
        ports[before[1]].body.update(device_id=before[0], device_owner="compute:nova")
        assert await other_user_data(site) == "UPDATE_COMPLETE"
        await replaced(site, before)

    at_site(story)


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("rollback", [False, True])
def test_an_instance_of_ec2_gets_its_port_and_its_volume(lost: bool, rollback: bool) -> None:
    async def story(site: Site) -> None:
        disk = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
        await site.create(revision(ec2(), disk=disk))
        before = site.id_of(), site.id_of("port")
        volume = site.id_of("disk")
        if lost:
            await site.delete_server()
        else:
            fail(site.town.running.cloud, site.server(), "The host is broken.")
        if rollback:
            match = {"service": "compute", "method": "POST", "path_regex": "/servers$", "times": 1}
            site.town.knob(match, {"status": 400})
            ended = await site.update(revision(ec2("b"), disk=disk), rollback=True)
            assert ended == "ROLLBACK_COMPLETE", ended
        else:
            assert await site.update(revision(ec2("b"), disk=disk)) == "UPDATE_COMPLETE"
        assert site.id_of("disk") == volume
        shown = await site.cloud.request("block-storage", "GET", f"/volumes/{volume}")
        assert [one["server_id"] for one in shown.body["volume"]["attachments"]] == site.servers()
        await replaced(site, before)

    at_site(story)


def test_what_is_tied_to_a_deleted_server_is_tied_to_the_new_one() -> None:
    async def story(site: Site) -> None:
        more = {
            "disk": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
            "plug": {
                "type": "OS::Cinder::VolumeAttachment",
                "properties": {
                    "instance_uuid": {"get_resource": "server"},
                    "volume_id": {"get_resource": "disk"},
                },
            },
            "router": {
                "type": "OS::Neutron::Router",
                "properties": {"external_gateway_info": {"network": "public"}},
            },
            "leg": {
                "type": "OS::Neutron::RouterInterface",
                "properties": {
                    "router": {"get_resource": "router"},
                    "subnet": {"get_resource": "subnet"},
                },
            },
            "address": {
                "type": "OS::Neutron::FloatingIP",
                "depends_on": "leg",
                "properties": {"floating_network": "public"},
            },
            "tie": {
                "type": "OS::Nova::FloatingIPAssociation",
                "properties": {
                    "floating_ip": {"get_resource": "address"},
                    "server_id": {"get_resource": "server"},
                },
            },
        }
        await site.create(revision(nova(), **more))
        before = site.id_of(), site.id_of("port")
        await site.delete_server()
        path = f"/v2.0/routers/{site.id_of('router')}/remove_router_interface"
        fip = f"/v2.0/floatingips/{site.id_of('address')}"
        await site.cloud.request("network", "PUT", fip, json={"floatingip": {"port_id": None}})
        subnet = {"subnet_id": site.id_of("subnet")}
        await site.cloud.request("network", "PUT", path, json=subnet)
        await site.mark_unhealthy("leg")
        assert await site.update(revision(nova("b"), **more)) == "UPDATE_COMPLETE"
        shown = await site.cloud.request("network", "GET", fip)
        assert shown.body["floatingip"]["port_id"] == before[1]
        await replaced(site, before)

    at_site(story)


def queue(name: str) -> Revision:
    thing = {"type": "OS::Zaqar::Queue", "properties": {"name": name}}
    return Revision(
        json.dumps({"heat_template_version": "2021-04-16", "resources": {"thing": thing}})
    )


def test_a_name_is_free_again_once_the_delete_under_way_has_ended() -> None:
    async def story(site: Site) -> None:
        await site.create(queue("a"))
        slow = {"service": "messaging", "method": "DELETE", "times": 1}
        site.town.knob(slow, {"latency_s": 4.0})
        first = asyncio.create_task(site.update(queue("b")))
        while not any(one.action is Action.DELETE for one in site.records()):
            await asyncio.sleep(0.05)
        assert await site.update(queue("a")) == "UPDATE_COMPLETE"
        await first
        queues = site.town.running.cloud.store.all("messaging.queues")
        assert [one.id.split("/")[-1] for one in queues] == ["a"]

    at_site(story)
