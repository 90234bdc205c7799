"""A small engine for one resource at a time: runs steps the way the real one does.

No store and no graph: what the engine keeps in rows, the driver keeps in a `ResourceContext`.
"""

import asyncio
from contextlib import asynccontextmanager

from hearth.cloud import CloudConfig, CloudFault, NoAnswer, PasswordCredential
from hearth.cloud.pool import CloudPool
from hearth.model.span import Span
from hearth.model.state import Action
from hearth.resources.actions import action_steps
from hearth.resources.base import Failed, Later, Made, Ready, ResourceContext, StackFacts
from hearth.resources.capabilities import MakesObject
from hearth.resources.lookup import Names
from hearth.resources.registry import builtin_types
from hearth.resources.translate import resolve
from hearth.schema import Findings, coerce_all
from hearth_devcloud.server import serve
from hearth_devcloud.settings import Settings

POLLS_MAX = 200


class Broken(Exception):
    """A step failed."""


class Driver:
    """Creates, updates and deletes resources on one cloud."""

    def __init__(self, running, cloud):
        self.running = running
        self.cloud = cloud
        self.number = 0
        self.made = []

    async def create(self, type_name, properties, name="thing", **more):
        self.number += 1
        kind = builtin_types()[type_name]
        ctx = ResourceContext(
            record_id=f"record-{self.number}",
            name=name,
            type_name=type_name,
            stack=StackFacts("stack-id", "web", (await self.cloud.whoami()).project_id or ""),
            action=Action.CREATE,
            physical_id=None,
            physical_name=f"web-{name}-{self.number:012d}",
            key=f"00000000-0000-4000-8000-{self.number:012d}",
            properties=await self.settled(kind, properties),
            cloud=self.cloud,
            kind=kind,
            secret=lambda number=self.number: f"secret-{number}",
            **more,
        )
        self.made.append(ctx)
        await self.run(ctx, Action.CREATE)
        return ctx

    async def update(self, ctx, properties):
        before = ctx.properties
        ctx.properties = await self.settled(ctx.kind, properties)
        ctx.before = before
        names = {*before, *ctx.properties}
        ctx.changed = frozenset(n for n in names if before.get(n) != ctx.properties.get(n))
        await self.run(ctx, Action.UPDATE)

    async def delete(self, ctx):
        await self.run(ctx, Action.DELETE)
        self.made.remove(ctx)

    async def delete_all(self):
        for ctx in reversed(list(self.made)):
            await self.delete(ctx)

    async def settled(self, kind, properties):
        found = Findings()
        resolved = await resolve(properties, kind.translation, Names(self.cloud))
        assert resolved.problems == ()
        values = coerce_all(kind.properties, resolved.properties, Span(), found)
        assert found.problems == []
        return values

    async def run(self, ctx, action):
        ctx.action = action
        for step in action_steps(ctx.kind, action, ctx):
            self.absorb(ctx, await self.call(step, ctx))
            if step.poll is not None:
                await self.poll(step, ctx)

    async def call(self, step, ctx):
        while True:
            try:
                return await step.do(ctx)
            except NoAnswer:
                if step.find and (found := await step.find(ctx)):
                    return found
            except CloudFault as fault:
                makes = isinstance(ctx.kind, MakesObject)
                if not (makes and await ctx.kind.busy(ctx, fault)):
                    raise
                await asyncio.sleep(0.01)

    def absorb(self, ctx, made):
        made = made or Made()
        ctx.physical_id = made.physical_id or ctx.physical_id
        data = {**ctx.data, **made.data}
        ctx.data = {name: value for name, value in data.items() if value is not None}
        if made.metadata is not None:
            ctx.metadata = made.metadata
        ctx.body = made.body if made.body is not None else ctx.body

    async def poll(self, step, ctx):
        for _ in range(POLLS_MAX):
            match await step.poll(ctx):
                case Ready(body):
                    ctx.body = ctx.body if body is None else body
                    return
                case Failed(reason):
                    raise Broken(reason)
                case Later(_, body):
                    ctx.body = ctx.body if body is None else body
            await asyncio.sleep(0.01)
        raise Broken(f"{step.name} never ended")

    def knobs(self, *rules):
        self.running.cloud.knobs.add(list(rules))

    def left(self):
        """What was made since the start and is still there: {service.collection: count}.

        What the cloud makes of its own accord does not count.
        """
        ledger = self.running.cloud.store.ledger
        rest = {}
        for entry in ledger.entries[ledger.first :]:
            if entry.deleted is None and entry.service != "identity" and not entry.implicit:
                key = f"{entry.service}.{entry.collection}"
                rest[key] = rest.get(key, 0) + 1
        return rest

    def writes(self):
        ledger = self.running.cloud.store.ledger
        calls = ledger.calls[ledger.calls_from :]
        return [
            (call.method, call.path, call.status)
            for call in calls
            if call.method != "GET" and not call.path.endswith("/auth/tokens")
        ]


@asynccontextmanager
async def driving(user="demo", **settings):
    """A driver over a cloud of its own."""
    running = await serve(settings=Settings(**settings))
    pool = CloudPool(CloudConfig())
    credential = PasswordCredential(
        running.auth_url, user, "secret", user_domain_id="default", project_name=user,
        project_domain_id="default",
    )  # fmt: skip
    try:
        driver = Driver(running, pool.cloud(credential))
        await driver.cloud.token()
        running.cloud.store.ledger.mark()
        yield driver
    finally:
        await pool.aclose()
        await running.close()


def drive(story, **settings):
    """Run an asynchronous story with a driver; its result."""

    async def main():
        async with driving(**settings) as driver:
            return await story(driver)

    return asyncio.run(main())


__all__ = ["Broken", "Driver", "drive", "driving"]
