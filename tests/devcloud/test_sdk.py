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
