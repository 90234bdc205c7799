"""Authentication with keystoneauth1, which runs in separate threads.

A `KeystoneSession` caches the token of a credential and the URLs of the services. It renews the
token shortly before it expires; while one call does this, other calls wait for it.
"""

import asyncio
import logging
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import MappingProxyType
from typing import Any, TypeVar

import keystoneauth1.exceptions as ka_errors
import requests
from keystoneauth1 import access
from keystoneauth1 import session as ka_session
from keystoneauth1.identity import v3
from keystoneauth1.identity.access import AccessInfoPlugin
from msgspec.structs import replace

from hearth.cloud.answers import BadAnswer, bounded_session, parsed, storable
from hearth.cloud.catalogues import Catalogues
from hearth.cloud.contract import Whoami
from hearth.cloud.credential import (
    AppCredential,
    Credential,
    ForeignCredential,
    NamedCredential,
    PasswordCredential,
    TokenCredential,
    TrustCredential,
)
from hearth.cloud.fault import (
    BRIEF_LIMIT,
    CONNECT_FAILURE,
    CloudFault,
    NoService,
    NoToken,
    fault_of,
)
from hearth.cloud.guard import Guard
from hearth.cloud.guarded import guarded_session
from hearth.cloud.reach import Reach, Tls

log = logging.getLogger(__name__)

T = TypeVar("T")

TOKEN_MARGIN_S = 60  # a token that expires sooner is renewed before use
FOREIGN = {
    "v3applicationcredential": v3.ApplicationCredential,
    "v3password": v3.Password,
    "v3token": v3.Token,
}
UNREADABLE = (
    ka_errors.InvalidResponse,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
)
REFUSING = (401, 404)  # a trust that Keystone does not find is a 404
DISCOVERED = {"compute": (2, 1), "block-storage": (3, 0)}  # versions to find by discovery


