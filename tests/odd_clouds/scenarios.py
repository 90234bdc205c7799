"""Which call gets which odd answer, in which operation of which resource."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hearth.model.state import Action
from tests.odd_clouds.answers import (
    ELSEWHERE,
    PAUSES,
    REFUSALS,
    UNANSWERED,
    UNREADABLE,
    Odd,
    afterwards,
    changed,
    cut,
    in_json,
    inner,
    instead,
    page,
    paused,
)
from tests.odd_clouds.proxy import Answer, Exchange, Oddness
from tests.odd_clouds.things import NET, POLLED, THINGS, Thing

LASTS: int | None = None  # as long as the operation runs
TOKENS = r"^/identity/v3/auth/tokens"


@dataclass(frozen=True)
class Strike:
    """The calls that get an odd answer."""

    method: str
    path: str
    oddness: Oddness
    times: int | None = 1
    spared: int = 0


@dataclass(frozen=True)
class Scenario:
    """An odd answer in one operation of a stack with one resource.

    `may_fail`: the operation may end FAILED, with one of `words` in its reason; else it must be
    COMPLETE. `must_fail`: it must not be COMPLETE. `made` is how many objects may be made for one
    resource. `slow_s` is how long an object builds. `catalogue`: the engine has no
    token yet.
    """

    name: str
    thing: Thing
    action: Action
    strikes: Sequence[Strike]
    words: str = ""
    may_fail: bool = False
    must_fail: bool = False
    made: int = 1
    slow_s: float = 0.0
    calls_max: int = 60
    catalogue: bool = False


def scenarios(seed: int, *, everything: bool = False) -> list[Scenario]:
    """Return the scenarios; each odd answer meets one resource, drawn by the seed, or all."""
    draw = random.Random(seed)
    found = []
    for family in (
        _reads, _lasting_reads, _creates, _updates, _deletes, _lists, _searches, _pauses, _tokens,
        _trusts, _first_tokens, _catalogues, _objects, _texts,
    ):  # fmt: skip
        groups: dict[str, list[Scenario]] = {}
        for one in family():
            groups.setdefault(one.name, []).append(one)
        for group in groups.values():
            found += group if everything else [draw.choice(group)]
    return [
        replace(one, name=f"{one.name}, {one.action.value.lower()} of a {one.thing.name}")
        for one in found
    ]


READS = {
    "poll of a create": (Action.CREATE, 4.0),
    "read of a check": (Action.CHECK, 0.0),
    "poll of a delete": (Action.DELETE, 0.0),
}


def _reads() -> Iterator[Scenario]:
    """One odd answer to a read never fails a stack."""
    for thing in THINGS:
        for place, (action, slow_s) in READS.items():
            for odd in (*UNANSWERED, *UNREADABLE, *REFUSALS):
                strike = Strike("GET", thing.member, odd.oddness)
                yield Scenario(
                    f"{place}: {odd.name}", thing, action, [strike], odd.words, slow_s=slow_s
                )


def _lasting_reads() -> Iterator[Scenario]:
    for thing in THINGS:
        for action, slow_s in READS.values():
            for odd in (*UNANSWERED, *UNREADABLE, *REFUSALS):
                strike = Strike("GET", thing.member, odd.oddness, LASTS)
                yield Scenario(
                    f"each read: {odd.name}", thing, action, [strike], odd.words,
                    slow_s=slow_s, may_fail=True, calls_max=120,
                )  # fmt: skip


def _writes(place: str, action: Action, method: str) -> Iterator[Scenario]:
    for thing in THINGS:
        path = thing.collection if action is Action.CREATE else thing.member
        for odd in (*UNANSWERED, *REFUSALS):
            may_fail = odd.refusal or odd.name.startswith(("500", "page 500"))
            strike = Strike(method, path, odd.oddness)
            yield Scenario(
                f"{place}: {odd.name}", thing, action, [strike], odd.words, may_fail=may_fail
            )
        for odd in (*UNANSWERED, *UNREADABLE):
            if odd.name.startswith(("429", "401", "503 with")):
                continue  # these say that the call was not carried out
            may_fail = odd.name.startswith(("500", "page 500"))
            strike = Strike(method, path, afterwards(odd.oddness))
            yield Scenario(
                f"{place}, carried out: {odd.name}", thing, action, [strike], odd.words,
                may_fail=may_fail and action is not Action.CREATE,
            )  # fmt: skip


def _creates() -> Iterator[Scenario]:
    yield from _writes("create", Action.CREATE, "POST")


def _updates() -> Iterator[Scenario]:
    yield from _writes("update", Action.UPDATE, "PUT")


def _deletes() -> Iterator[Scenario]:
    yield from _writes("delete", Action.DELETE, "DELETE")
    lacking = {"itemNotFound": {"code": 404, "message": "no"}}
    for thing in THINGS:
        for odd in (
            *UNANSWERED,
            *REFUSALS,
            Odd("409", instead(409, {"conflictingRequest": {"message": "in use"}}), "in use"),
            Odd("410 page", page(410), "410"),
            Odd("204, the object stays", instead(204), "last seen"),
            Odd("202, the object stays", instead(202), "last seen"),
        ):
            strike = Strike("DELETE", thing.member, odd.oddness, LASTS)
            yield Scenario(
                f"each delete: {odd.name}", thing, Action.DELETE, [strike], odd.words,
                may_fail=True, must_fail=True, calls_max=120,
            )  # fmt: skip
        gone = Strike("DELETE", thing.member, afterwards(instead(404, lacking)))
        yield Scenario("delete, carried out: 404 of the service", thing, Action.DELETE, [gone])
        path = {"message": "The resource could not be found.", "code": "404 Not Found"}
        sent = {"x-openstack-request-id": "req-1"}
        lost = Strike("DELETE", thing.member, instead(404, {**path, "title": "No"}, sent), LASTS)
        yield Scenario(
            "each delete: 404 for the path", thing, Action.DELETE, [lost],
            "could not be found", may_fail=True, must_fail=True,
        )  # fmt: skip


def _lists() -> Iterator[Scenario]:
    """Names that are looked up in a list."""
    for thing in THINGS:
        for odd in (*UNANSWERED, *UNREADABLE) if thing.lookup else ():
            strike = Strike("GET", thing.lookup, odd.oddness)
            yield Scenario(f"lookup: {odd.name}", thing, Action.CREATE, [strike], odd.words)
            strike = Strike("GET", thing.lookup, odd.oddness, LASTS)
            yield Scenario(
                f"each lookup: {odd.name}", thing, Action.CREATE, [strike], odd.words,
                may_fail=True, must_fail=True, calls_max=120,
            )  # fmt: skip


def _linked(target: str) -> Oddness:
    """Add a link to a next page, to all formats of lists."""

    async def oddness(exchange: Exchange) -> Answer | None:
        answer = await exchange.real()
        body = json.loads(answer.body)
        number = len(exchange.path)
        href = exchange.path if target == "itself" else f"{exchange.path.split('?')[0]}?m={number}"
        href = f"{exchange.path}&m=1" if target == "ever on" and "?" in exchange.path else href
        name = next(iter(body))
        body[name] = []
        body[f"{name}_links"] = [{"rel": "next", "href": href}]
        return replace(answer, body=json.dumps(body).encode())

    return oddness


def _empty(body: Any) -> Any:
    return {key: [] if isinstance(value, list) else value for key, value in body.items()}


def _repeated(body: Any) -> Any:
    return {k: value * 2 if isinstance(value, list) else value for k, value in body.items()}


def _holes(body: Any) -> Any:
    return {
        k: [None, 7, {}, *value] if isinstance(value, list) else value for k, value in body.items()
    }


def _searches() -> Iterator[Scenario]:
    """The search for the result of a create whose answer was lost."""
    for thing in THINGS:
        lost = Strike("POST", thing.collection, afterwards(cut))
        for odd in (*UNANSWERED, *UNREADABLE):
            once = Strike("GET", thing.listed, odd.oddness)
            a_list = odd.name == "200 with a list"  # so it does show that there is nothing
            yield Scenario(
                f"search: {odd.name}", thing, Action.CREATE, [lost, once], odd.words,
                made=1 + a_list,
            )  # fmt: skip
            lasting = replace(once, times=LASTS)
            yield Scenario(
                f"each search: {odd.name}", thing, Action.CREATE, [lost, lasting],
                "" if odd in UNREADABLE else odd.words,
                may_fail=True, calls_max=200, made=1 + a_list,
            )  # fmt: skip
        for name, oddness, made in (
            ("no item, twice", in_json(_empty), 1),
            ("items repeated", in_json(_repeated), 1),
            ("items that are none", in_json(_holes), 1),
        ):
            strike = Strike("GET", thing.listed, oddness, 2)
            yield Scenario(f"search: {name}", thing, Action.CREATE, [lost, strike], made=made)
        stale = Strike("GET", thing.listed, in_json(_empty), LASTS)
        yield Scenario("search: stale", thing, Action.CREATE, [lost, stale], made=2)
        for target in ("itself", "ever on"):
            strike = Strike("GET", thing.listed, _linked(target), LASTS)
            yield Scenario(
                f"search: next leads to {target}", thing, Action.CREATE, [lost, strike],
                "does not end", may_fail=True, must_fail=True, calls_max=15_000,
            )  # fmt: skip


def _pauses() -> Iterator[Scenario]:
    for thing in THINGS:
        for status in (429, 503):
            for value in PAUSES:
                odd = paused(value, status)
                strike = Strike("POST", thing.collection, odd.oddness)  # of up to 30 s
                yield Scenario(f"create: {odd.name}", thing, Action.CREATE, [strike], odd.words)
                strike = Strike("GET", thing.member, odd.oddness)
                yield Scenario(
                    f"poll: {odd.name}", thing, Action.CREATE, [strike], odd.words, slow_s=4.0
                )


TRUST = {"error": {"code": 404, "title": "Not Found", "message": "Could not find trust: 7"}}
NO_USER = {"error": {"code": 401, "title": "Unauthorized", "message": "who are you"}}


def _refusing(old: str = "") -> Oddness:
    """Refuse the first token that comes, for ever; accept any other."""
    first: list[str] = []

    async def oddness(exchange: Exchange) -> Answer | None:
        token = exchange.headers["X-Auth-Token"]
        first[:] = first or [token]
        if token == first[0]:
            return Answer(401, b'{"error": {"code": 401, "message": "the token has ended"}}')
        return await exchange.real()

    return oddness


KEYSTONE = (
    *(
        replace(one, words="connection") if one.oddness is cut else one
        for one in UNANSWERED
        if one.name != "401 once"  # a refusal, see below
    ),
    *(one for one in REFUSALS if one.name.endswith("page")),
    # refusals, final for a credential that Keystone has not accepted before
    Odd("401", instead(401, NO_USER), "who are you", refusal=True),
    Odd("404 for the trust", instead(404, TRUST), "Could not find trust", refusal=True),
    Odd("201 page", page(201), "Keystone"),
    Odd("201 with {}", instead(201, {}, {"X-Subject-Token": "t"}), "Keystone"),
    Odd("201 without a token", instead(201, {"token": {}}), "Keystone"),
    Odd("201 with a token of null", instead(201, {"token": None}), "Keystone"),
    Odd("half of the JSON", next(o for o in UNREADABLE if o.name.startswith("half")).oddness,
        "Keystone"),
    Odd("302", instead(302, b"", {"Location": "/login"}), ""),
)  # fmt: skip


def _tokens() -> Iterator[Scenario]:
    """The token of the requester ends in the operation, and Keystone is odd."""
    for thing in THINGS:
        for action in (Action.CREATE, Action.UPDATE, Action.CHECK, Action.DELETE):
            for odd in KEYSTONE:
                words = odd.words
                ended = [
                    Strike(method, thing.any, _refusing(), LASTS)
                    for method in ("GET", "POST", "PUT", "DELETE")
                ]
                shared = ended[0].oddness
                ended = [replace(one, oddness=shared) for one in ended]
                once = Strike("POST", TOKENS, odd.oddness, 1, spared=1)
                yield Scenario(
                    f"renewal: {odd.name}", thing, action,
                    [*ended, once], words, may_fail=odd.refusal,
                )  # fmt: skip
                lasting = replace(once, times=LASTS)
                yield Scenario(
                    f"each renewal: {odd.name}", thing, action,
                    [*ended, lasting], words, may_fail=True, calls_max=120,
                )  # fmt: skip


def _trusts() -> Iterator[Scenario]:
    """The token of the requester ends in a delete, and Keystone refuses the credential that Hearth
    has beside it. That says nothing about the object.
    """
    for thing in THINGS:
        for name, odd in (("404", instead(404, TRUST)), ("401", instead(401, NO_USER))):
            refused = _refusing()
            ended = [Strike(m, thing.any, refused, LASTS) for m in ("GET", "DELETE")]
            yield Scenario(
                f"delete, the trust is refused with {name}", thing, Action.DELETE,
                [*ended, Strike("POST", TOKENS, odd, LASTS)],
                "Could not find trust" if name == "404" else "who are you",
                may_fail=True, must_fail=True, calls_max=120,
            )  # fmt: skip


def _first_tokens() -> Iterator[Scenario]:
    """Keystone is odd when an engine that has just started asks for its tokens."""
    for thing in THINGS:
        for action in (Action.CREATE, Action.UPDATE, Action.CHECK, Action.DELETE):
            for odd in KEYSTONE:
                if odd.name.startswith(("401", "404 for the trust")):
                    continue  # these are refusals of Keystone
                for name, times in (("first token", 1), ("each first token", LASTS)):
                    strikes = [Strike(m, TOKENS, odd.oddness, times) for m in ("GET", "POST")]
                    yield Scenario(
                        f"{name}: {odd.name}", thing, action, strikes, odd.words,
                        may_fail=times is LASTS, calls_max=120, catalogue=True,
                    )  # fmt: skip


def _catalogue(service: str, change: Any) -> Oddness:
    def altered(body: Any) -> Any:
        token = body["token"]
        if "catalog" in token:
            token["catalog"] = change(token["catalog"], service)
        return body

    def of(answer: Answer) -> Answer:
        if answer.status >= 300:
            return answer
        return replace(answer, body=json.dumps(altered(json.loads(answer.body))).encode())

    return changed(of)


def _without(catalogue: Any, service: str) -> Any:
    return [one for one in catalogue if one["type"] != service]


def _at(url: Any) -> Any:
    def change(catalogue: Any, service: str) -> Any:
        return [
            one if one["type"] != service
            else {**one, "endpoints": [{**e, "url": url} for e in one["endpoints"]]}
            for one in catalogue
        ]  # fmt: skip

    return change


def _of_one(**fields: Any) -> Any:
    def change(catalogue: Any, service: str) -> Any:
        return [one if one["type"] != service else {**one, **fields} for one in catalogue]

    return change


CATALOGUES = {
    "no catalogue entry": (_without, ("no {} service", "NotFound")),
    "an entry without endpoints": (_of_one(endpoints=[]), ("no {} service",)),
    "endpoints of null": (_of_one(endpoints=None), ("",)),
    "an empty catalogue": (lambda catalogue, service: [], (" service",)),
    "a catalogue of null": (lambda catalogue, service: None, ("",)),
    "an entry of null": (lambda catalogue, service: [None, *_without(catalogue, service)], ("",)),
    "an FTP address": (_at("ftp://x/"), ("invalid URL",)),
    "an unreadable address": (_at("http://[::bad"), ("invalid URL",)),
    "an empty address": (_at(""), ("",)),
    "an address of null": (_at(None), ("",)),
    "a numeric address": (_at(7), ("",)),
    "a port beyond all": (_at("http://127.0.0.1:99999/"), ("invalid URL",)),
    "an address where nobody listens": (_at("http://127.0.0.1:9/"), ("127.0.0.1",)),
    "a host without a name": (_at("http://no-such-host.invalid/"), ("no-such-host.invalid",)),
    "the address of another service": (_at("{identity}"), ("",)),
    "an address with a placeholder": (_at("http://127.0.0.1:9/$(tenant_id)s"), ("",)),
}


def _catalogues() -> Iterator[Scenario]:
    for thing in THINGS:
        for action in (Action.CREATE, Action.UPDATE, Action.CHECK, Action.DELETE):
            for name, (change, words) in CATALOGUES.items():
                oddness = _catalogue(thing.service, change)
                strikes = [Strike(m, TOKENS, oddness, LASTS) for m in ("GET", "POST")]
                yield Scenario(
                    f"catalogue of a {action.value.lower()}: {name}", thing, action, strikes,
                    words[0].format(thing.service), may_fail=True, must_fail=True, calls_max=120,
                    catalogue=True,
                )  # fmt: skip


def _objects() -> Iterator[Scenario]:
    """Answers that show an object, though not as it is."""
    foreign = inner(id=ELSEWHERE, status="available", size=99, provisioning_status="ACTIVE")
    for thing in THINGS:
        strike = Strike("GET", thing.member, foreign, 3)
        yield Scenario("poll: another object", thing, Action.CREATE, [strike], slow_s=8.0)
        strike = Strike("GET", thing.member, foreign, LASTS)
        yield Scenario(
            "each poll: another object", thing, Action.CREATE, [strike], "another object",
            slow_s=8.0, may_fail=True, must_fail=thing is not NET,
        )  # fmt: skip
        strike = Strike("GET", thing.member, foreign, LASTS)
        yield Scenario(
            "each read of a check: another object", thing, Action.CHECK, [strike],
            "another object", may_fail=True, must_fail=True,
        )  # fmt: skip
        for value in ("MEDITATING", 7, None, ["ACTIVE"], {"a": 1}, "", True):
            fields = {"status": value, "provisioning_status": value}
            strike = Strike("GET", thing.member, inner(**fields), LASTS)
            yield Scenario(
                f"each poll: status {value!r}", thing, Action.CREATE, [strike],
                str(value), slow_s=8.0, may_fail=True,
            )  # fmt: skip
        without = in_json(lambda body: {k: {"id": v["id"]} for k, v in body.items()})
        strike = Strike("GET", thing.member, without, 2)
        yield Scenario("poll: only the id", thing, Action.CREATE, [strike], slow_s=4.0)
        for name, fields in (("no id", {"id": None}), ("a number as id", {"id": 7})):
            strike = Strike("POST", thing.collection, inner(**fields))
            yield Scenario(f"create, carried out: {name}", thing, Action.CREATE, [strike], "")
    for thing in POLLED:
        strike = Strike("POST", thing.collection, inner(id=ELSEWHERE))
        yield Scenario(
            "create, carried out: a foreign id", thing, Action.CREATE, [strike], "",
            may_fail=True,
        )  # fmt: skip


TEXTS = {
    "NUL": "quota\0exceeded",
    "half a surrogate pair": "quota \ud800 exceeded",
    "control characters": "quota \x1b[31m\r\n\x07exceeded",
    "a megabyte": "quota " * 170_000,
    "a character beyond the plane": "quota \U0001f600 exceeded",
    "empty": "",
}


def _texts() -> Iterator[Scenario]:
    """Texts of services that end in reasons and attributes."""
    for thing in THINGS:
        for name, text in TEXTS.items():
            words = "quota" if text else "403"
            body = {"forbidden": {"code": 403, "message": text}}
            for method, path, action in (
                ("POST", thing.collection, Action.CREATE),
                ("PUT", thing.member, Action.UPDATE),
                ("DELETE", thing.member, Action.DELETE),
            ):
                strike = Strike(method, path, instead(403, body))
                yield Scenario(
                    f"refusal of a {action.value.lower()}: {name}", thing, action, [strike],
                    words if text else "", may_fail=True, must_fail=True,
                )  # fmt: skip
            strike = Strike("GET", thing.member, inner(description=text, name=text), LASTS)
            yield Scenario(f"attributes: {name}", thing, Action.CREATE, [strike], slow_s=2.0)
            strike = Strike(
                "GET", thing.member, inner(status=text, provisioning_status=text), LASTS
            )
            yield Scenario(
                f"status: {name}", thing, Action.CREATE, [strike], words if text else "",
                may_fail=True, slow_s=4.0,
            )  # fmt: skip
