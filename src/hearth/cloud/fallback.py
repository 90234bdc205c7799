"""Two kinds of Cloud: FallbackCloud uses one credential until it expires and then a second one;
UnauthorizedCloud has no valid credential, and NoClouds consists of such clouds.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from hearth.cloud.bound import CallQueue
from hearth.cloud.config import HERE, CloudConfig, CloudLocation
from hearth.cloud.contract import Body, Cloud, Response, Whoami
from hearth.cloud.credential import Credential, ForeignCredential
from hearth.cloud.fault import CloudFault
from hearth.cloud.reach import Tls

T = TypeVar("T")


class UnauthorizedCloud:
    """A Cloud without a valid credential: each call raises CloudFault 401 with `reason`."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def request(self, *args: Any, **options: Any) -> Response:
        raise self._refusal()

    async def listing(self, *args: Any, **options: Any) -> Sequence[Body]:
        raise self._refusal()

    async def member(self, *args: Any, **options: Any) -> Body:
        raise self._refusal()

    async def whoami(self) -> Whoami:
        raise self._refusal()

    async def endpoint(self, service: str) -> str:
        raise self._refusal()

    async def token(self) -> str:
        raise self._refusal()

    def elsewhere(self, **options: Any) -> "UnauthorizedCloud":
        return self

    def _refusal(self) -> CloudFault:
        return CloudFault("identity", 401, "Unauthorized", self._reason)


class NoClouds:
    """In place of a CloudPool: every call raises CloudFault 401 with the text `reason`."""

    config = CloudConfig()

    def __init__(self, reason: str) -> None:
        self._cloud = UnauthorizedCloud(reason)
        self.queue = CallQueue()

    def cloud(self, credential: Credential, location: CloudLocation = HERE) -> UnauthorizedCloud:
        """Return the Cloud that refuses every call."""
        return self._cloud

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""


class FallbackCloud:
    """A Cloud that uses `first` until a call fails with 401 (token expired), and then `second`.

    The failed call is repeated with `second`, which is safe because a 401 has no effect.
    """

    def __init__(self, first: Cloud, second: Cloud) -> None:
        self._now, self._second = first, second

    async def request(self, *args: Any, **options: Any) -> Response:
        return await self._call(lambda cloud: cloud.request(*args, **options))

    async def listing(
        self, service: str, path: str, *, microversion: str | None = None
    ) -> Sequence[Body]:
        return await self._call(
            lambda cloud: cloud.listing(service, path, microversion=microversion)
        )

    async def member(self, *args: Any, **options: Any) -> Body:
        return await self._call(lambda cloud: cloud.member(*args, **options))

    async def whoami(self) -> Whoami:
        return await self._call(lambda cloud: cloud.whoami())

    async def endpoint(self, service: str) -> str:
        return await self._call(lambda cloud: cloud.endpoint(service))

    async def token(self) -> str:
        return await self._call(lambda cloud: cloud.token())

    def elsewhere(
        self,
        *,
        region: str | None = None,
        credential: ForeignCredential | None = None,
        tls: Tls | None = None,
    ) -> Cloud:
        """Return a Cloud for another region with the same two credentials, or for another cloud.

        For another cloud, only `credential` is used. `tls` contains the trusted certificates of
        that cloud or region.
        """
        first = self._now.elsewhere(region=region, credential=credential, tls=tls)
        if credential is not None:
            return first
        return FallbackCloud(first, self._second.elsewhere(region=region, tls=tls))

    async def _call(self, call: Callable[[Cloud], Awaitable[T]]) -> T:
        cloud = self._now
        try:
            return await call(cloud)
        except CloudFault as fault:
            if fault.status != 401 or cloud is self._second:
                raise
        self._now = self._second
        return await call(self._second)
