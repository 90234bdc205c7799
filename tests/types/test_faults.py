"""What may befall each type: forbidden, no answer, an error state, deleted behind our back."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import pytest

from hearth.resources.base import NOTHING_MADE
from hearth.resources.registry import builtin_types
from tests.types.case import Subject, Template, subject
from tests.types.cloud import Place, in_a_box
from tests.types.story import Orchestration, Wrong

pytestmark = pytest.mark.slow
TYPES = builtin_types()
NAMES = [
    name
    for name, kind in TYPES.items()
    if kind.service not in (None, "orchestration") and kind.known_by != NOTHING_MADE
]
"""The types that change something in the cloud in a box."""

KNOB_SERVICES = {"block-storage": "volume"}
OF_TWO = {"OS::Cinder::VolumeAttachment": "compute"}  # the service that takes the calls
AT_ONCE = 6
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
    paths = dict.fromkeys(("POST", "PUT", "PATCH"), "(?<!/tokens)$")
    if name == "volume":
        paths["GET"] = "/(dis)?associate"  # which change something all the same
    return [
        {"match": {"service": name, "method": method, "path_regex": path, **more}, "effect": effect}
        for method, path in paths.items()
    ]


@contextmanager
def stack(place: Place, one: Subject, name: str, template: Template | str) -> Iterator[Any]:
    """The API and the path of a new stack; it goes in the end, with all that it made."""
    heat = place.heat(one.case.get("caller", "demo"))
    path = heat.create(f"{name}-{one.slug}", template)
    try:
        heat.ended(path, "CREATE")
        yield heat, path
    finally:
        place.admin("DELETE", "knobs")
        heat.delete(path)
    assert place.left_over() == []


def refusal(heat: Orchestration, path: str, template: Template | str) -> str | None:
    """Why an update failed; None: it did not."""
    try:
        heat.update(path, template)
    except Wrong as wrong:
        return str(wrong)
    return None


@pytest.mark.parametrize("name", NAMES)
def test_a_refusal_is_told_in_the_words_of_the_cloud(place: Place, name: str):
    one, service = subject(name), OF_TWO.get(name) or TYPES[name].service or ""
    with stack(place, one, "no", without(one)) as (heat, path):
        effect = {"status": 403, "body": BODIES.get(service, OTHERS)}
        place.knobs(writes(service, effect))
        said = refusal(heat, path, one.example)
        assert said is not None
        assert WORDS in said
        shown = heat.resource(path, one.resource)
        assert (shown["resource_status"], WORDS in shown["resource_status_reason"]) == (
            "CREATE_FAILED", True,
        )  # fmt: skip
        place.admin("DELETE", "knobs")
        heat.update(path, one.example)


def at_once(place: Place, befall: Callable[[Place, str], None], names: list[str]) -> dict[str, str]:
    """What went wrong with each type, several at once."""

    def one(name: str) -> str:
        try:
            befall(place, name)
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}"
        return ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(names, pool.map(one, names), strict=True))
    place.admin("DELETE", "knobs")
    return {name: wrong for name, wrong in found.items() if wrong}


def is_lost(place: Place, name: str) -> None:
    """The object of the resource under test goes behind our back; a check and an update see it."""
    one = subject(name)
    heat = place.heat(one.case.get("caller", "demo"))
    path = heat.create(f"gone-{one.slug}", one.example)
    try:
        heat.ended(path, "CREATE")
        physical = heat.resource(path, one.resource)["physical_resource_id"]
        lost = place.admin("DELETE", f"objects/{physical.rpartition('/')[2]}")["lost"]
        assert lost, f"no object {physical}"
        with pytest.raises(Wrong, match=one.resource):
            heat.act(path, "check")
        heat.update(path, one.example)
        heat.act(path, "check")
    finally:
        heat.delete(path)


def test_what_was_deleted_behind_our_back_is_noticed_and_made_again(place: Place):
    names = [name for name in NAMES if "lost" not in subject(name).case]
    wrong = at_once(place, is_lost, names)
    assert wrong == {}, "\n".join(f"{name}: {said}" for name, said in wrong.items())
    assert place.left_over() == []
