"""Random histories: requests, crashes and faults that a seed determines, and checks of the result.

When all work has ended, the cloud must match the stack's state. Then the faults end: an update to
the last template must make the cloud match that template exactly, and a delete must leave nothing.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct, field

from hearth.engine.core.plan import Plan
from hearth.engine.core.record import Record
from hearth.engine.programs.programs import Programs
from hearth.engine.worker.engine import Engine
from hearth.model.collector import collector_paused
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.resources.heat.autoscaling_group import AutoScalingGroup
from hearth.resources.heat.resource_group import ResourceGroup
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import Catalog
from hearth.store.accept import OperationRequest
from hearth.store.credentials import Requester
from hearth.store.document import document
from hearth.store.rows import Document, Options, Revision, StackRow
from hearth.template import Limits
from tests.simulator import checks, groups
from tests.simulator.claim import Claim
from tests.simulator.cloud import TwinCloud
from tests.simulator.draw import OUTSIDE, Draw, Template, revision_of
from tests.simulator.faults import Faults, Machines, Odds
from tests.simulator.grouped import members
from tests.simulator.groups import Groups
from tests.simulator.load import Load
from tests.simulator.loop import VirtualLoop, run
from tests.simulator.mailbox import Mailbox, Wait
from tests.simulator.types import Other, Thing, Token, Value
from tests.simulator.watcher import Watcher
from tests.simulator.world import World

TYPES = {
    kind.type_name: kind
    for kind in (
        Thing(),
        Other(),
        Claim(),
        Value(),
        Token(),
        Mailbox(),
        Wait(),
        ResourceGroup(),
        AutoScalingGroup(),
    )
}
NOT_EVERYWHERE = "Test::Other"
RESOURCES_MAX = 60
PROGRAMS, POOR_PROGRAMS = (
    Programs(
        Catalog(types),
        template_type=TemplateResource,
        limits=Limits(max_resources_per_stack=RESOURCES_MAX),
    )
    for types in (TYPES, {name: kind for name, kind in TYPES.items() if name != NOT_EVERYWHERE})
)
SIZE_MIN, SIZE_MAX = 10, 30  # resources of the first template; small ones are more frequent
# Idle engines are most of the work: they look and beat as seldom as the lease allows.
LOOK_S, HEARTBEAT_S = 6.0, 6.0
OP_TIME_S = 5.0
TIMEOUTS_MINS = (1, 2, 4, 8)
TROUBLE = (
    "cancel", "crash", "freeze", "error", "reject", "conflict", "in_error", "hang", "mark",
    "outage", "blind", "poor",
)  # fmt: skip
FEATURES: dict[str, Callable[[Any], bool]] = {  # that events tell
    "rollback": lambda one: one.action == Action.ROLLBACK,
    "failure": lambda one: one.status == Status.FAILED,
    "replacement": lambda one: "requires replacement" in one.reason,
    "timeout": lambda one: "Timed out" in one.reason,
    "hook": lambda one: "paused until Hook" in one.reason,
    "restricted": lambda one: "is restricted" in one.reason,
}
CLEARS_EVERY_S = 12.0
REST_MAX_S = 3_000.0


class Outcome(Struct):
    """The result of the history `seed`: counts of what happened in `seen`, failed checks in
    `wrong`.
    """

    seed: int
    wrong: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)


def simulate(seed: int, odds: Odds | None = None) -> Outcome:
    """Run the random history with this seed and return its outcome.

    If `odds` is None, the default probabilities apply.
    """
    loop = VirtualLoop()
    history = _History(loop, seed, odds or Odds())
    with collector_paused():  # a history is over before its garbage matters
        try:
            run(loop, history.main())
        except (TimeoutError, RuntimeError) as problem:
            history.outcome.wrong.append(f"{type(problem).__name__}: {problem}")
        finally:
            history.world.close()
    return history.outcome


class _History:
    def __init__(self, loop: VirtualLoop, seed: int, odds: Odds) -> None:
        self.loop = loop
        self.odds = odds
        self.rng = random.Random(seed)
        self.draw = Draw(self.rng)
        self.load = Load(seed, odds.load)
        self.outcome = Outcome(seed)
        self.seen = self.outcome.seen
        self.seen["load"] += self.load.here
        self.groups = Groups(seed, odds.groups)
        self.watcher = Watcher(lambda call: not self.faults.healed and self.rng.random() < 0.1)
        plugins = (self.watcher,) if self.rng.random() < odds.plugin else ()
        machines = Machines(seed, odds, self.seen)
        self.faults = Faults(self.rng, odds, self.seen, machines, loop.time)
        self.world = World(
            loop,
            PROGRAMS,
            lambda loop: TwinCloud(
                loop.time, op_time_s=OP_TIME_S, mischief=self.faults.of_call, later=loop.call_later
            ),
            seed + 1,
            hook=self._hook,
            look_s=LOOK_S,
            heartbeat_s=HEARTBEAT_S,
            deaf=self.faults.deaf,
            slow=self.faults.slow_s,
            away=self.faults.away,
            blind=self.faults.blind,
            mishap=self.faults.of_identity,
            trust_ends_s=lambda: 0.0 if self.faults.healed else self.load.trust_ends_s(),
            plugins=plugins,
        )
        self.world.twin.random_fault = self.faults.of_operation
        self.world.place(machines)
        self.world.twin.outside(OUTSIDE)
        self.template: Template = {}
        self.stack_id = ""
        self._hooked = False  # whether anything may ever wait at a hook
        self._foreseen: Plan | None = None  # by who is about to ask for an update
        self._plan: tuple[Plan, list[Record], int] | None = None  # of the update under way
        self.asked: dict[int, tuple[Template, Document | None]] = {}  # by revision
        self.snapshots: dict[str, Template] = {}

    # -- engines -----------------------------------------------------------------------------

    def _hook(self, engine: Engine) -> bool:
        """Return whether an engine crashes at the current call. This method may also freeze the
        engine for a while; then it returns False.
        """
        match self.faults.of_engine():
            case "freeze":
                seconds, standing = self.rng.uniform(5.0, 40.0), self.faults.machines.stands()
                self.world.freeze(engine, seconds, standing=standing)
            case "crash":
                self.seen["take-over"] += bool(engine.workers)
                self.loop.call_later(self.rng.uniform(0.0, 20.0), self._revive)
                return True
        return False

    def _revive(self) -> None:
        if len(self.world.engines) < 2:
            self._start_engine()

    def _start_engine(self) -> None:
        poor = not self.faults.healed and self.rng.random() < self.odds.poor
        # for long enough without one that knows a type, what is made of it is given up
        poor = poor and all(one.tools.programs is PROGRAMS for one in self.world.engines)
        self.seen["poor"] += poor
        programs = POOR_PROGRAMS if poor else None
        self.world.start_engines(1, programs, skew_s=self.faults.machines.skew_s())

    # -- the story -------------------------------------------------------------------------

    async def main(self) -> None:
        self.world.start_engines(2)
        size = SIZE_MIN + int((SIZE_MAX + 1 - SIZE_MIN) * self.rng.random() ** 3)
        self.template = self.groups.added(self.draw.template(size))
        self._spawn_clearer()
        self.stack_id = await self.world.create(
            "s",
            self._revision(self.template),
            rollback=self.rng.random() < self.odds.rollback,
            timeout_mins=self.rng.choice(TIMEOUTS_MINS),
        )
        self.asked[1] = (self.template, None)
        for _ in range(self.rng.randint(2, 4)):
            await self._pause()
            await self._act()
        await self._rest()
        self._check_at_rest()
        await self._heal()
        events = checks.events_of(self.world)
        self.outcome.wrong += checks.ended(events)
        self._count_features(events)

    async def _pause(self) -> None:
        """Wait until all work has ended, or for a random time; sometimes the wall clock jumps
        then.
        """
        if self.rng.random() < 0.5:
            await (self._until_ended() if self.load.here else self._rest())
        else:
            await asyncio.sleep(self.rng.uniform(0.0, 25.0))
        if self.rng.random() < self.odds.jump:
            self.world.clock.jump(self.rng.uniform(-3.0, 12.0))
            self.seen["clock jump"] += 1

    async def _until_ended(self) -> None:
        """Wait until the stack's status is final, then for a short time; the engine may still be
        working.
        """
        try:
            async with asyncio.timeout(REST_MAX_S):
                while self._busy():
                    await self.world.written()
        except TimeoutError:
            raise TimeoutError("an operation did not end in time") from None
        await asyncio.sleep(self.load.hesitates_s())

    async def _rest(self) -> None:
        """Wait until all work has ended, and compare the result with the predictions of a preview,
        if any.
        """
        await self.world.rest(limit_s=REST_MAX_S)
        if self._plan is None:
            return
        (plan, before, trouble), self._plan = self._plan, None
        row = self.world.stack(self.stack_id)
        if row.state == "UPDATE_COMPLETE" and trouble == sum(self.seen[w] for w in TROUBLE):
            self.seen["foreseen"] += 1
            after = self.world.records(self.stack_id)
            self.outcome.wrong += checks.as_foreseen(plan, before, after)

    # -- what users do ---------------------------------------------------------------------

    async def _act(self) -> None:
        """Carry out one random act of a user."""
        acts: list[tuple[float, Callable[[], Awaitable[None]]]] = [
            (0.33, self._update),
            (0.10, self._update_twice),
            (0.08, self._delete),
            (0.10, self._cancel),
            (0.14, self._check),
            (0.10, self._sleep),
            (0.12, self._snapshot),
            (0.05, self._mark),
            (0.11, self._move),
            (0.06, self._forbidden),
            (0.03, self._broken),
            (0.05, self._hand_over),
        ]
        if (change := self.groups.scales()) is not None:
            await self._scale(change)
        weights, doing = zip(*acts, strict=True)
        (act,) = [self._update] if self.load.updates() else self.rng.choices(doing, weights)
        try:
            await act()
        except Rejected:
            self.seen["refused"] += 1

    def _not_begun(self) -> bool:
        """Return whether an adopt may have ended before Hearth recorded the objects to adopt."""
        nothing = self.seen["adopt"] > 0 and not self.world.records(self.stack_id)
        return nothing or self._half_adopted()

    def _busy(self) -> bool:
        return self.world.stack(self.stack_id).status is Status.IN_PROGRESS

    async def _ask(self, operation: OperationRequest, template: Template | None = None) -> None:
        """Send a request about the stack; `template` is the one that the stack must match
        afterwards.
        """
        if operation.action is Action.DELETE and self._not_begun():
            return  # what was to be adopted would stay, and nobody know it
        if template is not None:
            self._leave_out(template)
        self.seen["superseded"] += self._busy()
        foreseen, self._foreseen = self._foreseen, None
        self._plan = None
        if foreseen is not None and not self._busy():
            trouble = sum(self.seen[word] for word in TROUBLE)
            self._plan = (foreseen, self.world.records(self.stack_id), trouble)
        row = await self.world.operate(self.stack_id, operation)
        self.seen[operation.action.value.lower()] += 1
        if template is not None:
            assert operation.revision is not None
            self.template = template
            self.asked[row.revision] = (template, operation.revision.document)

    def _leave_out(self, template: Template) -> None:
        """Mark resources that an update removes from a half-adopted stack as retained.

        Hearth has not adopted them, so they stay in the cloud.
        """
        if self._half_adopted():
            for name in self.template.keys() - template.keys():
                self.world.retained |= self.template[name].get("child", {}).keys()
                self.world.retained |= {one for one, _ in members(self.template[name])}

    async def _update(self) -> None:
        little = self.load.changes_little()
        wanted = (self.load.draw.tweaked if little else self.draw.changed)(self.template)
        wanted = self.groups.changed(wanted)
        rollback = self.rng.random() < self.odds.rollback
        converge = self.rng.random() < 0.1
        if converge and self.rng.random() < 0.5:
            self._lose()
        revision = self._revision(wanted)
        if not self._busy():
            await self._preview(revision, observe=converge)
        operation = OperationRequest(
            Action.UPDATE,
            revision,
            requester=self._user(),
            disable_rollback=not rollback,
            options=Options(converge=converge),
            timeout_mins=self.rng.choice((None, *TIMEOUTS_MINS)),
        )
        await self._ask(operation, wanted)
        if little and (after_s := self.load.thinks_s()) is not None:
            await asyncio.sleep(after_s)
            await self._break_off(rollback=False)

    def _user(self) -> Requester | None:
        """Return the user who sends the next request, or None if it is the user of the previous
        request.
        """
        if self.load.here:
            return self.load.user()
        return Requester(user_id=self.rng.choice("ab")) if self.rng.random() < 0.3 else None

    async def _preview(self, revision: Revision, *, observe: bool) -> None:
        """Preview an update and check that the preview shows no secret.

        If the predictions are certain, they are kept and compared with the result of the update.
        """
        self.seen["preview"] += 1
        # no preview knows what becomes of what is under way, or of a mark that nobody has read
        certain = not self.world.under_way() and not self.world.has_mail(self.stack_id)
        foreseen = await self.world.foresee(self.stack_id, revision, observe=observe)
        self.outcome.wrong += checks.nothing_told(foreseen)
        self._foreseen = foreseen if certain else None

    async def _forbidden(self) -> None:
        """Try to update the stack in a way that must be refused."""
        wanted = self.draw.forbidden(self.template)
        outside = any(name[0] == "x" for name in wanted if wanted[name] != self.template.get(name))
        revision = self._revision(wanted)
        await self._ask(OperationRequest(Action.UPDATE, revision), None if outside else wanted)

    async def _broken(self) -> None:
        """Update the stack to an invalid template, one that validation would have refused."""
        name = f"r{1 + max((int(known[1:]) for known in self.template), default=0)}"
        inner: Template = {f"{name}_{i}": {} for i in range(RESOURCES_MAX)}
        too_many = {name.replace("r", "n"): {"child": inner, "p": "0"}}
        unknown = {name: {"type": "Test::Unknown"}}
        wanted = {**self.template, **self.rng.choice((too_many, unknown))}
        await self._ask(
            OperationRequest(Action.UPDATE, self._revision(wanted), disable_rollback=True)
        )

    async def _hand_over(self) -> None:
        """Start a new engine and stop another one, which releases its stacks first."""
        if self.world.engines:
            self.seen["handed over"] += 1
            self._start_engine()
            self.world.stop(self.world.engines[0])

    async def _update_twice(self) -> None:
        for _ in range(3):
            await self._update()
            await asyncio.sleep(self.rng.uniform(0.0, 6.0))

    async def _delete(self) -> None:
        await self._ask(OperationRequest(Action.DELETE))

    async def _cancel(self) -> None:
        if not self._busy():
            await self._update()
            await asyncio.sleep(self.rng.uniform(0.0, 8.0))
        await self._break_off(rollback=self.rng.random() < 0.5)

    async def _break_off(self, *, rollback: bool) -> None:
        await self.world.cancel(self.stack_id, rollback=rollback)
        self.seen["cancel"] += 1

    async def _check(self) -> None:
        if self.rng.random() < 0.5:
            self._lose()
        await self._ask(OperationRequest(Action.CHECK))

    def _lose(self) -> None:
        """Delete a random thing in the cloud, as a user can do without Hearth."""
        there = set(checks.kept_on(self.world, self.stack_id).values()) - {OUTSIDE}
        if there:
            self.world.twin.lose(self.rng.choice(sorted(there)))

    async def _sleep(self) -> None:
        await self._ask(OperationRequest(Action.SUSPEND))
        await self._pause()
        await self._ask(OperationRequest(Action.RESUME))

    async def _snapshot(self) -> None:
        if self.rng.random() < 0.8:
            await self._rest()
        ident = await self.world.snapshot(self.stack_id)
        self.seen["snapshot"] += 1
        self.snapshots[ident] = self.template
        if self.rng.random() < 0.1:  # before it is done
            await asyncio.sleep(self.rng.uniform(0.0, 8.0))
            await self._delete()
            return
        await self._pause()
        if self.rng.random() < 0.6:
            await self._restore(ident)
        if self.rng.random() < 0.3:
            await self.world.drop_snapshot(self.stack_id, ident)

    async def _restore(self, ident: str) -> None:
        found = self.world.snapshot_of(self.stack_id, ident)
        if found.body is None or found.status is not Status.COMPLETE:
            return
        template = self.snapshots[ident]
        document = Document(Action.RESTORE, found.body["resources"])
        revision = revision_of(template, document=document)
        await self._ask(OperationRequest(Action.RESTORE, revision), template)

    async def _scale(self, change: int) -> None:
        """Scale the group by a number of members, as a signal to a scaling policy does."""
        for name in [name for name in self.template if name[0] == "g"]:
            try:
                if await self.world.scale(self.stack_id, name, change):
                    self.seen["scaled"] += 1
            except Rejected:
                self.seen["not scaled"] += 1

    async def _mark(self) -> None:
        known = {record.name for record in self.world.records(self.stack_id)}
        if not known:
            return
        name = self.rng.choice(sorted(known))
        await self.world.mark(self.stack_id, name, healthy=self.rng.random() < 0.3)
        self.seen["mark"] += 1

    async def _move(self) -> None:
        """Abandon the stack, then adopt its resources in a stack with another name."""
        await self._rest()
        row = self.world.stack(self.stack_id)
        if row.state not in ("CREATE_COMPLETE", "UPDATE_COMPLETE") or row.deleted_at:
            return
        if self.asked.get(row.revision, ({}, None))[0] is not self.template:
            return
        body = self.world.store.transact(lambda tx: document(tx, row), write=False)
        before = checks.kept_on(self.world, self.stack_id)
        while self.world.stack(self.stack_id).deleted_at is None:  # a hook may hold it too long
            await self._ask(OperationRequest(Action.DELETE, options=Options(abandon=True)))
            await self._rest()
        if left := set(before.values()) - set(self.world.twin.things):
            self.outcome.wrong.append(f"the abandon deleted objects: {sorted(left)}")
        adopted = Document(Action.ADOPT, body["resources"])
        self.stack_id = await self.world.create(
            "t",
            revision_of(self.template, document=adopted),
            rollback=False,
            timeout_mins=8,
            action=Action.ADOPT,
        )
        self.asked = {1: (self.template, None)}
        self.snapshots = {}
        self.seen["adopt"] += 1
        await self._rest()

    def _revision(self, template: Template) -> Revision:
        self.world.retained |= {
            n for n, entry in template.items() if entry.get("policy") == "Retain"
        }
        environment = None
        if self.rng.random() < self.odds.hooks:
            environment = self.draw.environment(template)
            self._hooked = True
        return revision_of(template, environment)

    # -- hooks -----------------------------------------------------------------------------

    def _spawn_clearer(self) -> None:
        self._clearer = self.loop.create_task(self._clear_hooks())

    async def _clear_hooks(self) -> None:
        """Clear the hooks at which resources wait, again and again; while there are faults, leave
        some.
        """
        while True:
            await asyncio.sleep(CLEARS_EVERY_S)
            await self._write_letters()
            if not self._hooked:
                continue
            for resource_id, name in list(self.world.waiting()):
                if not self.faults.healed and self.rng.random() < 0.2:
                    continue
                try:
                    await self.world.let_go_on(resource_id, name)
                except Rejected:
                    continue

    async def _write_letters(self) -> None:
        """Send a signal to about half of the mailboxes; after the faults have ended, to all of
        them.
        """
        boxes = [name for name, entry in self.template.items() if "mailbox" in entry]
        known = self.world.records(self.stack_id) if boxes else []
        there = {record.name for record in known if not record.new}
        for name in boxes:
            if name in there and (self.faults.healed or self.rng.random() < 0.5):
                await self.world.say(self.stack_id, name, str(self.rng.randint(0, 9)))

    # -- what must be true -----------------------------------------------------------------

    def _check_at_rest(self) -> None:
        wrong = self.outcome.wrong
        row = self.world.stack(self.stack_id)
        self.seen[f"end {row.state}"] += 1
        if not self._half_adopted():
            wrong += checks.nothing_lost(self.world)
        wrong += checks.at_rest(self.world)
        wrong += checks.in_time(self.world, self.stack_id, max(TIMEOUTS_MINS))
        if row.status is Status.COMPLETE and row.action in checks.MEANT and not self._vanished():
            meant = self._meant(row)
            if meant is not None:
                wrong += checks.as_wanted(self.world, *meant)
                wrong += groups.as_wanted(self.world, self.stack_id, *meant, exactly=False)

    def _half_adopted(self) -> bool:
        """Return whether an adopt has ended before some nested stacks were created."""
        records = self.world.records(self.stack_id) if self.seen["adopt"] else []
        return any(one.new and self._nests(one.name) for one in records)

    def _nests(self, name: str) -> bool:
        entry = self.template.get(name, {})
        return "child" in entry or "group" in entry

    def _vanished(self) -> bool:
        return self.world.twin.vanished > 0

    def _meant(self, row: Any) -> tuple[Template, dict[str, Any]] | None:
        """Return (template that the stack must match, resource data of a restored snapshot or {}).

        Return None if the last request had an invalid template.
        """
        if row.action is Action.ROLLBACK and row.previous_revision == 0:
            return {}, {}
        number = row.previous_revision if row.action is Action.ROLLBACK else row.revision
        original = self.world.original(self.stack_id, number)
        if original not in self.asked:
            return None
        template, brought = self.asked[original]
        restores = brought is not None and brought.purpose is Action.RESTORE
        restored = dict(brought.resources) if brought is not None and restores else {}
        return template, restored

    async def _heal(self) -> None:
        """End all faults, repair the stack by an update, and delete it; check the cloud after
        both.
        """
        self.faults.heal()
        for engine in list(self.world.engines):
            if engine.tools.programs is POOR_PROGRAMS:
                self.world.kill(engine)
        self._revive()
        row = self.world.stack(self.stack_id)
        if row.action is Action.SUSPEND and row.deleted_at is None:
            await self.world.operate(
                self.stack_id, OperationRequest(Action.RESUME, timeout_mins=30)
            )
            await self._rest()
            row = self.world.stack(self.stack_id)
        if row.deleted_at is None and row.action is not Action.DELETE:
            await self._heal_by_update()
        if row.deleted_at is None:
            row = await self._calmly(Action.DELETE)
        if "Timed out" in row.reason:
            row = await self._calmly(Action.DELETE)
        wrong = self.outcome.wrong
        if row.deleted_at is None:
            wrong.append(f"the delete ended in {row.state}: {row.reason}")
        wrong += checks.all_gone(self.world)
        if OUTSIDE not in self.world.twin.things:
            wrong.append("an object that existed before the history was deleted")
        wrong += self.watcher.wrong
        wrong += checks.at_rest(self.world)

    async def _heal_by_update(self) -> None:
        await self._calmly(Action.RESUME)
        converge = self._vanished()  # it looks at what a check may have passed over
        row = await self._calmly(Action.UPDATE, self.template, converge=converge)
        if "is not supported" in row.reason:
            row = await self._calmly(Action.UPDATE, {})
            if "Timed out" in row.reason:
                self.world.twin.answer()
                await self._calmly(Action.UPDATE, {})
            row = await self._calmly(Action.UPDATE, self.template)
        if "Timed out" in row.reason or "conflicts" in row.reason:  # by what hung before
            self.world.twin.answer()
            row = await self._calmly(Action.UPDATE, self.template, converge=converge)
        if row.state != "UPDATE_COMPLETE":
            self.outcome.wrong.append(
                f"the update without faults ended in {row.state}: {row.reason}"
            )
            return
        self.outcome.wrong += checks.as_wanted(self.world, self.template, {})
        self.outcome.wrong += groups.as_wanted(
            self.world, self.stack_id, self.template, {}, exactly=True
        )

    async def _calmly(
        self, action: Action, template: Template | None = None, *, converge: bool = False
    ) -> StackRow:
        """Carry out an operation, wait until all work has ended, and return the stack.

        The caller has ended all faults.
        """
        revision = revision_of(template) if template is not None else None
        if template is not None:
            self._leave_out(template)
        options = Options(converge=converge)
        operation = OperationRequest(action, revision, 30, disable_rollback=True, options=options)
        await self.world.operate(self.stack_id, operation)
        await self._rest()
        return self.world.stack(self.stack_id)

    def _count_features(self, events: list[Any]) -> None:
        """Count the features of Hearth that occurred in this history, according to its events."""
        for one in events:
            for word, shows in FEATURES.items():
                if word not in self.seen and shows(one):
                    self.seen[word] = 1
        self.seen["group"] += any("group" in entry for entry in self.template.values())
        self.seen["nested"] += any("child" in entry for entry in self.template.values())
        self.seen["superseded twice"] += self.seen["superseded"] >= 2
