"""What may befall each type: forbidden, no answer, an error state, deleted behind our back."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from hearth.resources.described import example
from hearth.resources.registry import builtin_types
from tests.types.case import Subject, Template, subject
from tests.types.cloud import Place, in_a_box
from tests.types.story import Orchestration, Wrong

pytestmark = pytest.mark.slow
TYPES = builtin_types()
NAMES = [name for name, kind in TYPES.items() if kind.service and example(kind) is not None]
KNOB_SERVICES = {"block-storage": "volume"}
WORDS = "the moon stands in the wrong house"
BODIES = {
    "network": {"NeutronError": {"type": "PolicyNotAuthorized", "message": WORDS, "detail": ""}},
    "identity": {"error": {"title": "Forbidden", "message": WORDS, "code": 403}},
    "load-balancer": {"faultcode": "Client", "faultstring": WORDS, "debuginfo": None},
    "image": WORDS,
    "key-manager": {"title": "Forbidden", "description": WORDS, "code": 403},
    "dns": {"type": "forbidden", "message": WORDS, "code": 403},
}
OTHERS = {"forbidden": {"message": WORDS, "code": 403}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with in_a_box(tmp_path_factory.mktemp("hearth")) as found:
        yield found


@pytest.fixture(autouse=True)
def no_rules(place: Place) -> Iterator[None]:
    yield
    place.admin("DELETE", "knobs")


def without(one: Subject) -> Template:
    """The example without the resource under test and without what refers to it."""
    template = deepcopy(one.template)
    template.pop("outputs", None)
    gone = {one.resource}
    while more := [
        n for n, body in template["resources"].items() if n in gone or _names(body, gone)
    ]:
        for name in more:
            gone.add(name)
            del template["resources"][name]
    return template


def _names(body: Any, gone: set[str]) -> bool:
    match body:
        case {"get_resource": str(name)}:
            return name in gone
        case {"get_attr": [str(name), *_]}:
            return name in gone
        case dict():
            needs = body.get("depends_on") or []
            needs = [needs] if isinstance(needs, str) else needs
            return bool(gone & {n for n in needs if isinstance(n, str)}) or any(
                _names(value, gone) for value in body.values()
            )
        case list():
            return any(_names(value, gone) for value in body)
    return False


def writes(service: str, effect: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Rules for all calls of a service that change something."""
    name = KNOB_SERVICES.get(service, service)
    return [
        {"match": {"service": name, "method": method, "path_regex": "(?<!/tokens)$", **more},
         "effect": effect}
        for method in ("POST", "PUT", "PATCH")
    ]  # fmt: skip


def begun(one: Subject, heat: Orchestration, name: str) -> str:
    """A stack with all that the resource under test needs."""
    rest = without(one)
    path = heat.create(name, rest)
    heat.ended(path, "CREATE")
    return path


def refusal(heat: Orchestration, path: str, template: Template | str) -> str | None:
    """Why an update failed; None: it did not."""
    try:
        heat.update(path, template)
    except Wrong as wrong:
        return str(wrong)
    return None


@pytest.mark.parametrize("name", NAMES)
def test_a_refusal_is_told_in_the_words_of_the_cloud(place: Place, name: str):
    one = subject(name)
    heat = place.heat(one.case.get("caller", "demo"))
    service = TYPES[name].service or ""
    path = begun(one, heat, f"no-{one.slug}")
    effect = {"status": 403, "body": BODIES.get(service, OTHERS)}
    place.knobs(writes(service, effect))
    with pytest.raises(Wrong, match=WORDS):
        heat.update(path, one.example)
    assert heat.resource(path, one.resource)["resource_status"] == "CREATE_FAILED"
    place.admin("DELETE", "knobs")
    heat.update(path, one.example)
    heat.delete(path)
    assert place.left_over() == []


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_is_lost_doubles_nothing(place: Place, name: str):
    one = subject(name)
    heat = place.heat(one.case.get("caller", "demo"))
    path = begun(one, heat, f"lost-{one.slug}")
    place.knobs(writes(TYPES[name].service or "", {"withhold": 0.02}, times=1))
    heat.update(path, one.example)
    heat.delete(path)
    assert place.left_over() == []


@pytest.mark.parametrize("name", NAMES)
def test_an_error_state_leaves_nothing(place: Place, name: str):
    one = subject(name)
    heat = place.heat(one.case.get("caller", "demo"))
    path = begun(one, heat, f"error-{one.slug}")
    place.knobs(writes(TYPES[name].service or "", {"error": True}))
    said = refusal(heat, path, one.example)
    assert said is None or (one.resource in said and "ERROR" in said.upper())
    place.admin("DELETE", "knobs")
    heat.delete(path)
    assert place.left_over() == []


@pytest.mark.parametrize("name", NAMES)
def test_what_was_deleted_behind_our_back_is_noticed_and_made_again(place: Place, name: str):
    one = subject(name)
    if "lost" in one.case:
        pytest.skip(one.case["lost"])
    heat = place.heat(one.case.get("caller", "demo"))
    path = heat.create(f"gone-{one.slug}", one.example)
    heat.ended(path, "CREATE")
    physical = heat.resource(path, one.resource)["physical_resource_id"]
    lost = place.admin("DELETE", f"objects/{physical.rpartition('/')[2]}")["lost"]
    assert lost, f"no object {physical}"
    with pytest.raises(Wrong, match=one.resource):
        heat.act(path, "check")
    heat.update(path, one.example)
    heat.act(path, "check")
    heat.delete(path)
    assert place.left_over() == []
