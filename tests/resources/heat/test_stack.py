"""A stack through the orchestration API, which here is a few lines in memory."""

import asyncio
import json

import pytest

from hearth.cloud import CloudFault, Response
from hearth.cloud.contract import Whoami
from hearth.cloud.fault import NoService, NotFound
from hearth.cloud.listing import ListingCloud
from hearth.model.state import Action
from hearth.resources.base import Change
from tests.resources.driver import Broken, Driver
from tests.resources.fake import context_of

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
            raise NotFound(service, "gone", "EntityNotFound")
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
                raise NotFound("orchestration", "gone", "EntityNotFound")
        return Response(200, {}, {"stack": dict(self.stack)})


def stack_on(cloud, parameters):
    return context_of(STACK, {"template": "{}", "parameters": parameters}, cloud=cloud)


def test_a_stack_is_made_changed_suspended_and_removed():
    async def story():
        cloud = Elsewhere()
        driver = Driver(None, cloud)
        ctx = stack_on(cloud, {"p": 1})
        await driver.run(ctx, Action.CREATE)
        first = ctx.kind.recordable(ctx)
        ctx.properties = {**ctx.properties, "parameters": {"p": 2}}
        for action in (Action.UPDATE, Action.SUSPEND, Action.RESUME, Action.CHECK):
            await driver.run(ctx, action)
        second = await ctx.kind.attribute(ctx, "outputs")
        found = await ctx.kind.find(ctx)
        await driver.run(ctx, Action.DELETE)
        return first, second, found.physical_id, cloud.stack

    first, second, found, left = asyncio.run(story())
    assert first == {"stack_name": "web-thing-abc", "outputs": {"o": 1}}
    assert second == {"o": 2}
    assert found == "s1"
    assert left is None


class Renamed(ListingCloud):
    """One stack, with the name that another record generated; `gone`: it is deleted."""

    def __init__(self):
        super().__init__()
        self.calls, self.gone = [], False

    async def request(self, service, method, path, **_kw):
        shown = {"id": "s1", "stack_name": "former-name", "stack_status": "UPDATE_COMPLETE"}
        if path == "/stacks?id=s1":
            return Response(200, {}, {"stacks": [] if self.gone else [shown]})
        if self.gone or not path.startswith("/stacks/former-name/s1"):
            raise NotFound(service, "gone", "EntityNotFound")
        self.calls.append(f"{method} {path}")
        self.gone = method == "DELETE"
        return Response(200, {}, {"stack": shown})


def test_an_adopted_stack_is_found_by_its_id():
    async def story():
        cloud = Renamed()
        ctx = stack_on(cloud, {})
        ctx.physical_id = "s1"
        assert await ctx.kind.attribute(ctx, "stack_name") == "former-name"
        ctx.action = Action.UPDATE
        for call in (ctx.kind.update, ctx.kind.act, ctx.kind.wait):
            await call(ctx)
        await Driver(None, cloud).run(ctx, Action.DELETE)
        return cloud.calls

    whole = "/stacks/former-name/s1"
    assert asyncio.run(story()) == [
        f"GET {whole}", f"PUT {whole}", f"POST {whole}/actions", f"GET {whole}",
        f"DELETE {whole}",
    ]  # fmt: skip


def test_nothing_is_recorded_of_a_stack_that_was_not_read():
    ctx = stack_on(Renamed(), {})
    assert ctx.kind.recordable(ctx) == {}


def test_a_failed_stack_gives_its_reason():
    cloud = Elsewhere("FAILED")
    ctx = stack_on(cloud, {})
    with pytest.raises(Broken, match="so it is"):
        asyncio.run(Driver(None, cloud).run(ctx, Action.CREATE))


def test_another_region_is_another_stack():
    kind = stack_on(None, {}).kind
    before, after = {"context": {"region_name": "a"}}, {"context": {"region_name": "b"}}
    assert kind.must_replace(Change(before, after, frozenset({"context"})))
    assert not kind.must_replace(Change(before, before, frozenset({"context"})))


APPLICATION = {
    "auth_type": "v3applicationcredential",
    "auth": {
        "auth_url": "http://far/identity",
        "application_credential_id": "a1",
        "application_credential_secret": "hidden",
    },
}


