"""Requests for snapshots that cannot be meant."""

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}\n"


@pytest.mark.parametrize(
    ("name", "word"), [("x" * 256, "255"), (["x" * 300], "255"), ("a\0b", "null")]
)
def test_a_name_that_no_database_can_store_is_refused(api: Caller, name: object, word: str):
    path = api.create("named-snapshots", TEMPLATE)
    try:
        reply = api.call("POST", f"{path}/snapshots", {"name": name})
        assert reply.status_code == 400, reply.text
        assert word in reply.json()["error"]["message"]
        assert api.call("GET", f"{path}/snapshots").json()["snapshots"] == []
    finally:
        api.call("DELETE", path)
        api.ended(path)
