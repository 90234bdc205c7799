"""What an update with `converge` takes for the real state of an object."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.cloud.fault import CloudFault, NoService, NotFound, NoToken
from hearth.engine.worker.node.adopt import observed
from hearth.resources.registry import builtin_types

NET = builtin_types()["OS::Neutron::Net"]
VOLUME = builtin_types()["OS::Cinder::Volume"]


def found(monkeypatch: pytest.MonkeyPatch, rtype: Any, shown: Any) -> Any:
    """The real state if `observe` gives or raises `shown`; the name `one` and the size 2 are
    recorded."""

    async def observe(self: Any, ctx: Any) -> Any:
        if isinstance(shown, Exception):
            raise shown
        return shown

    monkeypatch.setattr(type(rtype), "observe", observe)
    ctx: Any = SimpleNamespace(
        name="x", physical_id="id", properties={"name": "one", "size": 2}, cloud=None
    )
    return asyncio.run(observed(rtype, ctx))


def test_only_what_an_update_can_change_back_counts(monkeypatch: pytest.MonkeyPatch):
    shown = {"name": "other", "availability_zone_hints": ["far"]}
    assert found(monkeypatch, NET, shown) == {"name": "other"}
    assert found(monkeypatch, VOLUME, {"size": 3}) == {}
    assert found(monkeypatch, VOLUME, {"size": 1}) == {"size": 1}


def test_an_object_is_gone_only_if_its_service_says_so(monkeypatch: pytest.MonkeyPatch):
    lost = NotFound("network", "no such thing")
    assert found(monkeypatch, NET, lost) is None
    assert found(monkeypatch, NET, NoService("network")) == {}
    assert found(monkeypatch, NET, NoToken("identity", 404, "NotFound", "no trust")) == {}
    assert found(monkeypatch, NET, CloudFault("network", 503, "Busy", "later")) == {}