class Region(ListingCloud):
    """A region that knows another and keeps a secret, and takes one template. `fault` is what its
    endpoint, `status` what its validation is refused with."""

    def __init__(self, status=400, region="here", secret=None, fault=None):
        super().__init__()
        self.status, self.region, self.secret, self.fault = status, region, secret, fault
        self.gone, self.calls = [], []

    async def whoami(self):
        return Whoami("u", "p", None, (), "", "here")

    async def endpoint(self, service):
        if self.fault is not None:
            raise self.fault
        if self.region not in ("here", "there", None):
            raise NoService(service)
        return "http://far"

    def elsewhere(self, *, region=None, credential=None, tls=None):
        self.gone.append((region, credential, tls))
        there = Region(self.status, region, fault=self.fault)
        there.calls = self.calls
        return there

    async def request(self, service, method, path, *, json=None, **_kw):
        self.calls.append((self.region, method, path))
        match service, path:
            case "orchestration", "/validate":
                if json["template"] != "good":
                    raise CloudFault(service, self.status, "HTTPBadRequest", "it is bad")
                return Response(200, {}, {})
            case "orchestration", "/stacks":
                return Response(201, {}, {"stack": {"id": "s1"}})
            case "orchestration", "/stacks?name=web-thing-abc":
                stack = {"id": "s1", "stack_name": "web-thing-abc"}
                return Response(200, {}, {"stacks": [stack]})
            case "orchestration", "/stacks/web-thing-abc/s1" if method == "GET":
                stack = {"stack_status": "UPDATE_IN_PROGRESS", "outputs": []}
                return Response(200, {}, {"stack": stack})
            case "orchestration", "/stacks/web-thing-abc/s1" | "/stacks/web-thing-abc/s1/actions":
                return Response(202)
            case "key-manager", "/v1/secrets/s7":
                if self.secret is None:
                    raise NotFound(service, "no such secret", "Not Found")
                return Response(200, {}, {"content_types": {"default": "text/plain"}})
            case "key-manager", "/v1/secrets/s7/payload":
                return Response(200, {}, self.secret)
        raise AssertionError(path)


def refusals(properties, cloud):
    kind = stack_on(None, {}).kind
    return list(asyncio.run(kind.refused(properties, cloud)))


def in_context(cloud, **context):
    return refusals({"template": "good", "context": context}, cloud)


def test_what_is_wrong_with_the_other_stack_is_known_beforehand():
    assert refusals({"template": "good"}, Region()) == []
    assert in_context(Region(), region_name="here") == []
    assert refusals({"template": None}, Region()) == []  # not known yet
    (told,) = refusals({"template": "bad"}, Region())
    assert told == (
        'Failed validating stack template using Heat endpoint at region "here" due to '
        '"ERROR: it is bad"'
    )
    with pytest.raises(CloudFault):
        refusals({"template": "bad"}, Region(503))


def test_regions_that_cannot_be_reached_are_told_beforehand():
    (told,) = in_context(Region(), region_name="nowhere")
    assert told == (
        'Cannot establish connection to Heat endpoint at region "nowhere" due to '
        '"public endpoint for orchestration service in nowhere region not found"'
    )
    there = {"template": "bad", "context": {"region_name": "there"}}
    (told,) = refusals(there, Region(0))
    assert told.startswith('Cannot establish connection to Heat endpoint at region "there" due')
    (told,) = refusals(there, Region(403))
    assert told.startswith("Failed validating stack template using Heat endpoint at region ")


def test_a_stack_in_another_region_is_validated_there():
    cloud = Region()
    assert in_context(cloud, region_name="there") == []
    assert cloud.calls == [("there", "POST", "/validate")]
    assert cloud.gone == [("there", None, None)]


def test_a_context_that_is_not_known_yet_is_not_judged():
    cloud = Region()
    assert refusals({"template": "bad", "context": None}, cloud) == []
    assert cloud.calls == []


