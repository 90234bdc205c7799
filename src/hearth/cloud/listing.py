"""List calls to the cloud that several concurrent requests share.

A request that arrives while a call runs waits for the next call, so that a result is never older
than its request. Few members are read by single calls, and many by one list call.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from hearth.cloud.contract import Body, Response
from hearth.cloud.fault import CloudFault, NoAnswer, Unreadable
from hearth.cloud.path import segment

T = TypeVar("T")

PLAIN_LISTS = frozenset({"alarming", "object-store"})
"""The services that answer with a list without a key around it."""

PAUSES_S = (0.5, 1.0, 2.0)  # before an answer that cannot be used is asked for again
LIST_FROM = 4  # from this number of concurrent requests on, one list call replaces single calls
PAGES_MAX = 1000


class RequestBatcher(Generic[T]):
    """Combines concurrent requests into calls.

    While one call runs, the keys of new requests are collected; the next `call(keys)` serves all of
    them.
    """

    def __init__(self, call: Callable[[frozenset[str]], Awaitable[T]]) -> None:
        self._call = call
        self._next: list[tuple[str, asyncio.Future[T]]] = []
        self._runner: asyncio.Task[None] | None = None

    async def ask(self, key: str = "") -> T:
        """Request `key`; return the result of the next call that includes it, or raise its
        error.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._next.append((key, answer))
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        while self._next:
            await asyncio.sleep(0)  # collect all requests of this tick
            batch, self._next = self._next, []
            try:
                result = await self._call(frozenset(key for key, _ in batch))
            except Exception as fault:
                for answer in _waiting(batch):
                    answer.set_exception(fault)
            except BaseException:
                for answer in _waiting(batch):
                    answer.cancel()
                raise
            else:
                for answer in _waiting(batch):
                    answer.set_result(result)


def _waiting(batch: Iterable[tuple[str, asyncio.Future[T]]]) -> Iterator[asyncio.Future[T]]:
    """Return the futures of the requests that nobody has cancelled."""
    return (answer for _, answer in batch if not answer.done())


class ListingCloud(ABC):
    """A base class of clouds: it implements `listing` and `member` with the method `request`."""

    def __init__(self) -> None:
        self._lists: dict[tuple[str, str, str | None], RequestBatcher[list[Body]]] = {}
        self._members: dict[
            tuple[str, str, str | None, str | None], RequestBatcher[dict[str, Body | CloudFault]]
        ] = {}

    @abstractmethod
    async def request(
        self,
        service: str,
        method: str,
        path: str,
        *,
        json: Any = None,
        data: bytes | str | None = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        microversion: str | None = None,
        idempotent: bool | None = None,
        renew_after_s: float = 0,
    ) -> Response:
        """Make one call; see `Cloud.request`."""

    async def listing(
        self, service: str, path: str, *, microversion: str | None = None
    ) -> Sequence[Body]:
        """Return all members of the collection at `path`, from all its pages."""
        key = (service, path, microversion)
        if key not in self._lists:
            self._lists[key] = RequestBatcher(
                lambda _: self._all_pages(service, path, microversion)
            )
        return await self._lists[key].ask()

    async def member(
        self,
        service: str,
        path: str,
        ident: str,
        *,
        detail: str | None = None,
        microversion: str | None = None,
    ) -> Body:
        """Return the member `ident` of a collection; see `Cloud.member`."""
        key = (service, path, detail, microversion)
        if key not in self._members:
            self._members[key] = RequestBatcher(
                lambda idents: self._get_members(service, path, idents, detail, microversion)
            )
        body = (await self._members[key].ask(ident))[ident]
        if isinstance(body, CloudFault):
            try:
                raise body
            finally:
                del body  # breaks a reference cycle: its traceback refers to this frame
        return body

    async def _get_members(
        self,
        service: str,
        path: str,
        idents: frozenset[str],
        detail: str | None,
        microversion: str | None,
    ) -> dict[str, Body | CloudFault]:
        bodies: dict[str, Body | CloudFault] = {}
        if len(idents) >= LIST_FROM:
            members = await self._all_pages(service, detail or path, microversion)
            bodies = {m["id"]: m for m in members if m.get("id") in idents}
        absent = sorted(idents - bodies.keys())
        fetched = await asyncio.gather(
            *(
                self._get_member(service, f"{path}/{segment(ident)}", microversion)
                for ident in absent
            )
        )
        return bodies | dict(zip(absent, fetched, strict=True))

    async def _get_member(
        self, service: str, path: str, microversion: str | None
    ) -> Body | CloudFault:
        try:
            return await self._get_part(service, path, microversion, object_in)
        except CloudFault as fault:
            return fault

    async def _all_pages(self, service: str, path: str, microversion: str | None) -> list[Body]:
        """Return the members on all pages. Raises Unreadable if the list does not end.

        An incomplete list would be no proof that an object does not exist.
        """
        members: list[Body] = []
        pages: set[str] = set()
        at: str | None = path
        while at is not None:
            if at in pages or len(pages) == PAGES_MAX:
                raise Unreadable(service, f"GET {path}: the list does not end, page {at}")
            pages.add(at)
            page, at = await self._get_part(
                service, at, microversion, lambda body: page_of(service, body, path)
            )
            members += page
        return members

    async def _get_part(
        self, service: str, path: str, microversion: str | None, part: Callable[[Any], T | None]
    ) -> T:
        """Return what `part` finds in the body at `path`. Raises NoAnswer if it finds None in the
        bodies of several answers.
        """
        for pause_s in (*PAUSES_S, None):
            answer = await self.request(service, "GET", path, microversion=microversion)
            if (value := part(answer.body)) is not None:
                return value
            if pause_s is not None:
                await asyncio.sleep(pause_s)
        raise NoAnswer(service, f"GET {path}: the answer does not show what was asked for")


def object_in(body: Any) -> Body | None:
    """Return the object in the body of a response, without a key around it; None if there is
    none.
    """
    inner = next(iter(body.values())) if isinstance(body, dict) and len(body) == 1 else body
    return inner if isinstance(inner, dict) and inner else None


def page_of(service: str, body: Any, path: str) -> tuple[list[Body], str | None] | None:
    """Return the members in the body of a list response, and the path of the next page or None.
    Return None if the body contains no list; an empty list would mean that nothing exists.

    Supported formats: {"servers": [...], "servers_links": [{rel: next}]}, {"instances": [...],
    "links": [{rel: next}]}, {"images": [...], "next": URL}, {"zones": [...], "links": {"next":
    URL}} and, of PLAIN_LISTS, a plain list.
    """
    if isinstance(body, list) and service in PLAIN_LISTS:
        return _members(body), None
    if not isinstance(body, dict):
        return None
    lists = [v for k, v in body.items() if isinstance(v, list) and k[-5:] != "links"]
    if not lists:
        return None
    links = next((v for k, v in body.items() if k[-5:] == "links" and isinstance(v, list)), [])
    nexts = (link.get("href") for link in _members(links) if link.get("rel") == "next")
    following = next(nexts, None)
    if following is None and isinstance(body.get("links"), dict):
        following = body["links"].get("next")
    following = following or body.get("next")
    if not following or not isinstance(following, str):
        return _members(lists[0]), None
    return _members(lists[0]), f"{path.partition('?')[0]}?{urlsplit(following).query}"


def _members(values: list[Any]) -> list[Body]:
    return [entry for entry in values if isinstance(entry, dict)]
