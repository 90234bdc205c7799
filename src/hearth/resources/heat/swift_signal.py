"""OS::Heat::SwiftSignal and its handle: each signal is one version of a Swift object.

A client uploads a signal to the temporary URL; the container keeps the earlier versions. Source:
docs/spec/software-config.md, section 15.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.model.json_text import parse_json
from hearth.resources.base import (
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    ResourceType,
    Step,
)
from hearth.resources.capabilities import IntentKey, MakesObject, SecretReference
from hearth.resources.heat.objects import (
    OBJECTS,
    ORPHAN,
    drop_object,
    drop_orphan,
    orphan_objects,
    temporary_url_key,
)
from hearth.resources.heat.signed_url import NEVER, temporary_url
from hearth.resources.heat.wait_condition import of_status, too_late
from hearth.schema import INTEGER, NUMBER, STRING, Attr, Prop, Range, Support

CONTAINER = "container"  # key of the container in the private data
BEGUN = "in progress"  # what is in the object before any signal
LOOK_AGAIN_S = 2.0
PATH = re.compile(r"/v1/AUTH_[^/]+/(?P<container>[^/]+)/(?P<name>[^/]+)$")
STATUSES = ("SUCCESS", "FAILURE")


class SwiftSignalHandle(MakesObject, SecretReference):
    """A URL that receives signals; each PUT request is one signal."""

    type_name = "OS::Heat::SwiftSignalHandle"
    support = Support(version="2014.2")
    attributes = {
        "curl_cli": Attr(
            STRING,
            "A curl command that sends a signal; add the data as --data-binary JSON.",
            cached=False,
            secret=True,
        ),
        "endpoint": Attr(STRING, "URL that takes signals.", cached=False, secret=True),
        "token": Attr(STRING, "Nothing: the URL needs no token.", cached=False),
    }
    service = OBJECTS
    orphan_prefixes = (ORPHAN,)
    identified_by = IntentKey.OWN_ID
    known_by = (
        "the generated name of the object, in a container with the id of the stack as its name"
    )

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (
            Step("key", self.make_key),
            Step("container", self.make_container),
            Step("object", self.make_object, self.find),
            Step("url", self.sign),
        )

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        has_object = ctx.physical_id or CONTAINER in ctx.data
        return (Step("drop-object", self.drop),) if has_object else ()

    async def make_key(self, ctx: ResourceContext) -> Made | None:
        """Set the account's key for temporary URLs, unless it has one."""
        await temporary_url_key(ctx)
        return None

    async def make_container(self, ctx: ResourceContext) -> Made:
        """Create a container that keeps older versions of its objects."""
        headers = {"X-Versions-Location": ctx.stack.id}
        path = f"/{segment(ctx.stack.id)}"
        await ctx.cloud.request(OBJECTS, "PUT", path, headers=headers, idempotent=True)
        return Made(data={CONTAINER: ctx.stack.id})

    async def make_object(self, ctx: ResourceContext) -> Made:
        """Create the object that receives the signals."""
        path = f"/{segment(ctx.stack.id)}/{segment(ctx.physical_name)}"
        await ctx.cloud.request(OBJECTS, "PUT", path, data=BEGUN)
        return Made(physical_id=ctx.physical_name)

    async def find(self, ctx: ResourceContext) -> Made | None:
        path = f"/{segment(ctx.stack.id)}/{segment(ctx.physical_name)}"
        try:
            await ctx.cloud.request(OBJECTS, "HEAD", path)
        except NotFound:
            return None
        return Made(physical_id=ctx.physical_name)

    async def sign(self, ctx: ResourceContext) -> Made:
        """Create the temporary URL. This is a separate step, so that it is signed with the
        account's final key.
        """
        key, base = await temporary_url_key(ctx), await ctx.cloud.endpoint(OBJECTS)
        url = temporary_url(base, key, ctx.stack.id, ctx.physical, ends=NEVER)
        return Made(data={"signal_url": url})

    async def drop(self, ctx: ResourceContext) -> Made | None:
        """Delete the object with all its versions, and the container if it is empty afterwards."""
        await drop_object(ctx, ctx.stack.id, ctx.physical_id or ctx.physical_name)
        return None

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        recorded = ctx.physical_id == ctx.physical_name
        return [] if recorded else await orphan_objects(ctx, ctx.stack.id, ctx.physical_name)

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        await drop_orphan(ctx, physical_id)

    def reference(self, ctx: ResourceContext) -> str:
        return ctx.data.get("signal_url") or ctx.name

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        url = ctx.data.get("signal_url")
        return {"endpoint": url, "token": "", "curl_cli": f"curl -i -X PUT '{url}'"}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return self.recordable(ctx).get(name)