class KeystoneSession:
    """The token, service catalogue and identity of one credential.

    The public methods run on the event loop and call keystoneauth1 in `threads`.
    """

    def __init__(
        self,
        credential: Credential,
        threads: ThreadPoolExecutor,
        *,
        region: str | None = None,
        interface: str = "public",
        tls: Tls = Tls(),  # noqa: B008 - a value
        services: Mapping[str, Reach] = MappingProxyType({}),
        service_user: PasswordCredential | None = None,
        setting: str | None = None,
        guard: Guard | None = None,
        http: requests.Session | None = None,
        catalogues: Catalogues | None = None,
    ) -> None:
        """`http` is used instead of a session of its own, and `catalogues` shares catalogues with
        other credentials. `setting` is where the operator configures the credential; None if it
        belongs to a user.
        """
        self._setting = setting
        self.credential = credential
        self._http = http
        self._catalogues = catalogues or Catalogues()
        self._guard = guard  # the allowed addresses; None: all
        self._service_user = service_user
        self.region = region
        self._threads = threads
        self._interface = interface
        self._tls = tls
        self._services = services
        self._authority: Any = None  # a file that lives as long as the session
        self._session: Any = None
        self._access: Any = None
        self._endpoints: dict[str, str] = {}
        self._lock = asyncio.Lock()

    async def token(self, *, renew: str | None = None) -> str:
        """Return a valid token. `renew` is a token that a service has refused, if any.

        Raises NoToken if Keystone refuses the credential, or if the token of a request was
        refused, which cannot be renewed.
        """
        info = self._access
        if info is None or self._ends_soon(info) or info.auth_token == renew:
            async with self._lock:
                if self._access is info:
                    await self._in_thread(lambda: self._authenticate(again=renew is not None))
        return str(self._access.auth_token)

    async def whoami(self) -> Whoami:
        """Return the user, project and roles of the credential."""
        await self.token()
        info = self._access
        return Whoami(
            user_id=info.user_id,
            username=info.username,
            project_id=info.project_id,
            domain_id=info.domain_id,
            roles=tuple(info.role_names),
            auth_url=str(self._session.auth.auth_url),
            region=self.region,
        )

    async def endpoint(self, service: str) -> str:
        """Return the URL of a service in the catalogue. Raises NoService if there is none."""
        if service not in self._endpoints:
            await self.token()
            url = await self._in_thread(lambda: self._find_endpoint(service))
            if url is None:
                raise NoService(service)
            self._endpoints[service] = storable(str(url)).rstrip("/")
        return self._endpoints[service]

    def _ends_soon(self, info: Any) -> bool:
        return not isinstance(self.credential, TokenCredential) and info.will_expire_soon(
            TOKEN_MARGIN_S
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, work)
        except UNREADABLE as error:
            log.warning("a response of Keystone cannot be read: %r", error)
            message = "A response of Keystone has an unexpected format; the log has the details."
            raise NoToken("identity", 503, "BadAnswer", message) from error
        except ka_errors.ClientException as error:
            raise self._naming_user(self._fault(error)) from error

    def recovers(self, fault: CloudFault) -> bool:
        """Return whether a call that failed with `fault` before it was sent may succeed soon.

        That is so while Keystone is in trouble, or, if it has accepted the credential before, while
        it refuses the credential because it restarts without its keys or its database. A token that
        has ended stays refused. The first token from a cloud that a user names is not waited for.
        """
        if not isinstance(fault, NoToken):
            return False
        if self._access is None:
            return fault.passing and fault.type != "SSLError" and self._guard is None
        ends = isinstance(self.credential, TokenCredential)
        return fault.passing or (fault.status in REFUSING and not ends)

    def _naming_user(self, fault: NoToken) -> NoToken:
        """Return a fault that names the credential if Keystone refuses one of the operator.

        Its message reaches users, who would take the refusal for one of their own password.
        """
        if self._setting is None or fault.status != 401:
            return fault
        assert isinstance(self.credential, PasswordCredential)
        name = self.credential.username or self.credential.user_id
        starting = self._access is None and self.credential == self._service_user
        if not starting:  # a process that cannot start prints the message itself
            log.error("Keystone refuses the user %s of %s: %s", name, self._setting, fault.message)
        message = (
            f"Keystone refuses the user {name} of this service. Its operator has to correct the "
            f"password in {self._setting}."
        )
        return NoToken(fault.service, fault.status, fault.type, message, fault.retry_after)

    def _fault(self, error: ka_errors.ClientException) -> NoToken:
        """Return the fault for an exception of keystoneauth.

        The message is shortened for a cloud that a user named.
        """
        kind, message = type(error).__name__, storable(str(error))
        if self._guard is not None:
            unreached = isinstance(error, ka_errors.ConnectionError)
            message = "Keystone does not answer" if unreached else message[:BRIEF_LIMIT]
        match error:
            case ka_errors.SSLError():
                return NoToken("identity", 0, "SSLError", message)
            case ka_errors.ConnectFailure():
                return NoToken("identity", 0, CONNECT_FAILURE, message)
            case ka_errors.HttpError():
                return _refusal(error, brief=self._guard is not None)
            case ka_errors.AuthorizationFailure():
                return NoToken("identity", 401, kind, message)
            case ka_errors.RetriableConnectionFailure() | ka_errors.ConnectionError():
                return NoToken("identity", 0, "NoAnswer", message)
        return NoToken("identity", 400, kind, message)

    # the methods below run in a thread

    def _authenticate(self, *, again: bool) -> None:
        if self._session is None:
            self._session = self._open()
        plugin = self._session.auth
        if again:
            if isinstance(self.credential, TokenCredential):
                raise NoToken("identity", 401, "Unauthorized", "The token is no longer valid.")
            plugin.invalidate()
        access = plugin.get_access(self._session)
        self._catalogues.share(access)
        _read_whole(access)
        self._access = access

    def _open(self) -> Any:
        if isinstance(self.credential, NamedCredential):
            return self._open_named(self.credential)
        tls = self._services.get("identity", Reach()).tls or self._tls
        if tls.ca_text is not None:
            self._authority = tempfile.NamedTemporaryFile("w", suffix=".pem")  # noqa: SIM115
            self._authority.write(tls.ca_text)
            self._authority.flush()
            tls = replace(tls, ca_file=self._authority.name)
        inner = self._http
        if inner is None:
            inner = bounded_session() if self._guard is None else guarded_session(self._guard)
        session = ka_session.Session(session=inner, verify=tls.verify, cert=tls.cert, timeout=30)
        if inner is not self._http:
            weakref.finalize(session, inner.close)
        session.auth = self._plugin(session)
        return session

    def _open_named(self, credential: NamedCredential) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about libraries that Hearth does not use
            from openstack.config import loader  # 0.2 s, and servers never need it

            region = loader.OpenStackConfig(config_files=list(credential.files) or None).get_one(
                cloud=credential.name, region_name=self.region
            )
            self.region = region.get_region_name() or self.region
            self._interface = region.get_interface() or self._interface
            return region.get_session()

    def _plugin(self, session: Any) -> Any:
        credential = self.credential
        match credential:
            case TokenCredential(auth_url=url, token=token, project_id=project):
                return self._token_plugin(_v3(url), token, project, session)
            case TrustCredential(service_user=user, trust_id=trust_id):
                return v3.Password(**_user(user), trust_id=trust_id)
            case AppCredential(auth_url=url, id=ident, secret=secret):
                return v3.ApplicationCredential(
                    _v3(url), application_credential_id=ident, application_credential_secret=secret
                )
            case PasswordCredential():
                return _password(credential)
            case ForeignCredential(kind=kind, auth_url=url, options=options):
                return FOREIGN[kind](_v3(url), **dict(options))
            case NamedCredential():
                raise AssertionError(
                    "expected a session from openstack.config for an entry of clouds.yaml"
                )

    def _token_plugin(self, auth_url: str, token: str, project_id: str | None, session: Any) -> Any:
        """Return the keystoneauth plugin for a token.

        If the token has another scope than `project_id`, the plugin gets a new token for this
        project; otherwise it uses the token and its catalogue as they are.
        """
        try:
            answer = _looked_at(session, auth_url, token, by=token)
        except ka_errors.Forbidden:  # such as the token of a trust, which may not validate itself
            if self._service_user is None:
                raise
            service = _password(self._service_user)
            answer = _looked_at(session, auth_url, token, by=service.get_token(session))
        info = access.create(resp=answer, auth_token=token)
        if project_id is None or info.project_id == project_id:
            return AccessInfoPlugin(info, auth_url=auth_url)
        return v3.Token(auth_url, token, project_id=project_id)

    def _find_endpoint(self, service: str) -> str | None:
        version = DISCOVERED.get(service)
        reach = self._services.get(service, Reach())
        filters: dict[str, Any] = {
            "service_type": service,
            "interface": reach.interface or self._interface,
            "region_name": reach.region or self.region,
        }
        auth = self._session.auth
        if version is not None:
            with suppress(ka_errors.EndpointNotFound):
                url = auth.get_endpoint(self._session, version=version, **filters)
                if url:
                    return str(url)
        try:
            url = auth.get_endpoint(self._session, skip_discovery=True, **filters)
        except ka_errors.EndpointNotFound:
            return None
        return str(url) if url else None


