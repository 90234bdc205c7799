"""What the rest of Hearth sees of a cloud: requests under one credential."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hearth.cloud.credential import ForeignCredential
    from hearth.cloud.reach import Tls

Body = dict[str, Any]


@dataclass(frozen=True)
class Response:
    """An answer of a service in the 200s. Header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None  # parsed JSON, text where it is not JSON, None where it is empty
    raw: bytes = field(default=b"", repr=False)  # as it came

    def part(self, key: str) -> Body:
        """The mapping under the root key `key`; empty when there is none."""
        part = self.body.get(key) if isinstance(self.body, dict) else None
        return part if isinstance(part, dict) else {}


@dataclass(frozen=True)
class Whoami:
    """Whom a credential stands for, as the identity service says."""

    user_id: str
    project_id: str | None
    domain_id: str | None
    roles: tuple[str, ...]
    auth_url: str
    region: str | None
    username: str | None = None


class Cloud(Protocol):
    """The services of one cloud as one credential reaches them."""

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
        """One call. Raises CloudFault for a refusal, NoAnswer where the outcome is unknown.

        `service` is a service type ("network"); `path` begins with a slash and, for services with
        unversioned catalogue entries (network, image, identity, load-balancer, dns, key-manager),
        with the version. `idempotent` says that a repetition does no harm (default: for GET, HEAD).
        A 401 renews the token once; with `renew_after_s` only one that was not good so lately, for
        calls whose 401 may be about what they send.
        """
        ...

    async def listing(
        self, service: str, path: str, *, microversion: str | None = None
    ) -> Sequence[Body]:
        """All members of a collection; one call answers everybody who asks at the same time."""
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
        """One member of a collection, by a list call where many ask at the same time.

        `detail` is the path to list with when that is not `path` (/servers/detail).
        """
        ...

    async def whoami(self) -> Whoami:
        """Whom the credential stands for."""
        ...

    async def endpoint(self, service: str) -> str:
        """The service's URL in the catalogue, without a closing slash; CloudFault if none."""
        ...

    async def token(self) -> str:
        """A valid token of this credential."""
        ...

    def elsewhere(
        self,
        *,
        region: str | None = None,
        credential: "ForeignCredential | None" = None,
        tls: "Tls | None" = None,
    ) -> "Cloud":
        """Another region of this cloud under this credential, or another cloud under its own.

        `tls` says which certificates are believed there; those of this cloud's identity service
        stay as configured. Raises CloudFault for an authority's certificate that is none.
        """
        ...
