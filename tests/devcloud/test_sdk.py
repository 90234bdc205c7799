"""openstacksdk, a client that knows nothing of devcloud, at work on it."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.devcloud.running import Served

openstack = pytest.importorskip("openstack")


@pytest.fixture(scope="module")
def demo(served: Served) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        connection = openstack.connect(**served.client_config())
        yield connection
        connection.close()


@pytest.fixture(scope="module")
def admin(served: Served) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        connection = openstack.connect(**served.client_config("admin"))
        yield connection
        connection.close()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_networks_subnets_routers_and_floating_ips_work_together(demo: Any) -> None:
    network = demo.network.create_network(name="web")
    subnet = demo.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.20.0.0/24")
    public = demo.network.find_network("public")
    router = demo.network.create_router(
        name="edge", external_gateway_info={"network_id": public.id}
    )
    demo.network.add_interface_to_router(router, subnet_id=subnet.id)
    port = demo.network.create_port(network_id=network.id, name="one")
    floating = demo.network.create_ip(floating_network_id=public.id, port_id=port.id)
    floating = demo.network.get_ip(floating.id)

    assert floating.status == "ACTIVE"
    assert floating.fixed_ip_address == port.fixed_ips[0]["ip_address"] == "10.20.0.2"
    assert floating.router_id == router.id
    found = demo.network.ports(fixed_ips="ip_address=10.20.0.2")
    assert [p.id for p in found] == [port.id]

    demo.network.delete_ip(floating)
    demo.network.delete_port(port)
    demo.network.remove_interface_from_router(router, subnet_id=subnet.id)
    demo.network.delete_router(router)
    demo.network.delete_network(network)
    assert demo.network.find_network("web") is None


def test_a_server_gets_an_address_on_the_only_network(demo: Any, admin: Any) -> None:
    data = base64.b64encode(b"#!/bin/sh\n").decode()
    image, flavor = demo.image.find_image("cirros"), demo.compute.find_flavor("m1.tiny")
    server = demo.compute.create_server(
        name="box",
        image_id=image.id,
        flavor_id=flavor.id,
        networks="auto",
        key_name="stack_key",
        user_data=data,
        metadata={"role": "web"},
    )
    server = demo.compute.wait_for_server(server, interval=0.05, wait=5)

    address = server.addresses["private"][0]["addr"]
    assert address.startswith("10.0.0.")
    ports = list(demo.network.ports(device_id=server.id))
    assert [p.device_owner for p in ports] == ["compute:nova"]
    assert admin.compute.get_server(server.id).user_data == data
    assert "login" in demo.compute.get_server_console_output(server)["output"]

    demo.compute.delete_server(server)
    demo.compute.wait_for_delete(server, interval=0.05, wait=5)
    assert list(demo.network.ports(device_id=server.id)) == []


def test_a_volume_is_attached_and_detached(demo: Any) -> None:
    image, flavor = demo.image.find_image("cirros"), demo.compute.find_flavor("m1.tiny")
    server = demo.compute.create_server(
        name="disk", image_id=image.id, flavor_id=flavor.id, networks="auto"
    )
    server = demo.compute.wait_for_server(server, interval=0.05, wait=5)
    volume = demo.block_storage.create_volume(size=1, name="data")
    volume = demo.block_storage.wait_for_status(volume, "available", interval=0.05, wait=5)
    demo.compute.create_volume_attachment(server, volume_id=volume.id)
    volume = demo.block_storage.wait_for_status(volume, "in-use", interval=0.05, wait=5)
    assert volume.attachments[0]["server_id"] == server.id

    demo.compute.delete_volume_attachment(server, volume)
    demo.block_storage.wait_for_status(volume, "available", interval=0.05, wait=5)
    snapshot = demo.block_storage.create_snapshot(volume_id=volume.id, name="then")
    demo.block_storage.wait_for_status(snapshot, "available", interval=0.05, wait=5)
    demo.block_storage.delete_snapshot(snapshot)
    demo.block_storage.delete_volume(volume)
    demo.compute.delete_server(server)


def test_a_server_boots_from_a_volume_and_is_resized(demo: Any) -> None:
    image = demo.image.find_image("cirros")
    small, medium = demo.compute.find_flavor("m1.small"), demo.compute.find_flavor("m1.medium")
    server = demo.compute.create_server(
        name="boot",
        flavor_id=small.id,
        networks="auto",
        block_device_mapping=[
            {
                "uuid": image.id,
                "source_type": "image",
                "destination_type": "volume",
                "boot_index": 0,
                "volume_size": 1,
                "delete_on_termination": True,
            }
        ],
    )
    server = demo.compute.wait_for_server(server, interval=0.05, wait=5)
    assert len(list(demo.block_storage.volumes())) == 1
    demo.compute.resize_server(server, medium.id)
    server = demo.compute.wait_for_server(server, "VERIFY_RESIZE", interval=0.05, wait=5)
    demo.compute.confirm_server_resize(server)
    server = demo.compute.wait_for_server(server, interval=0.05, wait=5)
    assert server.flavor.original_name == "m1.medium"
    demo.compute.delete_server(server)
    demo.compute.wait_for_delete(server, interval=0.05, wait=5)
    assert list(demo.block_storage.volumes()) == []


def test_an_image_is_uploaded_and_downloaded(demo: Any) -> None:
    image = demo.image.create_image(
        name="mine", disk_format="raw", container_format="bare", data=b"bytes", wait=True
    )
    assert demo.image.find_image("mine").status == "active"
    assert demo.image.download_image(image).content == b"bytes"
    demo.image.delete_image(image)


def test_objects_come_back_as_they_were_put(demo: Any) -> None:
    demo.object_store.create_container(name="box")
    demo.object_store.upload_object(container="box", name="a/b", data=b"hello")
    assert demo.object_store.download_object("a/b", container="box") == b"hello"
    assert [o.name for o in demo.object_store.objects("box")] == ["a/b"]
    demo.object_store.delete_object("a/b", container="box")
    demo.object_store.delete_container("box")


def test_an_admin_makes_projects_users_and_grants(admin: Any) -> None:
    project = admin.identity.create_project(name="new", domain_id="default")
    user = admin.identity.create_user(name="ann", password="pw", domain_id="default")
    role = admin.identity.find_role("member")
    admin.identity.assign_project_role_to_user(project, user, role)
    assert admin.identity.validate_user_has_project_role(project, user, role)
    admin.identity.delete_user(user)
    admin.identity.delete_project(project)


def test_a_trust_and_an_application_credential_let_others_act(demo: Any, admin: Any) -> None:
    user, project = demo.current_user_id, demo.current_project_id
    trust = demo.identity.create_trust(
        trustor_user_id=user,
        trustee_user_id=admin.current_user_id,
        project_id=project,
        impersonation=True,
        roles=[{"name": "member"}],
    )
    config = {k: v for k, v in admin.config.config["auth"].items() if not k.startswith("project")}
    trusted = openstack.connect(region_name="RegionOne", auth={**config, "trust_id": trust.id})
    assert trusted.current_user_id == user
    assert trusted.current_project_id == project
    assert trusted.network.find_network("private") is not None
    trusted.close()
    demo.identity.delete_trust(trust)

    credential = demo.identity.create_application_credential(user, name="robot")
    robot = openstack.connect(
        auth_type="v3applicationcredential",
        auth_url=demo.config.config["auth"]["auth_url"],
        application_credential_id=credential.id,
        application_credential_secret=credential.secret,
        region_name="RegionOne",
    )
    assert robot.current_project_id == project
    robot.close()
    demo.identity.delete_application_credential(user, credential)


def test_a_load_balancer_and_all_below_it_are_made_changed_and_deleted(demo: Any) -> None:
    octavia = demo.load_balancer
    subnet = demo.network.find_subnet("private-subnet")
    balancer = octavia.create_load_balancer(name="lb", vip_subnet_id=subnet.id)

    def ready() -> Any:
        return octavia.wait_for_load_balancer(balancer.id, interval=0.05, wait=5)

    assert ready().vip_port_id
    octavia.update_load_balancer(balancer, description="changed")
    ready()
    listener = octavia.create_listener(
        name="web", protocol="HTTP", protocol_port=80, load_balancer_id=balancer.id
    )
    ready()
    octavia.update_listener(listener, connection_limit=10)
    ready()
    pool = octavia.create_pool(
        name="servers", protocol="HTTP", lb_algorithm="ROUND_ROBIN", listener_id=listener.id
    )
    ready()
    octavia.update_pool(pool, lb_algorithm="SOURCE_IP")
    ready()
    member = octavia.create_member(pool, name="one", address="10.0.0.70", protocol_port=80)
    ready()
    octavia.update_member(member, pool, weight=5)
    ready()
    monitor = octavia.create_health_monitor(
        name="alive", pool_id=pool.id, type="HTTP", delay=5, timeout=3, max_retries=2, url_path="/"
    )
    ready()
    octavia.update_health_monitor(monitor, delay=7)
    ready()
    policy = octavia.create_l7_policy(
        name="away",
        listener_id=listener.id,
        action="REDIRECT_TO_URL",
        redirect_url="http://a.example.com/",
    )
    ready()
    octavia.update_l7_policy(policy, position=1, redirect_url="http://b.example.com/")
    ready()
    rule = octavia.create_l7_rule(policy, type="PATH", compare_type="STARTS_WITH", value="/a")
    ready()
    octavia.update_l7_rule(rule, policy, rule_value="/b")
    ready()

    found = octavia.find_load_balancer("lb")
    assert (found.description, found.vip_subnet_id) == ("changed", subnet.id)
    assert [one["id"] for one in found.listeners] == [listener.id]
    assert octavia.find_listener("web").connection_limit == 10
    assert octavia.find_pool("servers").lb_algorithm == "SOURCE_IP"
    assert octavia.find_member("one", pool).weight == 5
    assert octavia.find_health_monitor("alive").delay == 7
    assert octavia.find_l7_policy("away").redirect_url == "http://b.example.com/"
    assert octavia.get_l7_rule(rule, policy).rule_value == "/b"
    assert [one.id for one in octavia.listeners(load_balancer_id=balancer.id)] == [listener.id]
    assert [one.id for one in octavia.pools(loadbalancer_id=balancer.id)] == [pool.id]
    assert [one.id for one in octavia.members(pool)] == [member.id]
    assert [one.id for one in octavia.l7_rules(policy)] == [rule.id]

    octavia.delete_l7_rule(rule, policy)
    ready()
    assert list(octavia.l7_rules(policy)) == []
    octavia.delete_health_monitor(monitor)
    ready()
    assert list(octavia.health_monitors()) == []
    octavia.delete_member(member, pool)
    ready()
    assert list(octavia.members(pool)) == []
    octavia.delete_load_balancer(balancer.id, cascade=True)
    octavia.wait_for_delete(balancer, interval=0.05, wait=5)
    for listed in (octavia.listeners(), octavia.pools(), octavia.l7_policies()):
        assert list(listed) == []
    assert list(demo.network.ports(device_owner="Octavia")) == []


def test_what_an_admin_offers_for_load_balancers_is_listed(admin: Any) -> None:
    octavia = admin.load_balancer
    assert "amphora" in {one.name for one in octavia.providers()}
    profile = octavia.create_flavor_profile(
        name="single", provider_name="amphora", flavor_data='{"loadbalancer_topology": "SINGLE"}'
    )
    flavor = octavia.create_flavor(name="cheap", flavor_profile_id=profile.id, is_enabled=True)
    octavia.update_flavor(flavor, description="changed")
    assert octavia.find_flavor("cheap").description == "changed"
    octavia.delete_flavor(flavor)
    octavia.delete_flavor_profile(profile)
    quota = octavia.update_quota(admin.current_project_id, load_balancers=3)
    assert quota.load_balancers == 3
    octavia.delete_quota(admin.current_project_id)


def test_a_zone_and_its_record_sets_are_made_changed_and_deleted(demo: Any) -> None:
    zone = demo.create_zone(name="example.com.", email="a@example.com", ttl=3600)
    zone = demo.dns.wait_for_status(zone, "ACTIVE", interval=0.05, wait=5)
    assert demo.update_zone("example.com.", email="b@example.com").email == "b@example.com"
    assert [one.id for one in demo.list_zones()] == [zone.id]
    made = demo.create_recordset("example.com.", "www.example.com.", "A", ["10.0.0.1"], ttl=60)
    demo.update_recordset("example.com.", made.id, records=["10.0.0.2"])
    found = demo.get_recordset("example.com.", "www.example.com.")
    assert (found.records, found.ttl) == (["10.0.0.2"], 60)
    assert {one.type for one in demo.list_recordsets("example.com.")} == {"SOA", "NS", "A"}
    assert demo.delete_recordset("example.com.", "www.example.com.")
    assert demo.get_recordset("example.com.", "www.example.com.") is None
    assert demo.delete_zone("example.com.")
    demo.dns.wait_for_delete(zone, interval=0.05, wait=5)
    assert demo.get_zone("example.com.") is None


def test_secrets_containers_and_orders_are_made_and_deleted(demo: Any) -> None:
    barbican = demo.key_manager
    secret = barbican.create_secret(
        name="word", payload="open sesame", payload_content_type="text/plain"
    )
    assert barbican.get_secret(secret.secret_id).payload == "open sesame"
    assert [one.name for one in barbican.secrets()] == ["word"]
    assert [one.status for one in barbican.secrets(name="word")] == ["ACTIVE"]
    assert list(barbican.secrets(name="other")) == []
    container = barbican.create_container(
        name="box", type="generic", secret_refs=[{"name": "a", "secret_ref": secret.secret_ref}]
    )
    assert [one.name for one in barbican.containers()] == ["box"]
    assert barbican.get_container(container.container_id).secret_refs[0]["name"] == "a"
    order = barbican.create_order(
        type="key",
        meta={
            "name": "made",
            "algorithm": "aes",
            "bit_length": 256,
            "mode": "cbc",
            "payload_content_type": "application/octet-stream",
        },
    )
    order = barbican.get_order(order.order_id)
    order = barbican.wait_for_status(order, "ACTIVE", interval=0.05, wait=5)
    assert [one.order_id for one in barbican.orders()] == [order.order_id]
    made = order.secret_ref.rsplit("/", 1)[1]
    assert barbican.get_secret(made).bit_length == 256
    barbican.delete_order(order.order_id)
    barbican.delete_container(container.container_id)
    for one in barbican.secrets():
        barbican.delete_secret(one.secret_id)
    assert [*barbican.orders(), *barbican.containers(), *barbican.secrets()] == []


def test_a_queue_holds_messages(demo: Any) -> None:
    queue = demo.message.create_queue(name="letters")
    sent = demo.message.post_message("letters", [{"body": {"a": 1}, "ttl": 300}])
    assert len(sent) == 1
    assert [one.body for one in demo.message.messages("letters", echo=True)] == [{"a": 1}]
    demo.message.delete_queue(queue)