def _refusal(error: ka_errors.HttpError, *, brief: bool) -> NoToken:
    """Return the fault for an error response; see `fault_of`."""
    answer = error.response
    headers = {name.lower(): storable(value) for name, value in answer.headers.items()}
    try:
        body = parsed(answer.content, headers.get("content-type", ""))
    except BadAnswer:
        body = None
    fault = fault_of("identity", error.http_status, headers, body, brief=brief)
    return NoToken("identity", fault.status, fault.type, fault.message, fault.retry_after)


def _read_whole(info: Any) -> None:
    """Read all fields of a token that are needed later, so that errors are raised here."""
    info.will_expire_soon(TOKEN_MARGIN_S)
    for name in ("auth_token", "user_id", "username", "project_id", "domain_id"):
        if storable(getattr(info, name)) != getattr(info, name):
            raise ValueError(f"the {name} contains characters that cannot be stored")
    tuple(info.role_names)
    if info.has_service_catalog():
        info.service_catalog.get_endpoints_data()


def _looked_at(session: Any, auth_url: str, token: str, *, by: str) -> Any:
    """Validate `token` at Keystone, authenticated by the token `by`; return the HTTP response."""
    headers = {"X-Auth-Token": by, "X-Subject-Token": token, "Accept": "application/json"}
    return session.get(f"{auth_url}/auth/tokens", headers=headers, authenticated=False)


def _password(user: PasswordCredential) -> Any:
    scope = {
        name: getattr(user, name)
        for name in (
            "project_id",
            "project_name",
            "project_domain_id",
            "project_domain_name",
            "domain_id",
            "domain_name",
        )
    }
    return v3.Password(**_user(user), **scope)


def _user(user: PasswordCredential) -> dict[str, Any]:
    return {
        "auth_url": _v3(user.auth_url),
        "user_id": user.user_id,
        "username": None if user.user_id else user.username,
        "password": user.password,
        "user_domain_id": user.user_domain_id,
        "user_domain_name": user.user_domain_name,
    }


def _v3(auth_url: str) -> str:
    url = auth_url.rstrip("/")
    return url if url.endswith("/v3") else f"{url}/v3"
