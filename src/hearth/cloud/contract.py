"""The interface of a cloud: requests with one credential."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hearth.cloud.credential import ForeignCredential
    from hearth.cloud.reach import Tls

Body = dict[str, Any]


@dataclass(frozen=True)
class Response:
    """An answer of a service with a status of 2xx. Header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None  # parsed JSON, text where it is not JSON, None where it is empty
    raw: bytes = field(default=b"", repr=False)  # unchanged

    def part(self, key: str) -> Body:
        """Return the mapping under the root key `key`; empty if there is none."""
        part = self.body.get(key) if isinstance(self.body, dict) else None
        return part if isinstance(part, dict) else {}


@dataclass(frozen=True)
class Whoami:
    """The user, project and roles of a credential, as the identity service returns them."""

    user_id: str
    project_id: str | None
    domain_id: str | None
    roles: tuple[str, ...]
    auth_url: str
    region: str | None
    username: str | None = None


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
        """Make one call. Raises CloudFault if the service refuses it, NoAnswer if the outcome is
        unknown.

        `service` is a service type ("network"); `path` begins with a slash and, for services with
        unversioned catalogue entries (network, image, identity, load-balancer, dns, key-manager),
        with the version. `idempotent`: the call may be repeated (default: for GET and HEAD). A 401
        renews the token once. With `renew_after_s`, a 401 renews the token only if no call with
        this token has succeeded in the last `renew_after_s` seconds. Use it for calls that can also
        get a 401 because of the data that they send.
        """
        ...

    async def listing(
        self, service: str, path: str, *, microversion: str | None = None
    ) -> Sequence[Body]:
        """Return all members of a collection; concurrent requests share one call."""
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
        """Return one member of a collection; many concurrent requests share a list call.

        `detail` is the path of the list call if it is not `path` (/servers/detail).
        """
        ...

    async def whoami(self) -> Whoami:
        """Return the user, project and roles of the credential."""
        ...

    async def endpoint(self, service: str) -> str:
        """Return the service's URL in the catalogue, without a final slash. Raises CloudFault."""
        ...

    async def token(self) -> str:
        """Return a valid token of this credential."""
        ...

    def elsewhere(
        self,
        *,
        region: str | None = None,
        credential: "ForeignCredential | None" = None,
        tls: "Tls | None" = None,
    ) -> "Cloud":
        """Return another region with this credential, or another cloud with its own credential.

        `tls` are the trusted certificates of that cloud or region; the certificates for the
        identity service of this cloud do not change. Raises CloudFault for an invalid certificate
        of an authority.
        """
        ...
