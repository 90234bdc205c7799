"""The pool of a process from which it gets a Cloud for each credential."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ssl import SSLContext, create_default_context

import aiohttp
from msgspec.structs import replace

from hearth.cloud.answers import bounded_session
from hearth.cloud.bound import Bound, CallQueue
from hearth.cloud.catalogues import Catalogues
from hearth.cloud.config import HERE, CloudConfig, CloudLocation
from hearth.cloud.credential import Credential, ForeignCredential
from hearth.cloud.fault import CloudFault
from hearth.cloud.guard import Guard
from hearth.cloud.guarded import guarded_connector
from hearth.cloud.keystone import KeystoneSession
from hearth.cloud.reach import Tls
from hearth.cloud.recent import Recent
from hearth.cloud.transport import HttpCloud
from hearth.telemetry.observer import UNOBSERVED, Observer


async def _always() -> bool:
    return True


class CloudPool:
    """Creates a Cloud for each credential, and keeps it until it has not been used for some time.

    Most stacks have a credential of their own, and a Cloud with its token and its catalogue takes
    some 50 kB.
    All methods must run on one event loop.
    `may_write` is called right before each write call; if it returns False, the call is not sent.
    Clouds that users name have separate threads and limits, so that they cannot slow down calls to
    the configured cloud.
    """

    may_write: Callable[[], Awaitable[bool]] = staticmethod(_always)

    def __init__(self, config: CloudConfig | None = None, observer: Observer = UNOBSERVED) -> None:
        self.config = config or CloudConfig()
        self._observer = observer
        self._threads = ThreadPoolExecutor(self.config.auth_threads, "keystone")
        self._foreign_threads = ThreadPoolExecutor(self.config.auth_threads, "foreign-keystone")
        self._clouds = Recent[tuple[Credential, CloudLocation], HttpCloud]()
        self.queue = CallQueue()
        self._all = Bound(self.config.in_flight, self.queue)
        self._all_foreign = Bound(self.config.in_flight, self.queue)
        self._per_project: dict[object, Bound] = {}
        self._http: aiohttp.ClientSession | None = None
        self._foreign_http: aiohttp.ClientSession | None = None
        self._identity_http = bounded_session(self.config.auth_threads)
        self._catalogues = Catalogues()
        self._guard = Guard(self.config.foreign_cloud_networks)
        self._contexts: Mapping[str, SSLContext | bool] = {}

    def cloud(self, credential: Credential, location: CloudLocation = HERE) -> HttpCloud:
        """Return the Cloud for `credential`, a new one or the one kept from an earlier call.

        The event loop must be running. Raises CloudFault for an invalid certificate in `location`.
        """
        cloud = self._clouds.get((credential, location))
        if cloud is None:
            if isinstance(credential, ForeignCredential):
                cloud = self._foreign(credential, location)
            else:
                cloud = self._own_cloud(credential, location)
            for unused, _ in self._clouds.keep((credential, location), cloud):
                self._per_project.pop(unused, None)
        return cloud

    def _own_cloud(self, credential: Credential, location: CloudLocation) -> HttpCloud:
        config, services = self.config, self.config.services
        if location.region is not None:
            services = {name: replace(reach, region=None) for name, reach in services.items()}
        session = KeystoneSession(
            credential,
            self._threads,
            region=location.region or config.region,
            interface=config.interface,
            tls=config.tls,
            services=services,
            service_user=config.service_user,
            setting=config.setting_of(credential),
            http=self._identity_http,
            catalogues=self._catalogues,
        )
        http = self._session()
        bounds = (self._all, self._bound(credential))
        contexts: Mapping[str, SSLContext | bool] = self._contexts
        context: SSLContext | bool = True
        if location.tls is not None:
            contexts, context = {}, _context(_merged_tls(config.tls, location.tls))
        return HttpCloud(
            session,
            http,
            bounds,
            partial(self._elsewhere, credential),
            lambda: self.may_write(),
            contexts,
            context,
            observer=self._observer,
        )

    def _foreign(self, credential: ForeignCredential, location: CloudLocation) -> HttpCloud:
        """Return a new Cloud for a credential of a user for another cloud.

        By default, it trusts the operator's certificate authorities.
        """
        config = self.config
        tls = location.tls or Tls(ca_file=config.tls.ca_file)
        session = KeystoneSession(
            credential, self._foreign_threads, region=location.region, tls=tls, guard=self._guard
        )
        bounds = (self._all_foreign, Bound(config.in_flight_per_project, self.queue))
        context = _context(tls)
        if context is True and config.tls != tls:
            context = create_default_context()
        return HttpCloud(
            session,
            self._foreign_session(),
            bounds,
            partial(self._elsewhere, credential),
            lambda: self.may_write(),
            context=context,
            foreign=True,
            observer=self._observer,
        )

    def _elsewhere(
        self,
        home_credential: Credential,
        region: str | None,
        credential: ForeignCredential | None,
        tls: Tls | None,
    ) -> HttpCloud:
        if credential is None and region == self.config.region:
            region = None
        return self.cloud(credential or home_credential, CloudLocation(region, tls))

    async def aclose(self) -> None:
        """Close all connections and threads."""
        self._clouds.clear()
        for http in (self._http, self._foreign_http):
            if http is not None:
                await http.close()
                await asyncio.sleep(0)  # transports close in the next tick
        self._identity_http.close()
        for threads in (self._threads, self._foreign_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    @property
    def in_flight(self) -> int:
        """The number of calls that are sent, or about to be sent, and have no response yet."""
        return self._all.in_flight + self._all_foreign.in_flight

    def _bound(self, credential: Credential) -> Bound:
        """Return the limit on concurrent calls for the project of a credential.

        A credential without a project, such as a trust, has its own limit.
        """
        project = getattr(credential, "project_id", None) or credential
        if project not in self._per_project:
            self._per_project[project] = Bound(self.config.in_flight_per_project, self.queue)
        return self._per_project[project]

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            config = self.config
            self._contexts = {
                name: reach.tls.context()
                for name, reach in config.services.items()
                if reach.tls is not None
            }
            self._http = self._opened(aiohttp.TCPConnector(limit=0, ssl=config.tls.context()))
        return self._http

    def _foreign_session(self) -> aiohttp.ClientSession:
        """Return the HTTP session for users' clouds, which connects only to allowed addresses."""
        if self._foreign_http is None:
            self._foreign_http = self._opened(guarded_connector(self._guard, limit=0))
        return self._foreign_http

    def _opened(self, connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
        config = self.config
        session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(
                total=config.call_timeout_s, sock_connect=config.connect_timeout_s
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # hearth.cloud.answers decompresses, within limits
        )
        # by default, aiohttp repeats a PUT or DELETE if a reused connection breaks
        session._retry_connection = False
        return session


def _merged_tls(operator: Tls, requested: Tls) -> Tls:
    """Return the operator's TLS settings combined with the authority that a user names."""
    return replace(
        operator, insecure=operator.insecure or requested.insecure, ca_text=requested.ca_text
    )


def _context(tls: Tls) -> SSLContext | bool:
    """Return the setting `ssl` of aiohttp. Raises CloudFault if a certificate cannot be read."""
    try:
        return tls.context()
    except (OSError, ValueError) as error:
        message = f"The certificate of the certificate authority cannot be read: {error}"
        raise CloudFault("identity", 400, "WrongCertificate", message) from None
