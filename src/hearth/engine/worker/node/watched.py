"""A Cloud that notes whether a write call through it may have changed something.

A failed update that changed nothing leaves the object as it was; after any other failed update the
next one reads what is there.
"""

from collections.abc import Sequence
from typing import Any

from hearth.cloud.contract import Body, Cloud, Response, Whoami
from hearth.cloud.credential import ForeignCredential
from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.cloud.reach import Tls
from hearth.cloud.transport import READING

DOUBTFUL = (404, 409)  # the object may be gone, or in a state that nothing leaves


class WriteWatch:
    """What the calls of one attempt did: `possible` is true if a write call may have had an effect,
    and `has_calls` if any call was sent.
    """

    def __init__(self) -> None:
        self.possible = False
        self.has_calls = False

    def refused(self, fault: CloudFault) -> bool:
        """Return whether the services refused all write calls, of which the last failed with
        `fault`, so that no object was changed.
        """
        return not (self.possible or isinstance(fault, NoAnswer))


class WatchedCloud:
    """A Cloud that reports write calls to `writes`."""

    def __init__(self, cloud: Cloud, writes: WriteWatch) -> None:
        self._cloud, self._writes = cloud, writes

    async def request(self, service: str, method: str, path: str, **options: Any) -> Response:
        self._writes.has_calls = True
        try:
            answer = await self._cloud.request(service, method, path, **options)
        except NoAnswer:
            self._writes.possible |= method not in READING
            raise
        self._writes.possible |= method not in READING
        return answer

    async def listing(
        self, service: str, path: str, *, microversion: str | None = None
    ) -> Sequence[Body]:
        self._writes.has_calls = True
        return await self._cloud.listing(service, path, microversion=microversion)

    async def member(self, service: str, path: str, ident: str, **options: Any) -> Body:
        self._writes.has_calls = True
        return await self._cloud.member(service, path, ident, **options)

    async def whoami(self) -> Whoami:
        return await self._cloud.whoami()

    async def endpoint(self, service: str) -> str:
        return await self._cloud.endpoint(service)

    async def token(self) -> str:
        return await self._cloud.token()

    def elsewhere(
        self,
        *,
        region: str | None = None,
        credential: ForeignCredential | None = None,
        tls: Tls | None = None,
    ) -> Cloud:
        cloud = self._cloud.elsewhere(region=region, credential=credential, tls=tls)
        return WatchedCloud(cloud, self._writes)
