"""One owned stack: its rows in memory, its operation, and the loop that commits what happens.

Everything runs on one event loop, so a change to the memory here needs no lock. What happens is
gathered in two piles: `sure` is recorded in any case, `advance` only while the traversal is still
ours. Memory is ahead of the rows by one commit at most; a refused advance is undone in it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core.decide import Wanted
from hearth.engine.core.predict import MASK
from hearth.engine.core.record import Record
from hearth.engine.worker import life_log, strays
from hearth.engine.worker.nest import news
from hearth.engine.worker.operation import Operation
from hearth.engine.worker.snapshots import drop
from hearth.model.state import Action, Status
from hearth.resources.lookup import Names
from hearth.resources.translate import translated
from hearth.store import claim, credentials, events, reads, snapshots
from hearth.store.claim import Stray
from hearth.store.commit import Changes, Fate, Part
from hearth.store.database import is_outage
from hearth.store.health import marked
from hearth.store.rows import Event, StackRow

if TYPE_CHECKING:
    from hearth.engine.worker.engine import Engine
    from hearth.engine.worker.flight import Flight
    from hearth.resources.base import StackFacts

log = logging.getLogger(__name__)

TAKEOVERS_MAX = 3
USUAL_REASON = "state changed"
QUIET_S = 10.0  # without any news before a stack may be parked
PARKED_S = 60.0  # waits from this length on hold no memory
BEGIN_TOGETHER = 100  # flights whose intents share a commit: more than may call at a time


class StackWork:
    """The owner's memory of a stack."""

    def __init__(self, engine: "Engine", stack_id: str, epoch: int) -> None:
        self.engine = engine
        self.tools = engine.tools
        self.stack_id = stack_id
        self.epoch = epoch
        self.stack: StackRow
        self.records: dict[str, Record] = {}
        self.data: dict[str, dict[str, str]] = {}
        self.metadata: dict[str, Any] = {}
        self.strays: list[Stray] = []
        self.credential: tuple[str, Any] | None = None
        self.operation: Operation
        self.flights: dict[str, Flight] = {}
        self.sure = Changes()
        self.advance = Changes()
        self.undo: dict[str, Record | None] = {}
        self._flying: dict[str, Record | None] = {}  # of the commit under way
        self.ending = False  # the stack's own state is decided, only flights remain
        self.facts: tuple[StackRow, StackFacts] | None = None  # see live.py
        self._cloud: tuple[StackRow, Any, Any] | None = None  # of a stack and its credential
        self._names: Names | None = None  # of the resources that begin together
        self._begun = 0  # flights on their way to the next commit
        self._turns: deque[asyncio.Future[None]] = deque()  # of those that are not yet
        self._wake = asyncio.Event()
        self._mail: deque[tuple[claim.Letter, bool]] = deque()  # True: it was read with the stack
        self._seen: set[int] = set()  # letters that came and still lie there
        self._early: set[int] | None = set()  # those that lie there before the stack is read
        self._handing_over = False
        self._killed = False
        self._broken: BaseException | None = None
        self._tickets: list[asyncio.Future[Fate]] = []
        self._starts: list[asyncio.Future[Fate]] = []  # tickets for what is in `advance`
        self._own: dict[asyncio.Task[None], None] = {}  # in order
        self._replan = False
        self._kept_former = False  # it was tried in vain

    # -- what others call ------------------------------------------------------------------

    def deliver(self, letter: claim.Letter, *, loaded: bool = False) -> None:
        """Mail came, or was `loaded` with the stack: no operation of that is newer than the row."""
        if letter[0] not in self._seen:
            self._seen.add(letter[0])
            self._mail.append((letter, loaded))
            self._wake.set()

    def wants(self, letter_id: int) -> bool:
        """Whether the letter is to be delivered: it is news, and not about to be read with the
        stack."""
        if self._early is not None:
            self._early.add(letter_id)
            return False
        return letter_id not in self._seen

    def wake(self) -> None:
        self._wake.set()

    def hand_over(self) -> None:
        """Stop between steps and release the stack."""
        self._handing_over = True
        self._wake.set()

    def kill(self) -> None:
        """Forget everything; nothing is written any more."""
        self._killed = True
        for flight in self.flights.values():
            flight.kill()
        for task in self._own:
            task.cancel()
        self._wake.set()

    @property
    def handing_over(self) -> bool:
        return self._handing_over

    # -- the loop --------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until nothing is left to do, then release the stack."""
        try:
            if not await self._load():
                return
            await self._loop()
        except asyncio.CancelledError:
            self.kill()
            raise
        except Exception as problem:
            if is_outage(problem):
                self.kill()
                raise
            if not self._killed:
                log.exception("stack %s: engine fault", self.stack_id)
                for flight in self.flights.values():
                    flight.kill()
                await self._fail_whole(problem)

    async def _loop(self) -> None:
        while not self._killed:
            self._wake.clear()
            if self._broken is not None:
                raise self._broken
            if self._mail:
                await self._read_mail()
            self._names = None  # those that begin now see what ended before them
            self.operation.advance()
            if self.flights:
                for _ in range(3):  # those that just began put their intents beside this
                    await asyncio.sleep(0)
            if self.sure or self.advance:
                if not await self._write():
                    return
                continue
            self._answer(Fate.DONE)  # nothing was to be written
            if self._turns:
                self._next_turns()
                continue
            if self._wake.is_set() or self._mail or self.operation.ready:
                continue
            if not self.flights and not self._own:
                if self._has_former():
                    self.spawn(self._drop_former())
                    continue
                await self._release()
                return
            if await self._park(quiet=False):
                return
            news = await self._wait()
            if not news and await self._park(quiet=True):
                return

    async def _write(self) -> bool:
        """Write both piles, and with what is the last of all the release; whether the stack is
        still ours."""
        if self._at_rest():
            await self._release()
            return False
        return await self._commit()

    def _at_rest(self) -> bool:
        """Whether nothing can come any more but mail, which waits for the next owner."""
        busy = self.flights or self._own or self._turns or self._mail or self._replan
        if busy or self._broken is not None or self.operation.ready:
            return False
        ended = self.operation.over and self.stack.status is not Status.IN_PROGRESS
        return ended and not self._has_former()

    async def _park(self, *, quiet: bool) -> bool:
        """Give the stack back with flights that only wait: to hand it over, or when it was quiet
        and the next look is far away. They go on from their rows. True if it was done."""
        rests = [flight.rests_until for flight in self.flights.values()]
        now = self.tools.clock.now()
        if self._own or not rests or any(until is None for until in rests):
            return False
        far = quiet and all(until is not None and until - now >= PARKED_S for until in rests)
        if not far and not self._handing_over:
            return False
        for flight in self.flights.values():
            flight.kill()
        until = min(rest for rest in rests if rest is not None)
        await self._release(due_at=until)
        return True

    async def _wait(self) -> bool:
        """Until something happens or the deadline is there; False if it was quiet for long."""
        limit: float | None = QUIET_S
        late = False
        if self.stack.deadline is not None and not self.operation.late:
            left = max(0.0, self.stack.deadline - self.tools.clock.now())
            late, limit = left <= QUIET_S, min(left, QUIET_S)
        try:
            async with asyncio.timeout(limit):  # wait_for may swallow a cancel in Python 3.11
                await self._wake.wait()
        except TimeoutError:
            if not late:
                return False
            if self.operation.out_of_time():
                for _ in range(3):  # what is broken off shows before the stack's failure
                    await asyncio.sleep(0)
                self.operation.fail("Timed out")
        return True

    async def _load(self) -> bool:
        loaded = await self.engine.loader.load(self.stack_id)
        if loaded is None:
            return False
        self.stack = loaded.stack
        for letter in loaded.mail:
            self.deliver(letter, loaded=True)
        if self._early and not self._early <= self._seen:
            self.engine.wake()
        self._early = None
        self.records = {record.id: record for record in loaded.records}
        self.data = loaded.data
        self.metadata = loaded.metadata
        self.credential = loaded.credential
        self.operation = Operation(self, loaded.revision)
        self.strays = list(loaded.strays)
        if loaded.stack.takeovers >= TAKEOVERS_MAX and loaded.stack.status is Status.IN_PROGRESS:
            self.operation.give_up(
                f"{loaded.stack.takeovers} engines died in this operation; it is not passed on"
            )
        for flight in loaded.in_flight:
            self.operation.resume(flight)
        if self.stack.status is not Status.IN_PROGRESS:
            if self.strays:
                self.spawn(strays.watch(self))
        elif not self.operation.over:  # else it rolls back, by a plan of its own after the commit
            further = any(one.traversal == self.stack.traversal for one in loaded.records)
            life_log.begun(self.stack, self.credential, further=further)
            await self.operation.begin()
        return True

    async def _reload(self) -> None:
        """Another operation began: plan anew with what is in flight."""
        self._replan = False
        loaded = await self.engine.loader.load(self.stack_id)
        assert loaded is not None
        self._undo(self.undo)
        self.undo, self.advance = {}, Changes()
        starts, self._starts = self._starts, []
        for ticket in starts:
            if not ticket.done():
                ticket.set_result(Fate.SUPERSEDED)
        self.stack = loaded.stack.having(owner=self.engine.id, epoch=self.epoch)
        self.credential = loaded.credential
        self.data, self.metadata = loaded.data, loaded.metadata
        self._stay_ahead()
        self.operation.ended(failed=True)  # if it has not come to its end by itself
        self.operation = Operation(self, loaded.revision)
        if self.stack.status is Status.IN_PROGRESS:
            life_log.begun(self.stack, self.credential, further=False)
            await self.operation.begin()

    def _stay_ahead(self) -> None:
        """What flights have put and is not committed yet is truer than the rows just read."""
        for record_id, changed in self.sure.data.items():
            merged = {**self.data.get(record_id, {}), **changed}
            self.data[record_id] = {k: v for k, v in merged.items() if v is not None}
        self.metadata.update(self.sure.metadata)
        if self.sure.user_project is not None:
            self.stack = self.stack.having(user_project_id=self.sure.user_project[1])
        if self.sure.credential is not None and self.credential is not None:
            self.credential = self._with_facts(self.sure.credential[1])

    async def _read_mail(self) -> None:
        while self._mail:
            (letter_id, kind, body), loaded = self._mail.popleft()
            if kind == "child":
                if not self.operation.child_ended(letter_id, body):
                    self.spawn(news(self, letter_id, body))
                continue  # read when what follows from it is committed
            if kind == "snapshot":
                self.spawn(self._drop_snapshot(letter_id, body["id"]))
                continue  # read when it is gone
            self.sure.read.append(letter_id)
            match kind:
                case "operation":  # at once: what comes after it may be about it
                    if not loaded and not await self._is_current():
                        await self._reload()
                case "cancel":
                    self.operation.cancel(rollback=body["rollback"], traversal=body["traversal"])
                case "hook":
                    self.operation.hooks.cleared(body["record"], body["hook"])
                case "data":
                    await self._read_data(body["record"])
                case "health":
                    self._mark(body)
                case _:
                    for flight in self.flights.values():
                        flight.look()

    async def _drop_snapshot(self, letter_id: int, snapshot_id: str) -> None:
        stack_id = self.stack_id
        found = await self.tools.store.read(lambda tx: snapshots.of_stack(tx, stack_id))
        for snapshot in found:
            if snapshot.id == snapshot_id:
                await drop(self, snapshot)
        self.sure.read.append(letter_id)
        self._wake.set()

    async def _read_data(self, record_id: str) -> None:
        """Somebody else wrote a resource's private data or its metadata."""
        read = partial(reads.data_of, resource_id=record_id)
        _, self.data[record_id], self.metadata[record_id] = await self.tools.store.read(read)
        self._stay_ahead()

    def _mark(self, mark: Mapping[str, Any]) -> None:
        """A user says that a resource is well or not."""
        record = self.records.get(mark["record"])
        if record is None or record.id in self.flights:
            log.info("the mark of resource %s came while it is worked on", mark["record"])
            return
        now = self.tools.clock.now()
        after = marked(record, healthy=mark["healthy"], reason=mark["reason"], now=now)
        if after is not None:
            self.put(after)
            self.event(after, after.status, after.reason)

    async def _is_current(self) -> bool:
        """Whether the row has no newer operation than we know; what memory has begun since the
        last commit, a rollback say, is not in the row yet."""
        row = await self.tools.store.read(lambda tx: claim.traversal(tx, self.stack_id))
        return row == self.operation.traversal_known

    async def _commit(self) -> bool:
        """Write both piles; False if the stack is no longer ours."""
        sure, self.sure = self.sure, Changes()
        advance, self.advance = self.advance, Changes()
        tickets = self._tickets + self._starts
        self._tickets, self._starts = [], []
        self._flying, self.undo = self.undo, {}
        self._next_turns()
        replan, self._replan = self._replan, False  # what is put meanwhile is for the next commit
        part = Part(
            self.stack_id,
            self.engine.id,
            self.epoch,
            self.operation.traversal_known,
            sure,
            advance,
            self.tools.clock.now(),
        )
        if advance.stack is not None:
            self.operation.traversal_known = advance.stack.traversal
        try:
            fate = await self.engine.committer.submit(part, self.stack.root_id)
        except BaseException:
            for ticket in tickets:
                ticket.cancel()
            raise
        if fate is not Fate.LOST:
            life_log.happened(self.stack, self.credential, sure.events)
        if fate is Fate.DONE:
            life_log.happened(self.stack, self.credential, advance.events)
        if fate is Fate.SUPERSEDED:
            self._undo(self._flying)
            self._undo(self.undo)
            self.undo, self.advance = {}, Changes()
        self._seen.difference_update(sure.read)  # their numbers may be given again
        if fate is Fate.LOST:
            log.warning("stack %s is no longer ours", self.stack_id)
            self.kill()
        for ticket in tickets:
            if not ticket.done():
                ticket.set_result(fate)
        begins = fate is Fate.SUPERSEDED or (fate is Fate.DONE and replan)
        if begins and sure.release is None:  # what is given back is begun by its next owner
            await self._reload()
        if advance.letters or advance.create or advance.operate or sure.operate or sure.cancel:
            self.engine.wake()
        return fate is not Fate.LOST

    def _answer(self, fate: Fate) -> None:
        tickets = self._tickets + self._starts
        self._tickets, self._starts = [], []
        for ticket in tickets:
            if not ticket.done():
                ticket.set_result(fate)

    def _undo(self, before: Mapping[str, Record | None]) -> None:
        for record_id, record in before.items():
            if record is None:
                self.records.pop(record_id, None)
            else:
                self.records[record_id] = record

    async def _release(self, *, due_at: float | None = None) -> None:
        """Give the stack back; it is due again at `due_at`, and at its deadline in any case.
        What is handed over is due at once."""
        busy = self.stack.status is Status.IN_PROGRESS
        due = self.stack.deadline if busy else None
        if busy and self._handing_over:
            due_at = self.tools.clock.now()
        looks = [at for at in (due, due_at, strays.next_look(self)) if at is not None]
        self.sure.release = (min(looks, default=None),)
        await self._commit()
        self.engine.wake()

    async def _fail_whole(self, problem: Exception) -> None:
        """The engine itself is at fault: the stack fails with that, and is released."""
        reason = f"Engine fault: {type(problem).__name__}: {problem}"[:2000]
        reason = self.operation.masked(reason)
        failed = self.stack.having(status=Status.FAILED, reason=reason)
        event = events.of_stack(
            failed, self.tools.new_id(), self.tools.clock.now(), failed.action, "FAILED", reason
        )
        sure = Changes(stack=failed, events=[event], release=(None,))
        part = Part(
            self.stack_id, self.engine.id, self.epoch, self.stack.traversal,
            sure, Changes(), self.tools.clock.now(),
        )  # fmt: skip
        with suppress(Exception):
            await self.engine.committer.submit(part, self.stack.root_id)
            life_log.happened(self.stack, self.credential, sure.events)

    # -- what types reach through their `Live` ---------------------------------------------

    def cloud(self) -> Any:
        """The cloud under the credential of the operation, looked up once for all resources."""
        known = self._cloud
        if known is None or known[0] is not self.stack or known[1] is not self.credential:
            cloud = self.tools.clouds.of(self.stack, self.credential)
            known = self._cloud = (self.stack, self.credential, cloud)
        return known[2]

    def users(self) -> Any:
        """Users of the stack's own project, None without a stack domain."""
        return self.tools.clouds.users(self.stack, self._note_user_project)

    def _note_user_project(self, project_id: str) -> None:
        self.sure.user_project = (self.stack.root_id, project_id)
        self.stack = self.stack.having(user_project_id=project_id)

    async def entrust(self) -> None:
        """Have a trust from whoever asked last, which outlives the token; only for a root stack.

        One that takes the place of another is made under a key of its own, stored before; the other
        goes when nothing is under way any more. Raises CloudFault.
        """
        if self.credential is None or self.stack.parent_id is not None:
            return
        clouds, delete = self.tools.clouds, self.stack.action is Action.DELETE
        old = self.credential[1].get("trust_id")
        if (delete and not old) or await clouds.trusted(self.credential):
            return
        if old and not self.credential[1].get("next_key"):
            id_, new = str(self.stack.credential_id), self.tools.new_id()
            key = await self.tools.store.run(lambda tx: credentials.next_key(tx, id_, new))
            self.credential = self._with_facts({"next_key": key})
        trust_id, secret = await clouds.entrust(self.stack, self.credential)
        facts = self.credential[1]
        former = [*facts.get("former", ())]
        if old:
            owner = [facts.get("trustor")] if facts.get("app_secret") else []
            former.append((old, facts.get("trust_key", self.stack_id), *owner))
        self._note_credential({
            "trust_id": trust_id, "app_secret": secret, "trustor": facts.get("user_id"),
            "trust_key": facts.get("next_key", self.stack_id), "next_key": None,
            "former": former or None,
        })  # fmt: skip

    async def _drop_former(self) -> None:
        """Nothing is under way: the trusts that others took the place of go."""
        assert self.credential is not None
        dropped = self.credential[1]["former"]
        try:
            await self.tools.clouds.drop_former(self.stack, self.credential)
        except CloudFault as fault:
            log.warning("stack %s: a former trust stays for now: %s", self.stack_id, fault)
            self._kept_former = True
            return
        former = self.credential[1].get("former", ())  # another may have joined them meanwhile
        self._note_credential({"former": [one for one in former if one not in dropped] or None})

    def _has_former(self) -> bool:
        """Whether trusts are to go; a nested stack leaves them to the owner of its root."""
        ended = self.stack.status is not Status.IN_PROGRESS and self.stack.deleted_at is None
        ended = ended and self.stack.parent_id is None
        former = self.credential is not None and self.credential[1].get("former")
        return bool(ended and former and not self._kept_former)

    def _with_facts(self, changed: Mapping[str, Any]) -> tuple[str, Any]:
        assert self.credential is not None
        kind, facts = self.credential
        return kind, credentials.changed_facts(facts, changed)

    def _note_credential(self, changed: Mapping[str, Any]) -> None:
        assert self.stack.credential_id is not None
        self.credential = self._with_facts(changed)
        before = self.sure.credential[1] if self.sure.credential else {}
        self.sure.credential = (self.stack.credential_id, {**before, **changed})
        self.wake()

    async def resolve(self, kind: Any, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        """The properties with the type's translation carried out: names as ids."""
        if not kind.translation:
            return properties
        if self._names is None:
            self._names = Names(self.cloud())
        return await translated(properties, kind.translation, self._names)

    # -- what flights and the operation use ------------------------------------------------

    def spawn(self, coroutine: "Coroutine[Any, Any, None]") -> None:
        """Run something of the operation's own; the stack is not released before it ends."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._own[task] = None
        task.add_done_callback(self._own_done)

    def _own_done(self, task: "asyncio.Task[None]") -> None:
        self._own.pop(task, None)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self.break_off(problem)
        self._wake.set()

    def break_off(self, problem: BaseException) -> None:
        """What works for the stack has met something that is no fault of the stack."""
        self._broken = self._broken or problem
        self._wake.set()

    def replan(self) -> None:
        """Plan anew once this commit is through."""
        self._replan = True

    async def turn(self) -> None:
        """Wait while enough others are on their way to the next commit: so the first of many calls
        go out while the intents of the rest are still to be written."""
        if self._begun < BEGIN_TOGETHER:
            self._begun += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        self._wake.set()
        await turn

    def _next_turns(self) -> None:
        """What begins from now on is for another commit."""
        self._begun = 0
        while self._turns and self._begun < BEGIN_TOGETHER:
            turn = self._turns.popleft()
            if not turn.done():
                self._begun += 1
                turn.set_result(None)

    def committed(self, *, start: bool = False) -> "asyncio.Future[Fate]":
        """Resolved when all that was put so far is committed. With `start` it is about something
        in `advance`, and may come back as superseded."""
        ticket: asyncio.Future[Fate] = asyncio.get_running_loop().create_future()
        (self._starts if start else self._tickets).append(ticket)
        self._wake.set()
        return ticket

    def put(self, record: Record, *, full: bool = False, advance: bool = False) -> None:
        """Change a record in memory and in the next commit."""
        if record.reason != USUAL_REASON:
            record = record.having(reason=self.operation.masked(record.reason))
        pile = self.advance if advance else self.sure
        if not advance:  # it holds what the advance wanted of the record, too
            self._certain(record.id)
            full = bool(self.advance.take(record.id)) or full
        elif record.id not in self.undo:
            self.undo[record.id] = self.records.get(record.id)
        self.records[record.id] = record
        pile.put(record, full=full)

    def _certain(self, record_id: str) -> None:
        """What is written for sure is not taken back with an advance that is refused."""
        self.undo.pop(record_id, None)
        self._flying.pop(record_id, None)

    def add(self, record: Record, *, advance: bool = True) -> None:
        """A new record."""
        if advance and record.id not in self.undo:
            self.undo[record.id] = None
        self.records[record.id] = record
        (self.advance if advance else self.sure).insert[record.id] = record

    def drop(self, record: Record, *, advance: bool = False) -> None:
        """The record is gone."""
        pile = self.advance if advance else self.sure
        if not advance:
            self._certain(record.id)
        elif record.id not in self.undo:
            self.undo[record.id] = record
        self.records.pop(record.id, None)
        pile.take(record.id)
        if pile.insert.pop(record.id, None) is None:
            pile.delete.append(record.id)

    def event(
        self,
        record: Record,
        status: Status,
        reason: str = USUAL_REASON,
        *,
        action: Action | str | None = None,
        advance: bool = False,
        wanted: Wanted | None = None,
    ) -> None:
        """Something happened to a resource, which has its own properties or is to get `wanted`."""
        if reason != USUAL_REASON:
            reason = self.operation.masked(reason)
        source = wanted or record.held
        properties = source.properties
        all_of_it = self.operation.revision.facade.get("secret", False)
        if secret := properties.keys() if all_of_it else source.secret:
            properties = {n: MASK if n in secret else value for n, value in properties.items()}
        pile = self.advance if advance else self.sure
        pile.events.append(
            Event(
                self.tools.new_id(),
                self.stack_id,
                self.stack.root_id,
                self.tools.clock.now(),
                record.name,
                record.type,
                record.physical_id,
                str(action or record.action),
                status.value,
                reason,
                properties or None,
            )
        )

    def stack_event(self, row: StackRow) -> None:
        self.advance.events.append(
            events.of_stack(
                row, self.tools.new_id(), self.tools.clock.now(), row.action, row.status, row.reason
            )
        )
