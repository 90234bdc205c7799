"""A stack through the orchestration API, which here is a few lines in memory."""

import asyncio

import pytest

from hearth.cloud import CloudFault, ListingCloud, Response
from hearth.cloud.contract import Whoami
from hearth.model.state import Action
from hearth.resources.base import Change
from tests.resources.driver import Broken, Driver
from tests.resources.fake import live_of

STACK = "OS::Heat::Stack"


class Elsewhere(ListingCloud):
    """Stacks that end at the second look."""

    def __init__(self, fate="COMPLETE"):
        super().__init__()
        self.stack, self.fate, self.looks = None, fate, 0

    async def request(self, service, method, path, *, json=None, **_kw):
        assert service == "orchestration"
        match method, path:
            case "POST", "/stacks":
                self.stack = {"id": "s1", "stack_name": json["stack_name"], "outputs": []}
                self.begin("CREATE", json)
                return Response(201, {}, {"stack": {"id": "s1"}})
            case "GET", "/stacks?name=web-thing-abc":
                return Response(200, {}, {"stacks": [self.stack] if self.stack else []})
        if self.stack is None:
            raise CloudFault(service, 404, "EntityNotFound", "gone")
        match method:
            case "PUT":
                self.begin("UPDATE", json)
            case "POST":
                self.begin(next(iter(json)).upper(), None)
            case "DELETE":
                self.begin("DELETE", None)
            case "GET":
                return self.look()
        return Response(202)

    def begin(self, action, json):
        self.action, self.looks = action, 0
        self.stack["stack_status"] = f"{action}_IN_PROGRESS"
        if json:
            value = json["parameters"].get("p")
            self.stack["outputs"] = [{"output_key": "o", "output_value": value}]

    def look(self):
        self.looks += 1
        if self.looks == 2:
            self.stack["stack_status"] = f"{self.action}_{self.fate}"
            self.stack["stack_status_reason"] = "so it is"
            if self.action == "DELETE":
                self.stack = None
                raise CloudFault("orchestration", 404, "EntityNotFound", "gone")
        return Response(200, {}, {"stack": dict(self.stack)})


def stack_on(cloud, parameters):
    return live_of(STACK, {"template": "{}", "parameters": parameters}, cloud=cloud)


def test_a_stack_is_made_changed_suspended_and_removed():
    async def story():
        cloud = Elsewhere()
        driver = Driver(None, cloud)
        live = stack_on(cloud, {"p": 1})
        await driver.run(live, Action.CREATE)
        first = live.kind.recordable(live)
        live.properties = {**live.properties, "parameters": {"p": 2}}
        for action in (Action.UPDATE, Action.SUSPEND, Action.RESUME, Action.CHECK):
            await driver.run(live, action)
        second = await live.kind.attribute(live, "outputs")
        found = await live.kind.find(live)
        await driver.run(live, Action.DELETE)
        return first, second, found.physical_id, cloud.stack

    first, second, found, left = asyncio.run(story())
    assert first == {"stack_name": "web-thing-abc", "outputs": {"o": 1}}
    assert second == {"o": 2}
    assert found == "s1"
    assert left is None


def test_a_failed_stack_gives_its_reason():
    cloud = Elsewhere("FAILED")
    live = stack_on(cloud, {})
    with pytest.raises(Broken, match="so it is"):
        asyncio.run(Driver(None, cloud).run(live, Action.CREATE))


def test_another_region_is_another_stack():
    kind = stack_on(None, {}).kind
    before, after = {"context": {"region_name": "a"}}, {"context": {"region_name": "b"}}
    assert kind.must_replace(Change(before, after, frozenset({"context"})))
    assert not kind.must_replace(Change(before, before, frozenset({"context"})))


class Region(ListingCloud):
    """A cloud of one region that knows another, and takes one template."""

    def __init__(self, status=400):
        super().__init__()
        self.status = status

    async def whoami(self):
        return Whoami("u", "p", None, (), "", "here")

    async def request(self, service, method, path, *, json=None, **_kw):
        match service, path:
            case "identity", "/v3/auth/catalog":
                endpoints = [{"region_id": "here"}, {"region_id": "there"}]
                catalog = [{"type": "orchestration", "endpoints": endpoints}]
                return Response(200, {}, {"catalog": catalog})
            case "orchestration", "/validate":
                if json["template"] != "good":
                    raise CloudFault(service, self.status, "HTTPBadRequest", "it is bad")
                return Response(200, {}, {})
        raise AssertionError(path)


def refusals(properties, cloud):
    kind = stack_on(None, {}).kind
    return list(asyncio.run(kind.refused(properties, cloud)))


def test_what_is_wrong_with_the_other_stack_is_known_beforehand():
    assert refusals({"template": "good"}, Region()) == []
    assert refusals({"template": "good", "context": {"region_name": "here"}}, Region()) == []
    assert refusals({"template": None}, Region()) == []  # not known yet
    (told,) = refusals({"template": "bad"}, Region())
    assert told == (
        'Failed validating stack template using Heat endpoint at region "here" due to '
        '"ERROR: it is bad"'
    )
    with pytest.raises(CloudFault):
        refusals({"template": "bad"}, Region(503))


def test_regions_that_cannot_be_reached_are_told_beforehand():
    (told,) = refusals({"template": "good", "context": {"region_name": "nowhere"}}, Region())
    assert told.startswith('Cannot establish connection to Heat endpoint at region "nowhere" due')
    (told,) = refusals({"template": "good", "context": {"region_name": "there"}}, Region())
    assert told == "Stacks in another region (there) are not supported."
