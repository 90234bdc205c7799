"""A fixed part of the table of second steps; `make second-steps`: all of it."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.second_steps.run import Choice, TypeResult, examine
from tests.second_steps.watch import watching
from tests.types.cloud import in_a_box

pytestmark = pytest.mark.slow

FIXED = {
    "a volume keeps its data": Choice(("OS::Cinder::Volume",), "update size", "400", 1, "same"),
    "a volume goes back": Choice(("OS::Cinder::Volume",), "update name", "500 after", 1, "back"),
    "a share keeps its data": Choice(("OS::Manila::Share",), "update name", "409", 1, "back"),
    "a zone is no dead end": Choice(("OS::Designate::Zone",), "update ttl", "500", 1, "same"),
    "a new net gets its tags": Choice(("OS::Neutron::Net",), "create", "400", 3, "same"),
    "a half-made subnet gives way": Choice(("OS::Neutron::Subnet",), "create", "400", 3, "check"),
    "a user without its role goes": Choice(("OS::Mistral::Workflow",), "create", "400", 3, "same"),
    "a quota is not reset": Choice(("OS::Nova::Quota",), "update cores", "400", 1, "unhealthy"),
    "a listener in error gives way": Choice(
        ("OS::Octavia::Listener",), "update admin_state_up", "error", 1, "same"
    ),
    "a share that is gone is made again": Choice(
        ("OS::Manila::Share",), "update access_rules", "gone before", 0, "same"
    ),
    "a router is no proof": Choice(("OS::Neutron::Subnet",), "update name", "router", 1, "delete"),
    "a lost volume is made again": Choice(
        ("OS::Cinder::Volume",), "update name", "gone before", 0, "same"
    ),
    "a server in error is replaced": Choice(
        ("OS::Nova::Server",), "update name", "in error", 0, "same"
    ),
    "what goes gives way": Choice(
        ("OS::Neutron::FlowClassifier",), "replace destination_ip_prefix", "400", 3, "back"
    ),
    "a delete goes on": Choice(("OS::Neutron::Router",), "create", "500 after", 1, "delete twice"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, TypeResult]]:
    """All of them at once, and nothing left over; cells of a type would be in each other's way."""
    with (
        in_a_box(tmp_path_factory.mktemp("hearth"), in_a_hurry=True) as place,
        watching(place) as watch,
        ThreadPoolExecutor(len(FIXED)) as pool,
    ):
        parts = [
            replace(choice, share=(0, 1), prefix=f"c{number}")
            for number, choice in enumerate(FIXED.values())
        ]
        found = pool.map(lambda one: examine(place, watch, one.types[0], one), parts)
        yield dict(zip(FIXED, found, strict=True))
        assert place.left_over() == []


@pytest.mark.parametrize("name", FIXED)
def test_what_comes_next_succeeds(results: Mapping[str, TypeResult], name: str) -> None:
    result = results[name]
    assert len(result.outcomes) == 1
    assert [outcome.wrong for outcome in result.outcomes] == [""]