@pytest.mark.parametrize("ref", ["s7", "http://keys/v1/secrets/s7"])
def test_a_credential_from_a_secret_leads_to_another_cloud(ref):
    cloud = Region(secret=json.dumps(APPLICATION))
    assert in_context(cloud, credential_secret_id=ref, region_name="there", ca_cert="PEM") == []
    ((region, credential, tls),) = cloud.gone
    assert (region, credential.kind, credential.auth_url) == (
        "there",
        "v3applicationcredential",
        "http://far/identity",
    )
    assert dict(credential.options)["application_credential_secret"] == "hidden"
    assert "hidden" not in repr(credential)
    assert (tls.ca_text, tls.insecure) == ("PEM", False)


def test_any_certificate_is_trusted_where_it_is_said_so():
    cloud = Region()
    assert in_context(cloud, insecure=True) == []
    ((_, _, tls),) = cloud.gone
    assert tls.insecure


def test_every_call_about_the_stack_is_made_where_it_is():
    async def story():
        cloud = Region(secret=json.dumps(APPLICATION))
        ctx = stack_on(cloud, {})
        context = {"credential_secret_id": "s7", "region_name": "there"}
        ctx.properties = {**ctx.properties, "context": context}
        kind = ctx.kind
        ctx.physical_id = (await kind.create(ctx)).physical_id
        assert (await kind.find(ctx)).physical_id == "s1"
        for call in (kind.update, kind.updated, kind.act, kind.acted, kind.wait, kind.delete):
            await call(ctx)
        assert await kind.attribute(ctx, "outputs") == {}
        return cloud.calls

    calls = asyncio.run(story())
    assert len([path for _, _, path in calls if path.startswith("/stacks")]) == 9
    for region, _, path in calls:
        assert region == ("there" if path.startswith("/stacks") else "here")


def without(name, **more):
    return {**APPLICATION, "auth": {**APPLICATION["auth"], **more, name: None}}


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        (None, "cannot be read: no such secret"),
        ("hidden", "holds no credential: the text is not JSON"),
        ('["hidden"]', 'a map with the string "auth_type"'),
        (json.dumps({**APPLICATION, "auth_type": "hidden"}), "auth_type must be one of v3app"),
        (json.dumps({**APPLICATION, "auth_type": ["hidden"]}), "auth_type must be one of v3"),
        (json.dumps(without("auth_url")), "auth_url must be an http or https URL"),
        (json.dumps(without("", auth_url="file:///etc")), "auth_url must be an http or https"),
        (json.dumps(without("", auth_url="http://hidden@x/")), "auth_url must be an http or"),
        (json.dumps(without("application_credential_secret")), "requires application_credential_s"),
        (json.dumps(without("", password="hidden")), "does not support password in auth"),
        (json.dumps(without("", username=7)), "must be strings"),
    ],
)
def test_what_is_wrong_with_a_secret_is_told_without_what_it_says(secret, words):
    cloud = Region(secret=secret)
    (told,) = in_context(cloud, credential_secret_id="s7")
    assert words in told
    assert "hidden" not in told
    assert cloud.gone == []


@pytest.mark.parametrize(
    ("fault", "words", "status"),
    [
        (CloudFault("identity", 0, "ConnectFailure", "http://far"), "auth_url does not answer", 0),
        (CloudFault("identity", 401, "Unauthorized", "Who are you?"), "used: Who are you?", 400),
        (CloudFault("identity", 400, "WrongCertificate", "no PEM"), "context.ca_cert: no PEM", 400),
        (NoService("x"), "Cannot establish connection to", 400),
    ],
)
def test_a_cloud_out_of_reach_is_never_taken_for_one_where_the_stack_is_gone(fault, words, status):
    cloud = Region(secret=json.dumps(APPLICATION), fault=fault)
    (told,) = in_context(cloud, credential_secret_id="s7")
    assert words in told
    assert "far" not in told
    ctx = stack_on(cloud, {})
    ctx.properties = {**ctx.properties, "context": {"credential_secret_id": "s7"}}
    ctx.physical_id = "s1"
    with pytest.raises(CloudFault) as raised:
        asyncio.run(ctx.kind.delete(ctx))
    assert raised.value.status == status


def test_a_key_manager_that_is_away_is_not_the_secrets_fault():
    class Away(Region):
        async def request(self, service, method, path, **more):
            raise CloudFault(service, 503, "Unavailable", "busy")

    with pytest.raises(CloudFault, match="busy"):
        in_context(Away(), credential_secret_id="s7")
