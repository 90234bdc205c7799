"""The walks, as the suite takes them; `python -m tests.walk` prints their tables."""

from collections.abc import Iterator

import pytest

from tests.clients.dev import hearth_dev
from tests.walk import credentials, personas, routes, secrets, site, strangers
from tests.walk.exchanges import exchanges, recorded
from tests.walk.ground import Ground, prepare

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as dev:
        yield prepare(dev)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[site.Site]:
    with site.running(tmp_path_factory.mktemp("served")) as running:
        yield running


def test_each_route_answers_with_the_keys_and_errors_of_the_original(ground: Ground):
    _, wrong, walked = routes.walk(ground)
    assert wrong == []
    assert exchanges(walked).keys() == recorded().keys()


def test_each_rule_lets_in_whom_the_recorded_default_does(ground: Ground):
    _, wrong = personas.walk(ground)
    assert wrong == []


def test_strangers_learn_nothing_and_change_nothing(ground: Ground):
    _, wrong = strangers.walk(ground)
    assert wrong == []


def test_a_user_of_a_stack_reaches_its_own_resource_only(ground: Ground):
    def statuses(resource: str) -> list[int]:
        found = (
            ground.ask(name, by="guest", body=body, resource_name=resource, **ground.stack)
            for name, body in (("resource_metadata_show", None), ("resource_signal", {}))
        )
        return [one.status for one in found]

    reached = {resource: statuses(resource) for resource in ("handle", "value", "child")}
    assert reached == {"handle": [200, 200], "value": [403, 403], "child": [403, 403]}


def test_no_way_in_forgets_to_judge_a_credential(ground: Ground):
    _, wrong = credentials.walk(ground)
    assert wrong == []


def test_a_reader_reads_no_secret(ground: Ground):
    _, wrong = secrets.walk(ground)
    assert wrong == []


def test_no_port_of_its_own_forgets_to_judge_a_credential(served: site.Site):
    shown, wrong = credentials.walk(served.ground, served.apart)
    assert wrong == []
    assert {line.split()[1].split("/")[1] for line in shown.splitlines()[1:]} == {
        prefix.strip("/") for prefix in served.apart
    }


def test_a_member_reads_no_hidden_value_where_only_administrators_may(served: site.Site):
    _, wrong = secrets.walk_narrowed(served.ground)
    assert wrong == []
