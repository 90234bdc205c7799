"""Volume types, their encryption, and QoS specs."""

from __future__ import annotations

from typing import Any

from tests.devcloud.running import Served


def cinder(served: Served, method: str, path: str, body: Any = None) -> Any:
    return served.call(method, f"/volume/v3{path}", body, user="admin")


def new_type(served: Served, name: str, **more: Any) -> Any:
    return cinder(served, "POST", "/types", {"volume_type": {"name": name, **more}})


def test_a_type_takes_known_fields_and_a_free_name(fresh: Served) -> None:
    assert new_type(fresh, "one", colour="red").status_code == 400
    assert new_type(fresh, "one").ok
    two = new_type(fresh, "two").json()["volume_type"]["id"]
    assert (
        cinder(fresh, "PUT", f"/types/{two}", {"volume_type": {"name": "one"}}).status_code == 409
    )
    assert cinder(fresh, "PUT", f"/types/{two}", {"volume_type": {"name": "two"}}).ok
    assert cinder(fresh, "PUT", f"/types/{two}", {"volume_type": {"size": 1}}).status_code == 400


def test_a_type_is_encrypted_once_and_not_while_it_has_volumes(fresh: Served) -> None:
    path = f"/types/{new_type(fresh, 'one').json()['volume_type']['id']}/encryption"
    fields = {"provider": "luks", "control_location": "front-end"}
    for wrong in ({"key_size": "big"}, {"control_location": "moon"}, {"colour": "red"}):
        body = {"encryption": {**fields, **wrong}}
        assert cinder(fresh, "POST", path, body).status_code == 400, wrong
    assert cinder(fresh, "POST", path, {"encryption": fields}).ok
    assert cinder(fresh, "POST", path, {"encryption": fields}).status_code == 400
    made = cinder(fresh, "POST", "/volumes", {"volume": {"size": 1, "volume_type": "one"}})
    assert cinder(fresh, "DELETE", f"{path}/provider").status_code == 400
    change = {"encryption": {"key_size": 512}}
    assert cinder(fresh, "PUT", f"{path}/provider", change).status_code == 400
    assert cinder(fresh, "DELETE", f"/volumes/{made.json()['volume']['id']}").ok
    assert cinder(fresh, "PUT", f"{path}/provider", change).ok
    assert cinder(fresh, "DELETE", f"{path}/provider").status_code == 202
    assert cinder(fresh, "DELETE", f"{path}/provider").status_code == 404


def test_specs_stay_while_a_type_follows_them(fresh: Served) -> None:
    def specs(name: str, **more: Any) -> Any:
        return cinder(fresh, "POST", "/qos-specs", {"qos_specs": {"name": name, **more}})

    assert specs("x", consumer="moon").status_code == 400
    assert specs("x", iops=5).status_code == 400
    one, two = (specs(name, iops="5").json()["qos_specs"]["id"] for name in ("one", "two"))
    kind = new_type(fresh, "kind").json()["volume_type"]["id"]
    tie = f"associate?vol_type_id={kind}"
    assert cinder(fresh, "GET", f"/qos-specs/{one}/associate?vol_type_id=x").status_code == 404
    assert cinder(fresh, "GET", f"/qos-specs/{one}/{tie}").status_code == 202
    assert cinder(fresh, "GET", f"/qos-specs/{two}/{tie}").status_code == 400
    rows = cinder(fresh, "GET", f"/qos-specs/{one}/associations").json()["qos_associations"]
    assert [row["id"] for row in rows] == [kind]
    assert cinder(fresh, "DELETE", f"/qos-specs/{one}").status_code == 400
    gone = cinder(fresh, "PUT", f"/qos-specs/{one}/delete_keys", {"keys": ["bps"]})
    assert gone.status_code == 404
    assert cinder(fresh, "GET", f"/qos-specs/{one}/disassociate_all").status_code == 202
    assert cinder(fresh, "DELETE", f"/qos-specs/{one}").status_code == 202
