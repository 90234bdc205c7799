"""Volume transfers: offered by one project, accepted by another."""

from __future__ import annotations

from typing import Any

import openstack
import pytest

from hearth_devcloud.fixed_ids import fixed_hex
from tests.devcloud.running import Served

PATHS = ("os-volume-transfer", "volume-transfers")
NEWER = {"OpenStack-API-Version": "volume 3.57"}
DEMO, ADMIN = (fixed_hex("project", name) for name in ("demo", "admin"))


def cinder(served: Served, method: str, path: str, body: Any = None, **more: Any) -> Any:
    more.setdefault("headers", NEWER)
    return served.call(method, f"/volume/v3/{path}", body, **more)


def volume(served: Served, snapshots: int = 0) -> str:
    made = cinder(served, "POST", "volumes", {"volume": {"size": 2, "name": "data"}})
    ident = str(made.json()["volume"]["id"])
    for _ in range(snapshots):
        cinder(served, "POST", "snapshots", {"snapshot": {"volume_id": ident}})
    return ident


def offer(served: Served, volume_id: str, path: str = PATHS[1], **more: Any) -> Any:
    body = {"transfer": {"volume_id": volume_id, "name": "gift", **more}}
    made = cinder(served, "POST", path, body)
    assert made.status_code == 202, made.text
    return made.json()["transfer"]


def accept(served: Served, transfer: Any, path: str = PATHS[1], **more: Any) -> Any:
    body = {"accept": {"auth_key": transfer["auth_key"]}}
    return cinder(served, "POST", f"{path}/{transfer['id']}/accept", body, **more)


def owner(served: Served, ident: str) -> tuple[str, str]:
    shown = cinder(served, "GET", f"volumes/{ident}", user="admin").json()["volume"]
    return shown["os-vol-tenant-attr:tenant_id"], shown["status"]


@pytest.mark.parametrize("path", PATHS)
def test_an_accepted_volume_belongs_to_the_other_project(fresh: Served, path: str) -> None:
    ident = volume(fresh)
    transfer = offer(fresh, ident, path)
    assert owner(fresh, ident) == (DEMO, "awaiting-transfer")
    wrong = accept(fresh, {**transfer, "auth_key": "x"}, path, user="admin")
    assert (wrong.status_code, wrong.json()["badRequest"]["message"]) == (
        400,
        f"Invalid auth key: Attempt to transfer {transfer['id']} with invalid auth key.",
    )
    accepted = accept(fresh, transfer, path, user="admin")
    assert accepted.status_code == 202
    assert set(accepted.json()["transfer"]) == {"id", "name", "volume_id", "links"}
    assert owner(fresh, ident) == (ADMIN, "available")
    assert cinder(fresh, "GET", f"volumes/{ident}").status_code == 404
    gone = cinder(fresh, "GET", f"{path}/{transfer['id']}")
    assert gone.status_code == 404
    message = f"Transfer {transfer['id']} could not be found."
    assert gone.json()["itemNotFound"]["message"] == message


@pytest.mark.parametrize("path", PATHS)
def test_transfers_are_listed_in_brief_in_detail_and_alone(fresh: Served, path: str) -> None:
    first, second = (offer(fresh, volume(fresh), path) for _ in range(2))
    brief = cinder(fresh, "GET", path).json()["transfers"]
    assert [one["id"] for one in brief] == [second["id"], first["id"]]
    assert set(brief[0]) == {"id", "name", "volume_id", "links"}
    detailed = cinder(fresh, "GET", f"{path}/detail").json()["transfers"]
    shown = cinder(fresh, "GET", f"{path}/{first['id']}").json()["transfer"]
    assert shown == detailed[1]
    assert shown == {key: value for key, value in first.items() if key != "auth_key"}
    assert shown["source_project_id"] == DEMO
    assert (shown["created_at"], shown["no_snapshots"]) == (first["created_at"], False)
    assert cinder(fresh, "GET", path, user="admin").json()["transfers"] == []
    everything = cinder(fresh, "GET", f"{path}?all_tenants=1", user="admin").json()["transfers"]
    assert len(everything) == 2
    page = cinder(fresh, "GET", f"{path}?limit=1").json()
    follow = page["transfers_links"][0]["href"].removeprefix(f"{fresh.url}/volume/v3/")
    assert [one["id"] for one in cinder(fresh, "GET", follow).json()["transfers"]] == [first["id"]]


