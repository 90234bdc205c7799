"""The object of a failed update stays that object, and the next update does what is left to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hearth.store.rows import Revision
from tests.engine.worker.test_faults import state, told
from tests.engine.worker.test_old_object import Site

pytestmark = pytest.mark.slow

EXTEND = {"service": "volume", "method": "POST", "path_regex": "/action$"}
RENAME = {"service": "volume", "method": "PUT", "path_regex": "/volumes/[0-9a-f-]{36}$"}
ZONE = {"service": "dns", "method": "PATCH", "path_regex": "/zones/"}


def thing(rtype: str, **properties: Any) -> Revision:
    resources = {"thing": {"type": rtype, "properties": properties}}
    return Revision(json.dumps({"heat_template_version": "2021-04-16", "resources": resources}))


def volume(size: int, **more: Any) -> Revision:
    return thing("OS::Cinder::Volume", size=size, **more)


def zone(mail: str) -> Revision:
    return thing("OS::Designate::Zone", name="example.org.", email=mail)


async def life(site: Site, first: Revision) -> str:
    await site.create(first)
    return site.id_of("thing")


async def gone(site: Site) -> None:
    assert state(await site.town.unmake(site.ident)) == "DELETE_COMPLETE"
    assert site.town.alive() == []


def at_site(story: Callable[[Site], Awaitable[None]]) -> None:
    told(lambda town: story(Site(town)))


@pytest.mark.parametrize("following", [2, 3, 1])
def test_a_volume_that_cannot_shrink_stays(following: int) -> None:
    async def story(site: Site) -> None:
        before = await life(site, volume(2))
        assert "Shrinking volume is not supported" in await site.update(volume(1))
        ends = await site.update(volume(following))
        assert (ends == "UPDATE_COMPLETE") is (following >= 2)
        assert site.id_of("thing") == before
        shown = site.town.running.cloud.store.table("volume.volumes")[before]
        assert shown.body["size"] == max(following, 2)
        await gone(site)

    at_site(story)


@pytest.mark.parametrize(
    ("match", "effect", "change"),
    [
        (EXTEND, {"status": 400}, {"size": 3}),
        (EXTEND, {"status": 409}, {"size": 3}),
        (RENAME, {"status": 400}, {"size": 2, "name": "other"}),
        (RENAME, {"status": 500, "after": True}, {"size": 2, "name": "other"}),
    ],
)
@pytest.mark.parametrize("back", [True, False])
def test_the_update_after_a_failed_one_keeps_the_volume(
    match: dict[str, Any], effect: dict[str, Any], change: dict[str, Any], back: bool
) -> None:
    async def story(site: Site) -> None:
        before = await life(site, volume(2, name="first"))
        site.town.knob(match, effect)
        assert (await site.update(volume(**{"name": "first", **change}))) != "UPDATE_COMPLETE"
        site.town.running.cloud.knobs.clear()
        wanted = {"name": "first", "size": 2} if back else {"name": "first", **change}
        assert await site.update(volume(**wanted)) == "UPDATE_COMPLETE"
        assert site.id_of("thing") == before
        shown = site.town.running.cloud.store.table("volume.volumes")[before].body
        assert shown["name"] == wanted["name"]
        assert shown["size"] == wanted["size"]
        await gone(site)

    at_site(story)


@pytest.mark.parametrize("mail", ["b@example.org", "a@example.org", "c@example.org"])
def test_an_object_with_a_unique_name_is_no_dead_end(mail: str) -> None:
    async def story(site: Site) -> None:
        before = await life(site, zone("a@example.org"))
        site.town.knob(ZONE, {"status": 400})
        assert (await site.update(zone("b@example.org"))).startswith("UPDATE_FAILED")
        site.town.running.cloud.knobs.clear()
        writes = len(site.writes())
        assert await site.update(zone(mail)) == "UPDATE_COMPLETE"
        assert site.id_of("thing") == before
        calls = [call for call in site.writes()[writes:] if "/zones" in call]
        assert len(calls) == (mail != "a@example.org")  # it was refused: it is as it was
        await gone(site)

    at_site(story)


def test_a_refused_object_that_is_gone_is_created_again() -> None:
    async def story(site: Site) -> None:
        before = await life(site, zone("a@example.org"))
        await site.cloud.request("dns", "DELETE", f"/v2/zones/{before}")
        await asyncio.sleep(0.5)
        assert (await site.update(zone("b@example.org"))).startswith("UPDATE_FAILED")
        assert await site.update(zone("b@example.org")) == "UPDATE_COMPLETE"
        assert site.id_of("thing") != before
        await gone(site)

    at_site(story)


def test_a_delete_that_never_reached_the_service_fails() -> None:
    async def story(site: Site) -> None:
        before = await life(site, volume(1))
        catalogue = site.town.running.cloud.store.table("identity.endpoints")
        service = [
            one.id
            for one in site.town.running.cloud.store.all("identity.services")
            if one.body["type"] == "block-storage"
        ]
        doomed = [one for one in catalogue.values() if one.body["service_id"] in service]
        assert doomed
        for one in doomed:
            one.body["enabled"] = False
        site.town.pool._clouds.clear()  # a new request comes with a new token
        row = await site.town.unmake(site.ident)
        assert state(row) == "DELETE_FAILED"
        assert "no block-storage service" in row.reason
        assert before in site.town.running.cloud.store.table("volume.volumes")
        for one in doomed:
            one.body["enabled"] = True
        site.town.pool._clouds.clear()  # a new request comes with a new token
        await gone(site)

    at_site(story)


@pytest.mark.parametrize("following", ["delete", "back"])
def test_a_port_that_a_failed_update_created_for_a_server_goes(following: str) -> None:
    async def story(site: Site) -> None:
        first, other = (
            with_networks({"network": NET}),
            with_networks({"network": NET, "port_extra_properties": EXTRA}),
        )
        await life(site, first)
        port = {"service": "network", "method": "POST", "path_regex": "/ports$"}
        site.town.knob({**port, "nth": 1}, {"status": 500, "after": True})
        site.town.knob({**port, "nth": 2}, {"status": 400})
        assert (await site.update(other)).startswith("UPDATE_FAILED")
        site.town.running.cloud.knobs.clear()
        if following == "back":
            assert await site.update(first) == "UPDATE_COMPLETE"
        await gone(site)

    at_site(story)


NET, EXTRA = {"get_resource": "net"}, {"port_security_enabled": True}


def with_networks(network: dict[str, Any]) -> Revision:
    resources = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": NET, "cidr": "10.9.0.0/24"},
        },
        "thing": {
            "type": "OS::Nova::Server",
            "depends_on": "subnet",
            "properties": {"image": "cirros", "flavor": "m1.tiny", "networks": [network]},
        },
    }
    return Revision(json.dumps({"heat_template_version": "2021-04-16", "resources": resources}))
