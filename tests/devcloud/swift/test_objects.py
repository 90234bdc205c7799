"""Containers, metadata, versions, temporary URLs."""

from __future__ import annotations

import hmac
import time

import pytest

from hearth_devcloud.fixed_ids import fixed_hex
from tests.devcloud.running import Served

ACCOUNT = f"/object-store/v1/AUTH_{fixed_hex('project', 'demo')}"


def test_metadata_of_a_container_is_set_and_removed(served: Served) -> None:
    headers = {"X-Container-Meta-Colour": "red", "X-Container-Read": ".r:*"}
    assert served.call("PUT", f"{ACCOUNT}/meta", headers=headers).status_code == 201
    assert served.call("PUT", f"{ACCOUNT}/meta").status_code == 202
    found = served.call("HEAD", f"{ACCOUNT}/meta")
    assert found.status_code == 204
    assert found.headers["X-Container-Meta-Colour"] == "red"
    served.call("POST", f"{ACCOUNT}/meta", headers={"X-Remove-Container-Meta-Colour": "x"})
    assert "X-Container-Meta-Colour" not in served.call("HEAD", f"{ACCOUNT}/meta").headers
    assert served.session.get(f"{served.url}{ACCOUNT}/meta").status_code == 204


def test_a_container_with_objects_is_not_deleted(served: Served) -> None:
    served.call("PUT", f"{ACCOUNT}/full")
    served.call("PUT", f"{ACCOUNT}/full/a", data=b"1")
    assert served.call("DELETE", f"{ACCOUNT}/full").status_code == 409
    served.call("DELETE", f"{ACCOUNT}/full/a")
    assert served.call("DELETE", f"{ACCOUNT}/full").status_code == 204


def test_head_tells_the_length_of_an_object_and_copy_makes_another(served: Served) -> None:
    served.call("PUT", f"{ACCOUNT}/head")
    kind = {"Content-Type": "text/plain", "X-Object-Meta-A": "1"}
    served.call("PUT", f"{ACCOUNT}/head/o", data=b"hello", headers=kind)
    served.call("PUT", f"{ACCOUNT}/head/p", headers={"X-Copy-From": "head/o"})
    found = served.call("HEAD", f"{ACCOUNT}/head/p")
    assert (found.headers["Content-Length"], found.headers["X-Object-Meta-A"]) == ("5", "1")
    assert served.call("GET", f"{ACCOUNT}/head/none").status_code == 404


def test_a_listing_is_plain_or_json_with_prefix_and_delimiter(served: Served) -> None:
    served.call("PUT", f"{ACCOUNT}/list")
    for name in ("a/1", "a/2", "b"):
        served.call("PUT", f"{ACCOUNT}/list/{name}", data=b"x")
    assert served.call("GET", f"{ACCOUNT}/list").text == "a/1\na/2\nb\n"
    rows = served.call("GET", f"{ACCOUNT}/list?format=json&delimiter=/").json()
    assert [row.get("name", row.get("subdir")) for row in rows] == ["a/", "b"]
    rows = served.call("GET", f"{ACCOUNT}/list?format=json&prefix=a/&limit=1&marker=a/1").json()
    assert [row["name"] for row in rows] == ["a/2"]


def test_an_older_version_comes_back_when_the_newer_is_deleted(served: Served) -> None:
    served.call("PUT", f"{ACCOUNT}/old")
    served.call("PUT", f"{ACCOUNT}/new", headers={"X-Versions-Location": "old"})
    for data in (b"one", b"two"):
        served.call("PUT", f"{ACCOUNT}/new/o", data=data)
    assert len(served.call("GET", f"{ACCOUNT}/old?format=json").json()) == 1
    served.call("DELETE", f"{ACCOUNT}/new/o")
    assert served.call("GET", f"{ACCOUNT}/new/o").content == b"one"


@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha512"])
def test_a_temporary_url_needs_no_token_but_the_right_signature(
    served: Served, digest: str
) -> None:
    served.call("POST", ACCOUNT, headers={"X-Account-Meta-Temp-URL-Key": "key"})
    served.call("PUT", f"{ACCOUNT}/temp")
    expires, path = int(time.time()) + 60, f"{ACCOUNT}/temp/signal"
    signed = hmac.new(b"key", f"PUT\n{expires}\n{path}".encode(), digest).hexdigest()
    url = f"{served.url}{path}?temp_url_sig={signed}&temp_url_expires={expires}"
    assert served.session.put(url, data=b"{}").status_code == 201
    assert served.session.get(url).status_code == 401
    assert served.session.put(url.replace("temp/signal", "temp/other")).status_code == 401
    assert served.call("GET", path).content == b"{}"


def test_only_its_own_project_and_admins_see_a_container(served: Served) -> None:
    served.call("PUT", f"{ACCOUNT}/mine")
    assert served.session.get(f"{served.url}{ACCOUNT}/mine").status_code == 401
    other = {"X-Auth-Token": served.token("hearth", "service")}
    assert served.session.get(f"{served.url}{ACCOUNT}/mine", headers=other).status_code == 204
