"""From a path to a handler."""

from __future__ import annotations

from hearth_devcloud.http import Call, Reply, Router


def handler(name: str) -> object:
    def handle(call: Call) -> Reply:
        return Reply(200, name)

    return handle


def test_a_literal_segment_wins_over_an_id() -> None:
    router = Router()
    router.add("GET", "/servers/detail", handler("detail"))  # type: ignore[arg-type]
    router.add("GET", "/servers/{}", handler("one"))  # type: ignore[arg-type]
    router.add("GET", "/servers/{}/tags/{}", handler("tag"))  # type: ignore[arg-type]

    found = router.find(["servers", "detail"])
    assert found is not None
    assert found[1] == ()
    found = router.find(["servers", "detail", "tags", "x"])
    assert found is not None
    assert found[1] == ("detail", "x")
    assert router.find(["servers"]) is None
