"""Answers convergence vectors: each is one history of the simulator.

Reads {"id", "vector"} from standard input and writes {"id", "answer"}, one JSON object per line.
What a vector asks for is turned into HOT templates; what is expected of it is not seen here.
"""

import asyncio
import json
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from hearth.engine.programs.programs import Programs
from hearth.model.problem import Rejected
from hearth.model.state import Action
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.store import reads
from hearth.store.accept import OperationRequest
from hearth.store.rows import Revision, record_of
from hearth.store.tables import event, resource
from tests.simulator.cloud import OP_TIME_S, Fault, TwinCloud
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.types import Other, Thing
from tests.simulator.world import World


class _ErrorState:
    """In the vectors, an object whose operation failed or timed out is in an error state, which
    nothing leaves.

    Hearth replaces such objects only, and no object because an update of it failed.
    """

    async def show(self, ctx: Any) -> Any:
        shown = await ctx.cloud.request("test", "GET", f"/things/{ctx.physical_id}")
        return shown.body

    def is_dead(self, body: Any) -> Any:
        return body["status"] == "BUSY" or body["fate"] in ("error", "in_error")


class _Thing(_ErrorState, Thing):
    """A thing of the vectors."""


class _Other(_ErrorState, Other):
    """The second type of the vectors."""


PROGRAMS = Programs(
    Catalog({kind.type_name: kind for kind in (_Thing(), _Other())}), template_type=TemplateResource
)


class Unable(Exception):
    """The vector needs something that is not there yet."""


def hot(template: Mapping[str, Any]) -> str:
    """A template of the vectors as HOT."""
    resources: dict[str, Any] = {}
    for name, entry in template.items():
        entry = entry or {}
        definition: dict[str, Any] = {"type": f"Test::{entry.get('type', 'Node')}"}
        properties = {key: _value(entry[key]) for key in "urlm" if key in entry}
        if properties:
            definition["properties"] = properties
        if "after" in entry:
            definition["depends_on"] = entry["after"]
        if entry.get("retain"):
            definition["deletion_policy"] = "Retain"
        if "only_if" in entry:
            definition["condition"] = entry["only_if"]
        resources[name] = definition
    return json.dumps({"heat_template_version": "2018-08-31", "resources": resources})


def _value(value: Any) -> Any:
    match value:
        case {"ref": name}:
            return {"get_resource": name}
        case {"attr": where}:
            return {"get_attr": where}
        case _:
            return str(value)


async def play(loop: VirtualLoop, vector: Mapping[str, Any]) -> dict[str, Any]:
    """Play one history to its end and tell what happened."""
    given = vector["given"]
    cloud = given.get("cloud", {})
    times = {
        (entry["of"], entry["op"], entry.get("nth")): float(entry["secs"])
        for entry in cloud.get("times", ())
    }
    faults = [
        Fault(entry["of"], entry["op"], entry["kind"], entry.get("nth"))
        for entry in cloud.get("faults", ())
    ]
    op_time = float(cloud.get("op_time", OP_TIME_S))
    world = World(loop, PROGRAMS, lambda loop: TwinCloud(loop.time, times, faults, op_time))
    world.start_engines()
    player = _Player(world, given["templates"], given.get("environment", {}))
    for i, step in enumerate(vector["when"]):
        if "at" in step:
            await asyncio.sleep(max(0.0, step["at"] - loop.time()))
        elif i:
            await world.rest()
        try:
            await player.act(step)
        except Rejected as refused:
            player.refused[str(i)] = refused.problems[0].kind
    await world.rest()
    return player.tell()


class _Player:
    def __init__(
        self, world: World, templates: Mapping[str, Any], environment: Mapping[str, Any]
    ) -> None:
        self.world = world
        self.templates = templates
        entries = {name: _entry(entry) for name, entry in environment.items()}
        self.environment = {"resource_registry": {"resources": entries}} if entries else {}
        self.stack_id = ""
        self.refused: dict[str, str] = {}

    async def act(self, step: Mapping[str, Any]) -> None:
        world = self.world
        rollback = step.get("rollback")
        match step["do"]:
            case "create":
                self.stack_id = await world.create(
                    "s",
                    self._revision(step),
                    rollback=bool(rollback),
                    timeout_mins=step.get("timeout_mins"),
                )
            case "update":
                wanted = OperationRequest(
                    Action.UPDATE,
                    self._revision(step),
                    timeout_mins=step.get("timeout_mins"),
                    disable_rollback=None if rollback is None else not rollback,
                )
                await world.operate(self.stack_id, wanted)
            case "delete" | "check" | "suspend" | "resume" as word:
                await world.operate(self.stack_id, OperationRequest(Action(word.upper())))
            case "mark_unhealthy" | "mark_healthy" as word:
                await world.mark(self.stack_id, step["of"], healthy=word == "mark_healthy")
            case "clear_hook":
                await world.clear_hook(self.stack_id, step["of"], step["hook"])
            case "cancel" | "cancel_no_rollback" as word:
                await world.cancel(self.stack_id, rollback=word == "cancel")
            case "vanish":
                world.twin.vanish(step["of"])
            case "kill_engines":
                world.kill_engines()
            case "start_engines":
                world.start_engines()
            case other:
                raise Unable(f"{other} comes with a later release")

    def _revision(self, step: Mapping[str, Any]) -> Revision:
        return Revision(hot(self.templates[step["template"]]), environment=self.environment)

    def tell(self) -> dict[str, Any]:
        """Everything that can be seen from outside."""
        world = self.world
        world.twin.settle()
        row = world.stack(self.stack_id)
        mine = resource.c.stack_id == self.stack_id
        records = world.store.transact(
            lambda tx: [record_of(tx, r) for r in tx.rows(sa.select(resource).where(mine))],
            write=False,
        )
        query = sa.select(event).where(event.c.stack_id == self.stack_id).order_by(event.c.seq)
        events = world.store.transact(
            lambda tx: [reads.event_of(tx, row).event for row in tx.rows(query)], write=False
        )
        live: dict[str, list[str]] = {}
        for thing in world.twin.things.values():
            live.setdefault(thing.name, []).append(thing.id)
        return {
            "stack": "gone" if row.deleted_at else row.state,
            "reason": row.reason,
            "records": {
                r.physical_id or f"{r.name} (nothing physical)": f"{r.action}_{r.status}"
                for r in records
                if not r.new
            },
            "not_started": [r.name for r in records if r.new],
            "live": live,
            "values": {thing.id: thing.values for thing in world.twin.things.values()},
            "refused": self.refused,
            "calls": [
                {
                    "op": call.op,
                    "thing": call.thing,
                    "name": call.name,
                    "start": call.start,
                    "end": call.end,
                    "outcome": call.outcome,
                }
                for call in world.twin.calls
            ],
            "events": [
                [
                    "s" if e.resource_type == "OS::Heat::Stack" else e.resource_name,
                    f"{e.action}_{e.status}",
                    e.reason,
                ]
                for e in events
            ],
        }


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    words = {"hooks": "hooks", "restricted": "restricted_actions"}
    return {words[key]: value for key, value in entry.items()}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        answer: dict[str, Any] = {"id": message["id"]}
        try:
            loop = VirtualLoop()
            answer["answer"] = run(loop, play(loop, message["vector"]))
        except Unable as why:
            answer["failure"] = str(why)
        except Exception as problem:
            traceback.print_exc()
            answer["failure"] = repr(problem)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
