"""Clusters and cluster templates as resources, over a small stand-in for the service."""

import asyncio

import pytest

from hearth.resources.registry import builtin_types
from tests.resources.driver import Broken
from tests.resources.magnum.stub import magnum

TEMPLATE = {"coe": "kubernetes", "image": "debian", "external_network": "public",
            "docker_storage_driver": "overlay"}  # fmt: skip
TYPES = ("OS::Magnum::ClusterTemplate", "OS::Magnum::BayModel")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("hearth.resources.magnum.cluster.POLL_S", 0.0)


@pytest.mark.parametrize("rtype", TYPES)
def test_a_template_gets_the_name_of_the_user_and_the_fields_of_the_service(rtype):
    async def story():
        async with magnum() as (driver, service):
            wanted = {**TEMPLATE, "name": "team", "labels": {"kube_tag": "v1"}, "flavor": "small"}
            ctx = await driver.create(rtype, wanted)
            (made,) = service.things["clustertemplates"].values()
            networks = await driver.cloud.listing("network", "/v2.0/networks")
            public = next(one["id"] for one in networks if one["name"] == "public")
            await driver.update(ctx, {**wanted, "public": True})
            changed = dict(made)
            await driver.delete(ctx)
            return dict(made), public, changed, service

    made, public, changed, service = asyncio.run(story())
    assert made["name"] == "team"
    assert (made["image_id"], made["flavor_id"]) == ("debian", "small")
    assert made["external_network_id"] == public
    assert made["labels"] == {"kube_tag": "v1"}
    assert (made["coe"], made["server_type"], made["tls_disabled"]) == ("kubernetes", "vm", False)
    assert "image" not in made
    assert "fixed_network" not in made
    assert changed["public"] is True
    assert service.patches == [
        [{"op": "replace", "path": "/name", "value": "team"}],
        [{"op": "replace", "path": "/public", "value": True}],
    ]
    assert service.versions == {"container-infra 1.1"}
    assert service.things == {"clusters": {}, "clustertemplates": {}}


def test_a_template_whose_answer_was_lost_is_found_by_its_first_name():
    async def story():
        async with magnum() as (driver, service):
            service.things["clustertemplates"]["other"] = {"uuid": "other", "name": "team"}
            service.lose = True
            ctx = await driver.create(TYPES[0], {**TEMPLATE, "name": "team"})
            return ctx.physical_id, service.things["clustertemplates"]

    ident, templates = asyncio.run(story())
    assert ident in templates
    assert ident != "other"
    assert len(templates) == 2


def test_a_cluster_is_created_resized_and_deleted():
    async def story():
        async with magnum() as (driver, service):
            template = await driver.create(TYPES[0], {**TEMPLATE, "name": "team"})
            wanted = {"cluster_template": "team", "name": "prod", "node_count": 3}
            ctx = await driver.create("OS::Magnum::Cluster", wanted)
            (made,) = service.things["clusters"].values()
            created = dict(made)
            attribute = await ctx.kind.attribute(ctx, "stack_id")
            await driver.update(ctx, {**wanted, "node_count": 5})
            updated = dict(made)
            await driver.delete(ctx)
            return template.physical_id, created, attribute, updated, service

    template, created, attribute, updated, service = asyncio.run(story())
    assert created["cluster_template_id"] == template
    assert (created["name"], created["node_count"], created["master_count"]) == ("prod", 3, 1)
    assert created["status"] == "CREATE_COMPLETE"
    assert attribute == "s"
    assert (updated["node_count"], updated["status"]) == (5, "UPDATE_COMPLETE")
    assert service.patches[-1] == [{"op": "replace", "path": "/node_count", "value": 5}]
    assert service.things["clusters"] == {}


def test_a_cluster_without_a_name_is_found_after_a_lost_answer():
    async def story():
        async with magnum() as (driver, service):
            await driver.create(TYPES[0], {**TEMPLATE, "name": "team"})
            service.lose = True
            ctx = await driver.create("OS::Magnum::Cluster", {"cluster_template": "team"})
            return ctx.physical_id, list(service.things["clusters"])

    ident, clusters = asyncio.run(story())
    assert clusters == [ident]


@pytest.mark.parametrize("action", ["CREATE", "UPDATE", "DELETE"])
def test_a_failure_has_the_reason_of_the_service(action):
    async def story():
        async with magnum() as (driver, service):
            await driver.create(TYPES[0], {**TEMPLATE, "name": "team"})
            service.fail = action
            wanted = {"cluster_template": "team"}
            with pytest.raises(Broken, match="default-worker failed") as broke:
                await life(driver, wanted)
            return str(broke.value)

    async def life(driver, wanted):
        ctx = await driver.create("OS::Magnum::Cluster", wanted)
        await driver.update(ctx, {**wanted, "node_count": 2})
        await driver.delete(ctx)

    assert f"{action}_FAILED" in asyncio.run(story())


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"coe": "kubernetes", "volume_driver": "rexray"}, "volume_driver"),
        ({"coe": "swarm", "volume_driver": "cinder"}, "volume_driver"),
        ({"docker_storage_driver": "devicemapper", "docker_volume_size": 2}, "below 3"),
        ({"coe": "kubernetes", "volume_driver": "cinder"}, None),
        ({"coe": "mesos", "volume_driver": "rexray"}, None),
        ({"docker_storage_driver": "devicemapper", "docker_volume_size": 3}, None),
        ({"docker_storage_driver": "devicemapper"}, None),
        ({"docker_storage_driver": "overlay", "docker_volume_size": 1}, None),
    ],
)
def test_a_template_that_the_service_would_refuse_is_refused(properties, message):
    kind = builtin_types()["OS::Magnum::ClusterTemplate"]
    violations = [*map(str, kind.conflicts(properties))]
    assert len(violations) == (message is not None)
    assert message is None or message in violations[0]


def test_the_former_name_of_a_template_may_become_the_new_one():
    former = builtin_types()["OS::Magnum::BayModel"]
    assert former.substitute == "OS::Magnum::ClusterTemplate"
    assert former.support.hidden
    assert former.properties == builtin_types()["OS::Magnum::ClusterTemplate"].properties