class SwiftSignal(ResourceType):
    """Waits until its handle has received the given number of success signals, or fails."""

    type_name = "OS::Heat::SwiftSignal"
    support = Support(version="2014.2")
    properties = {
        "count": Prop(
            INTEGER,
            "Number of success signals to wait for.",
            default=1,
            constraints=(Range(min=1, max=1000),),
        ),
        "handle": Prop(STRING, "URL of the handle: a reference to it.", required=True),
        "timeout": Prop(
            NUMBER, "Seconds to wait.", required=True, constraints=(Range(min=1, max=43200),)
        ),
    }
    attributes = {
        "data": Attr(STRING, "Data of the signals by their id, as JSON text."),
    }
    service = OBJECTS

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("wait", self.begin, poll=self.wait),)

    async def begin(self, ctx: ResourceContext) -> Made:
        """Return the physical id; the condition creates nothing in the cloud."""
        return Made(physical_id=ctx.physical_name)

    async def wait(self, ctx: ResourceContext) -> Progress:
        """Report ready after enough signals; fail after a failure signal or the timeout."""
        url = str(ctx.properties["handle"])
        match = PATH.search(urlsplit(url).path)
        if match is None:
            return Failed(f"handle: {url} is not a temporary URL of an object", "ValueError")
        container, name = unquote(match["container"]), unquote(match["name"])
        if container != ctx.stack.id:
            message = f"handle: expected a URL in the container {ctx.stack.id}, got {container}"
            return Failed(message, "ValueError")
        texts = await read_versions(ctx, container, name)
        try:
            signals = signals_in(list(texts.values()))
        except ValueError as problem:
            return Failed(str(problem), "Error")
        count, timeout_s = int(ctx.given("count") or 1), float(ctx.properties["timeout"])
        left_s = ctx.started_at + timeout_s - ctx.now
        if left_s < 0:
            return Failed(too_late(signals, count), "SwiftSignalTimeout")
        failures = [str(signal["reason"]) for signal in of_status(signals, "FAILURE")]
        if failures:
            return Failed(";".join(failures), "SwiftSignalFailure")
        if len(signals) >= count:
            return Ready({"signals": signals})
        return Later(min(LOOK_AGAIN_S, left_s + 0.01), {"texts": texts})

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return self.recordable(ctx).get(name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        if ctx.body is None:
            return {}
        data = {ident: signal["data"] for ident, signal in ctx.body.get("signals", {}).items()}
        return {"data": json.dumps(data)}


async def read_versions(ctx: ResourceContext, container: str, name: str) -> dict[str, str]:
    """Return all versions of the object as {object name: text}, the oldest first.

    An older version never changes, so its text is read once and then kept in the response body.
    """
    texts_before = dict((ctx.body or {}).get("texts", {}))
    base, prefix = f"/{segment(container)}", quote(f"{len(name):03x}{name}/")
    rows = await ctx.cloud.listing(OBJECTS, f"{base}?format=json&prefix={prefix}")
    older = sorted(str(row["name"]) for row in rows)
    texts = {}
    for version in older:
        texts[version] = (
            texts_before[version]
            if version in texts_before
            else await text_of(ctx, f"{base}/{segment(version)}")
        )
    texts[name] = await text_of(ctx, f"{base}/{segment(name)}")
    return texts


async def text_of(ctx: ResourceContext, path: str) -> str:
    """Return the content of an object as text."""
    body = (await ctx.cloud.request(OBJECTS, "GET", path)).body
    return body if isinstance(body, str) else "" if body is None else json.dumps(body)


def signals_in(texts: list[str]) -> dict[str, Mapping[str, Any]]:
    """Return the signals in the texts, by signal id. Raises ValueError if a text is no valid
    signal.
    """
    signals: dict[str, Mapping[str, Any]] = {}
    for text in texts:
        if text == BEGUN:
            continue
        try:
            signal = parse_json(text) if text.strip() else {}
        except ValueError:
            raise ValueError(f"This signal is not JSON: {text[:100]}") from None
        if not isinstance(signal, dict):
            raise ValueError(f"This signal is not a JSON object: {text[:100]}")
        number = len(signals) + 1
        status = signal.get("status", "SUCCESS")
        if status not in STATUSES:
            raise ValueError(f"Unknown status: {status}")
        signals[str(signal.get("id", number))] = {
            "status": status,
            "reason": signal.get("reason", f"Signal {number} received"),
            "data": signal.get("data"),
        }
    return signals
