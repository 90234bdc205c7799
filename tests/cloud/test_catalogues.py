"""Equal catalogues are kept once, others are not mixed up, and old ones are dropped."""

from typing import Any

from keystoneauth1 import access
from keystoneauth1.access import service_catalog

from hearth.cloud.catalogues import KEPT_MAX, Catalogues, readable


def token(url: str, user: str = "u") -> Any:
    endpoint = {"id": "e", "interface": "public", "region_id": "R", "region": "R", "url": url}
    catalog = [{"type": "network", "name": "n", "id": "s", "endpoints": [endpoint]}]
    body = {"token": {"catalog": catalog, "user": {"id": user, "name": user},
                      "expires_at": "2100-01-01T00:00:00Z", "issued_at": "x"}}  # fmt: skip
    return access.create(body=body, auth_token="t")


def url_of(info: Any) -> str:
    return str(info.service_catalog.url_for(service_type="network", interface="public"))


def test_equal_catalogues_are_one_object_and_users_stay_apart():
    shared = Catalogues()
    one, two, other = token("http://a"), token("http://a", "v"), token("http://b")
    for info in (one, two, other):
        shared.share(info)
    assert one._data["token"]["catalog"] is two._data["token"]["catalog"]
    assert (one.user_id, two.user_id) == ("u", "v")
    assert [url_of(info) for info in (one, two, other)] == ["http://a", "http://a", "http://b"]


def test_a_token_without_a_catalogue_is_left_alone():
    info = token("http://a")
    info._data["token"]["catalog"] = []
    Catalogues().share(info)
    assert info._data["token"]["catalog"] == []


def test_only_the_latest_are_kept():
    shared = Catalogues()
    first = token("http://first")
    shared.share(first)
    for number in range(KEPT_MAX):
        shared.share(token(f"http://{number}"))
    again = token("http://first")
    shared.share(again)
    assert again._data["token"]["catalog"] is not first._data["token"]["catalog"]
    assert url_of(again) == "http://first"


def test_an_unreadable_endpoint_leaves_the_others_readable():
    endpoint = {"interface": "public", "region": "one", "region_id": "one", "id": "e"}
    there = {"type": "network", "endpoints": [{**endpoint, "url": "http://there"}]}
    for odd in ("http://[::bad", None, 7):
        bad = {"type": "compute", "endpoints": [{**endpoint, "url": odd}, "x"]}
        listed = service_catalog.ServiceCatalogV3(readable([bad, "x", {"type": 7}, there]))
        assert listed.url_for(service_type="network") == "http://there"
        assert set(listed.get_endpoints_data()) <= {"network", "compute"}
