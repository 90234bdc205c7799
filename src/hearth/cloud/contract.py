"""The interface for calls to the services of a cloud with one credential."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from hearth.model.discreet import Discreet

if TYPE_CHECKING:
    from hearth.cloud.bound import CallQueue
    from hearth.cloud.config import CloudConfig, CloudLocation
    from hearth.cloud.credential import Credential, ForeignCredential
    from hearth.cloud.reach import Tls

Body = dict[str, Any]


class Response(Discreet, frozen=True):
    """A response of a service, with status 2xx unless noted otherwise. Header names are in lower
    case.
    """

    hidden = frozenset({"raw"})

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None  # parsed JSON, or text if it is not JSON, or None if it is empty
    raw: bytes = b""  # the body as bytes

    def part(self, key: str) -> Body:
        """Return the map under the top-level key `key` of the body, or an empty map."""
        part = self.body.get(key) if isinstance(self.body, dict) else None
        return part if isinstance(part, dict) else {}


class Whoami(Struct, frozen=True):
    """The user, project and roles of a credential, as the identity service returns them."""

    user_id: str
    project_id: str | None
    domain_id: str | None
    roles: tuple[str, ...]
    auth_url: str
    region: str | None
    username: str | None = None


class Clouds(Protocol):
    """Returns the Cloud of each credential."""

    config: "CloudConfig"
    queue: "CallQueue"  # the calls that wait for a slot

    def cloud(self, credential: "Credential", location: "CloudLocation" = ...) -> "Cloud":
        """Return the Cloud for `credential`, for example in another region.

        Raises CloudFault for an invalid certificate in `location`.
        """
        ...


class Cloud(Protocol):
    """The services of one cloud under one credential."""

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
        """Make one call and return the response.

        `service` is a service type, such as "network". `path` begins with a slash. Services with
        unversioned catalogue entries (network, image, identity, load-balancer, dns, key-manager)
        need the version in the path. `params` is the query. The body is `json` in JSON form, or
        else `data` unchanged. Without a `microversion` the service uses its default.

        A call that certainly had no effect may be repeated. If `idempotent` is true, a call that
        failed in another temporary way may be repeated, too; the default is true for GET and HEAD.

        After a 401 the token is renewed and the call repeated, at once the first time and then
        after pauses. That is not done if the token was first used, or a call with it succeeded, in
        the last `renew_after_s` seconds, for services that also return 401 because of the data of a
        request.

        Raises CloudFault if the service refuses the call, NoAnswer if the outcome is unknown.
        """
        ...

    async def listing(
        self, service: str, path: str, *, microversion: str | None = None
    ) -> Sequence[Body]:
        """Return all members of the collection at `path`; concurrent requests share one call.

        Raises CloudFault.
        """
        ...

    async def member(
        self,
        service: str,
        path: str,
        ident: str,
        *,
        detail: str | None = None,
        microversion: str | None = None,
    ) -> Body:
        """Return the member `ident` of the collection at `path`.

        If there are several concurrent requests, one list call answers them. `detail` is the path
        of this list call if it differs from `path`, such as /servers/detail. Raises CloudFault if
        there is no such member.
        """
        ...

    async def whoami(self) -> Whoami:
        """Return the user, project and roles of the credential. Raises CloudFault."""
        ...

    async def endpoint(self, service: str) -> str:
        """Return the URL of a service in the catalogue, without a final slash.

        Raises CloudFault if the catalogue has no such service.
        """
        ...

    async def token(self) -> str:
        """Return a valid token of this credential. Raises CloudFault if Keystone refuses it."""
        ...

    def elsewhere(
        self,
        *,
        region: str | None = None,
        credential: "ForeignCredential | None" = None,
        tls: "Tls | None" = None,
    ) -> "Cloud":
        """Return a Cloud for another region with this credential, or for another cloud.

        For another cloud, `credential` is the credential there. `tls` contains the trusted
        certificates of that cloud or region; calls to the identity service of this cloud do not use
        them. Raises CloudFault if a certificate in `tls` is invalid.
        """
        ...
