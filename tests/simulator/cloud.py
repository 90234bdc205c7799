"""The simulated cloud (the twin): it contains things, which are created, changed and deleted.

The id of a thing is NAME#n, where n counts the accepted creates of that name. The cloud accepts a
call at once and completes it later; the response contains the time until the next poll. A random
history or a scenario determines which calls fail.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from hearth.cloud.contract import Body, Response
from hearth.cloud.fault import (
    CloudFault,
    NoAnswer,
    NoService,
    NotFound,
    NoToken,
    fault_of,
    of_a_read,
    of_a_write,
)

OP_TIME_S = 10.0
FOREVER = float("inf")
SEEN_AFTER_S = 4.0  # after which a thing that is there shows in a listing
LEFT_MAX_S = 120.0  # as far as it can tell when something will be done
LATE_S = 15.0  # how long a call may be on its way
LANDS_S = 3.0  # one that changes something, so: the engine gives it `visibility_delay_s`


class Fault(Struct, frozen=True):
    """A fault of kind `kind` in the operation `op` on the thing named `of`.

    The kinds are "reject" and "conflict", with which the cloud refuses the call, "error" and
    "in_error", with which the operation fails, and "hang", with which it never ends. It occurs at
    the `nth` attempt, or at every attempt if `nth` is None.
    """

    of: str
    op: str
    kind: str
    nth: int | None = None


class Call(Struct):
    """A call that the simulated cloud received; `thing` is the id of its thing, if any.

    `outcome` is "open", "done", "failed" or "refused". `end` is None for an operation that hangs.
    """

    op: str
    name: str
    thing: str | None
    start: float
    end: float | None
    outcome: str = "open"


@dataclass(slots=True)
class Thing:
    """An object in the simulated cloud; each physical resource of the simulator is one.

    `key` is the intent key with which it was created, empty for things that Hearth has not created.
    `call` is the last operation; it ends at `busy_until` with the result `fate`, which is "ok" or
    the kind of a fault.
    """

    id: str
    name: str
    key: str
    values: dict[str, Any]
    made_at: float
    busy_until: float = 0.0
    fate: str = "ok"
    call: Call | None = None
    visible_at: float = 0.0
    asleep: bool = False
    late: bool = False  # its create was on its way for long
    holds: bool = False  # its name, so that no other thing may
    labelled: bool = False

    @property
    def leaving(self) -> bool:
        return self.call is not None and self.call.op == "delete"


NOT_CARRIED_OUT: Mapping[str, Callable[[], CloudFault]] = {
    "no answer": lambda: NoAnswer("test", "no answer"),
    "busy": lambda: CloudFault("test", 503, "ServiceUnavailable", "the cloud is busy", 1.0),
    "misdirected": lambda: fault_of("test", 404, {}, "<html>default backend - 404</html>"),
    "no token": lambda: NoToken("identity", 404, "Not Found", "Could not find trust: 4711."),
    "no service": lambda: NoService("test"),
    "deadlock": lambda: of_a_read(CloudFault("test", 500, "Internal Server Error", "deadlock")),
}
"""The faults of calls that the cloud did not carry out, by the names of `MISHAPS` in explore.py."""


def fail_before(mishap: str | None) -> None:
    """Raise the fault of a call that the cloud does not carry out, if `mishap` is one."""
    if mishap is not None and mishap in NOT_CARRIED_OUT:
        fault = NOT_CARRIED_OUT[mishap]()
        raise fault


@dataclass
class TwinCloud:
    """The simulated cloud of one history. The function `at` returns the current virtual time in
    seconds.

    `times` has the durations of operations by (name, operation, number of the attempt or None); all
    others take `op_time_s`. `faults` are chosen faults, and `mischief` returns a random fault of a
    call. `later` calls a function after some seconds.
    """

    at: Callable[[], float]
    times: Mapping[tuple[str, str, int | None], float] = field(default_factory=dict)
    faults: Sequence[Fault] = ()
    op_time_s: float = OP_TIME_S
    mischief: Callable[[str, str], str | None] = lambda op, name: None
    later: Callable[..., Any] = lambda after_s, what: None

    def __post_init__(self) -> None:
        self.wrong: list[str] = []
        self.copies: dict[str, str] = {}  # of things, made by snapshots: id → key
        self.letters: dict[str, list[str]] = {}  # by the key of whoever fetches them
        self.vanished = 0
        self.things: dict[str, Thing] = {}
        self.outsiders: set[str] = set()  # things that no stack has created
        self.calls: list[Call] = []
        self.attempts: Counter[tuple[str, str]] = Counter()
        self.made: Counter[str] = Counter()
        self.users_of: Callable[[str], Sequence[str]] = lambda thing_id: ()  # as their owner says
        self.random_fault: Callable[[str, str], str | None] = lambda op, name: None

    # -- what the product calls ------------------------------------------------------------

    async def request(
        self,
        service: str,
        method: str,
        path: str,
        *,
        json: Any = None,
        mishap: str | None = None,
        **_: Any,
    ) -> Response:
        """Answer an API request to /things, /things/ID or /things/ID/ACTION.

        `mishap` is the fault that a scenario chose for this call. Raises CloudFault or NoAnswer.
        """
        await asyncio.sleep(0)
        if mishap is not None:
            return self._gone_wrong(mishap, method, path, json or {})
        mischief, op = None, ""
        if method in ("POST", "PUT", "DELETE"):
            op = {"POST": "create", "PUT": "update", "DELETE": "delete"}[method]
            if path.count("/") > 2:
                op = path.rpartition("/")[2]
            mischief = self.mischief(op, path)
        fail_before(mischief)
        if mischief == "lost before":
            raise NoAnswer("test", "the connection was cut before the call was carried out")
        if mischief == "late" and op in ("create", "delete"):
            self.later(LATE_S, lambda: self._at_last(method, path, json or {}))
            raise NoAnswer("test", "the call is delayed, and its answer will be lost")
        if mischief == "late":
            raise NoAnswer("test", "the connection was cut before the call was carried out")
        answer = self._carry_out(method, path, json or {})
        if mischief == "lost after":
            raise NoAnswer("test", "carried out, but the answer was lost")
        if mischief == "invisible" and op == "create":
            self.things[answer.body["id"]].visible_at = self.at() + 3.0
            raise NoAnswer("test", "carried out, not yet visible, and the answer was lost")
        return answer

    def _gone_wrong(self, mishap: str, method: str, path: str, body: Mapping[str, Any]) -> Response:
        """Answer a call in which the fault `mishap` occurs; `MISHAPS` in explore.py describes the
        faults.
        """
        match mishap:
            case "unanswered before":
                raise of_a_write(
                    CloudFault("test", 504, "Gateway Timeout", "the gateway timed out")
                )
            case "late":  # a change comes within the time that it is given to land
                made_or_gone = method == "DELETE" or path == "/things"
                after_s = LATE_S if made_or_gone else LANDS_S
                self.later(after_s, lambda: self._at_last(method, path, body))
                raise NoAnswer("test", "the call is delayed, and its answer will be lost")
        fail_before(mishap)
        answer = self._carry_out(method, path, body)
        match mishap:
            case "doubled":  # the gateway sends it again, and then gives up
                self._at_last(method, path, body)
                raise of_a_write(CloudFault("test", 502, "Bad Gateway", "the gateway timed out"))
            case "unanswered after":
                raise of_a_write(
                    CloudFault("test", 504, "Gateway Timeout", "the gateway timed out")
                )
            case "broken":
                raise of_a_write(
                    CloudFault(
                        "test",
                        500,
                        "Internal Server Error",
                        "the service failed after it carried out the call",
                    )
                )
            case "empty":
                return Response(answer.status, {}, None)
        return answer

    async def endpoint(self, service: str) -> str:
        """Return the URL of the only service, which is always in the catalogue."""
        return f"http://{service}"

    async def listing(
        self,
        service: str,
        path: str,
        *,
        microversion: str | None = None,
        mishap: str | None = None,
    ) -> Sequence[Body]:
        """Answer a GET request to /things, /copies or /letters/KEY with a list.

        Things that are not yet visible are left out. Raises NoAnswer if `mishap` says so.
        """
        await asyncio.sleep(0)
        fail_before(mishap)
        if path.startswith("/letters/"):
            return [{"word": word} for word in self.letters.get(path.rpartition("/")[2], ())]
        if path == "/copies":
            return [{"id": ident, "key": key} for ident, key in self.copies.items()]
        return [
            {"id": t.id, "key": t.key} for t in self.things.values() if t.visible_at <= self.at()
        ]

    def _at_last(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        """Carry out a call that arrives late, after its sender has given up; ignore errors."""
        with suppress(CloudFault):
            if (method, path) == ("POST", "/things"):
                self._create(body, late=True)
            else:
                self._carry_out(method, path, body)

    def _carry_out(self, method: str, path: str, body: Mapping[str, Any]) -> Response:
        """Carry out a call and return its response. Raises CloudFault."""
        parts = path.strip("/").split("/")
        match method, parts:
            case "POST", ["things"]:
                return self._create(body)
            case "GET", ["things", id_]:
                return Response(200, {}, self._show(self._thing(id_)))
            case "PUT", ["things", id_]:
                return self._work("update", self._thing(id_), body)
            case "DELETE", ["things", id_]:
                if id_ not in self.things:
                    raise NotFound("test", f"{id_} not found")
                return self._work("delete", self._thing(id_), {})
            case "POST", ["things", id_, "copy"]:
                return self._copy(self._thing(id_), body["key"])
            case "DELETE", ["copies", id_]:
                return self._drop_copy(id_)
            case "POST", ["things", id_, "take" | "release" as op]:
                return self._hold(self._thing(id_), op)
            case "POST", ["things", id_, "check"] if id_ not in self.things:
                return self._missing(id_)
            case "POST", ["things", id_, op]:
                return self._work(op, self._thing(id_), {})
        raise NotFound("test", path)

    # -- what happens ----------------------------------------------------------------------

    def _create(self, body: Mapping[str, Any], *, late: bool = False) -> Response:
        """Create a thing; if `late` is true, the call was delayed and its references are not
        checked.
        """
        name = body["name"]
        fault = self._fault("create", name)
        seconds = self._seconds("create", name)
        if fault in ("reject", "conflict"):
            self._refuse("create", name, None, fault)
        claims = bool(body.get("claims"))
        if claims and self._held(name):
            self._refuse("create", name, None, "conflict")
        if not late:  # else things have moved on since it was sent
            self._look_at_references(name, body["values"])
            self._look_for_key(body["key"])
        self.made[name] += 1
        ident, values = f"{name}#{self.made[name]}", dict(body["values"])
        thing = Thing(ident, name, body["key"], values, self.at(), late=late, holds=claims)
        self.things[thing.id] = thing
        self._begin(thing, "create", fault, seconds)
        return Response(201, {}, self._show(thing))

    def _work(self, op: str, thing: Thing, values: Mapping[str, Any]) -> Response:
        """Begin an operation on a thing; an update stores `values`. Raises CloudFault if it is
        refused.
        """
        fault = self._fault(op, thing.name)
        seconds = self._seconds(op, thing.name)
        if fault in ("reject", "conflict"):
            self._refuse(op, thing.name, thing.id, fault)
        self.settle()
        if op == "update":
            self._look_at_references(thing.id, values)
        if op == "delete":
            self._look_for_users(thing)
        self._begin(thing, op, fault, seconds)
        if fault is None:
            thing.values.update(values)
        thing.labelled |= op == "label"
        return Response(202, {}, self._show(thing))

    def _held(self, name: str) -> bool:
        self.settle()
        return any(thing.holds for thing in self.things.values() if thing.name == name)

    def _hold(self, thing: Thing, op: str) -> Response:
        """Let a thing take or release its exclusive name; this has no duration."""
        if op == "take" and self._held(thing.name):
            self._refuse(op, thing.name, thing.id, "conflict")
        thing.holds = op == "take"
        return Response(200, {}, self._show(thing))

    def _copy(self, thing: Thing, key: str) -> Response:
        """Create a copy of a thing, which belongs to a snapshot, and return the copy's id in the
        response.
        """
        fault = self._fault("copy", thing.name)
        if fault is not None:
            self._refuse("copy", thing.name, thing.id, "reject")
        ident = f"copy{self.made['copies']}"
        self.made["copies"] += 1
        self.copies[ident] = key
        return Response(201, {}, {"id": ident})

    def _drop_copy(self, id_: str) -> Response:
        fault = self._fault("drop", id_) if id_ in self.copies else None
        if fault is not None:
            self._refuse("drop", id_, None, "conflict" if fault == "conflict" else "reject")
        self.copies.pop(id_, None)
        return Response(204, {}, {})

    def _missing(self, id_: str) -> Response:
        """Log the failed check of a thing that does not exist, and raise CloudFault."""
        now, name = self.at(), id_.partition("#")[0]
        self.attempts["check", name] += 1
        self.calls.append(Call("check", name, id_, now, now, "failed"))
        raise CloudFault("test", 400, "Error", "missing")

    def _begin(self, thing: Thing, op: str, fault: str | None, seconds: float) -> None:
        now = self.at()
        if thing.call is not None and thing.call.outcome == "open" and thing.fate != "hang":
            thing.call.outcome = "done"
        end = FOREVER if fault == "hang" else now + seconds
        thing.busy_until = end
        thing.fate = fault or "ok"
        thing.call = Call(op, thing.name, thing.id, now, None if end == FOREVER else end)
        self.calls.append(thing.call)

    def _look_at_references(self, who: str, values: Mapping[str, Any]) -> None:
        """Log an error if the values refer to a thing that does not exist or is not ready.

        `who` is the id or name of the thing that has these values.
        """
        self.settle()
        for value in values.values():
            other = self.things.get(value)
            if "#" in str(value) and not self.vanished and other is None:
                self.wrong.append(f"{who} refers to {value}, which does not exist")
            elif other is not None and self._making(other):
                self.wrong.append(f"{who} refers to {value}, which is not ready")

    def _look_for_users(self, thing: Thing) -> None:
        """Log an error if another existing thing refers to a thing whose delete begins."""
        for user in map(self.things.get, self.users_of(thing.id)):
            if user is not None and user is not thing and not user.leaving:
                self.wrong.append(f"{thing.id} is deleted, but {user.id} refers to it")

    def _look_for_key(self, key: str) -> None:
        """Log an error if the cloud already shows a thing with the intent key of a new thing.

        The engine should have found that thing instead of creating another.
        """
        seen_since = self.at() - SEEN_AFTER_S
        for thing in self.things.values():
            if thing.key == key and not thing.late and thing.made_at <= seen_since:
                self.wrong.append(f"{thing.id} exists, but a thing with the same key is created")

    def _making(self, thing: Thing) -> bool:
        return thing.call is not None and thing.call.op == "create" and thing.busy_until > self.at()

    def _refuse(self, op: str, name: str, thing: str | None, kind: str) -> None:
        now = self.at()
        self.calls.append(Call(op, name, thing, now, now, "refused"))
        if kind == "conflict":
            raise CloudFault("test", 409, "Conflict", f"{op} of {name} conflicts")
        raise CloudFault("test", 400, "Error", f"{op} of {name} rejected")

    def settle(self) -> None:
        """Complete those operations whose duration has passed."""
        now = self.at()
        for thing in list(self.things.values()):
            call = thing.call
            if call is None or call.outcome != "open" or thing.busy_until > now:
                continue
            call.outcome = "done" if thing.fate == "ok" else "failed"
            if call.outcome == "done" and call.op in ("suspend", "resume"):
                thing.asleep = call.op == "suspend"
            if call.op == "delete" and thing.fate == "ok":
                del self.things[thing.id]

    def answer(self) -> None:
        """Complete all hanging operations successfully."""
        for thing in self.things.values():
            if thing.fate == "hang" and thing.call is not None:
                thing.fate, thing.busy_until, thing.call.end = "ok", self.at(), self.at()

    def outside(self, thing_id: str) -> None:
        """Add a thing that existed before the history began and that Hearth does not know."""
        values = {"u": "", "r": ""}
        self.outsiders.add(thing_id)
        self.things[thing_id] = Thing(thing_id, thing_id.partition("#")[0], "", values, 0.0)

    def vanish(self, name: str) -> None:
        """Remove all things with this name, as if someone else had deleted them."""
        for thing in [t for t in self.things.values() if t.name == name]:
            self.lose(thing.id)

    def lose(self, thing_id: str) -> None:
        """Remove a thing, as if someone else had deleted it."""
        self.vanished += 1
        del self.things[thing_id]

    def _thing(self, id_: str) -> Thing:
        self.settle()
        thing = self.things.get(id_)
        if thing is None:
            raise NotFound("test", f"{id_} not found")
        return thing

    def _show(self, thing: Thing) -> Body:
        busy = thing.busy_until > self.at()
        op = thing.call.op if thing.call else ""
        left = thing.busy_until - self.at() if busy else 0.0
        return {
            "id": thing.id,
            "status": "BUSY" if busy else "OK",
            "op": op,
            "fate": thing.fate if not busy else "ok",
            "left": min(left, LEFT_MAX_S),
            "asleep": thing.asleep,
            "holds": thing.holds,
            "labelled": thing.labelled,
            **thing.values,
        }

    def _fault(self, op: str, name: str) -> str | None:
        """Count an attempt of an operation, and return its chosen or random fault, or None."""
        self.attempts[op, name] += 1
        nth = self.attempts[op, name]
        for fault in self.faults:
            if (fault.of, fault.op) == (name, op) and fault.nth in (None, nth):
                return fault.kind
        return self.random_fault(op, name)

    def _seconds(self, op: str, name: str) -> float:
        nth = self.attempts[op, name]
        for key in ((name, op, nth), (name, op, None)):
            if key in self.times:
                return self.times[key]
        return self.op_time_s