def test_a_cancelled_transfer_leaves_the_volume_where_it_is(fresh: Served) -> None:
    ident = volume(fresh)
    transfer = offer(fresh, ident)
    assert cinder(fresh, "DELETE", f"{PATHS[1]}/{transfer['id']}").status_code == 202
    assert owner(fresh, ident) == (DEMO, "available")
    assert accept(fresh, transfer, user="admin").status_code == 404


def test_only_an_available_volume_is_offered(fresh: Served) -> None:
    ident = volume(fresh)
    offer(fresh, ident)
    again = cinder(fresh, "POST", PATHS[0], {"transfer": {"volume_id": ident}})
    assert again.status_code == 400
    assert again.json()["badRequest"]["message"] == "Invalid volume: status must be available"
    missing = cinder(fresh, "POST", PATHS[0], {"transfer": {"name": "x"}})
    assert missing.status_code == 400


@pytest.mark.parametrize(("without", "project"), [(False, ADMIN), (True, DEMO)])
def test_snapshots_go_along_unless_they_are_left(
    fresh: Served, without: bool, project: str
) -> None:
    transfer = offer(fresh, volume(fresh, snapshots=2), no_snapshots=without)
    assert accept(fresh, transfer, user="admin").status_code == 202
    path = "snapshots/detail?all_tenants=1"
    snapshots = cinder(fresh, "GET", path, user="admin").json()["snapshots"]
    key = "os-extended-snapshot-attributes:project_id"
    assert [one[key] for one in snapshots] == [project] * 2


def test_the_quota_of_the_new_project_counts(fresh: Served) -> None:
    transfer = offer(fresh, volume(fresh))
    quota = {"quota_set": {"gigabytes": 1}}
    assert cinder(fresh, "PUT", f"os-quota-sets/{ADMIN}", quota, user="admin").ok
    assert accept(fresh, transfer, user="admin").status_code == 413
    assert owner(fresh, transfer["volume_id"]) == (DEMO, "awaiting-transfer")


def test_the_newer_path_and_its_fields_exist_since_3_55(fresh: Served) -> None:
    older = {"OpenStack-API-Version": "volume 3.54"}
    assert cinder(fresh, "GET", PATHS[1], headers=older).status_code == 404
    assert cinder(fresh, "GET", PATHS[0], headers=older).status_code == 200
    body = {"transfer": {"volume_id": volume(fresh), "no_snapshots": True}}
    assert cinder(fresh, "POST", PATHS[0], body, headers=older).status_code == 400


@pytest.mark.filterwarnings("ignore")  # the SDK warns about itself
def test_the_sdk_transfers_a_volume(fresh: Served) -> None:
    with (
        openstack.connect(**fresh.client_config()) as demo,
        openstack.connect(**fresh.client_config("admin")) as admin,
    ):
        made = demo.block_storage.create_volume(size=1, name="data")
        made = demo.block_storage.wait_for_status(made, "available", interval=0.05, wait=5)
        transfer = demo.block_storage.create_transfer(volume_id=made.id, name="gift")
        assert [one.name for one in demo.block_storage.transfers()] == ["gift"]
        assert demo.block_storage.find_transfer("gift").volume_id == made.id
        admin.block_storage.accept_transfer(transfer.id, transfer.auth_key)
        assert [one.id for one in admin.block_storage.volumes()] == [made.id]
