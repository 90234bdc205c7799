"""An asynchronous client for OpenStack services: credentials, requests, limits and errors.

Invariants: the event loop is never blocked (keystoneauth1 runs in separate threads); the number of
concurrent calls is limited per project and per process; and the package repeats a write call whose
outcome is unknown only if the caller declares the call idempotent. The package does not depend on
resource types, stacks or engines.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hearth.cloud.config import CloudConfig
from hearth.cloud.contract import Body, Cloud, Response
from hearth.cloud.credential import (
    AppCredential,
    Credential,
    NamedCredential,
    PasswordCredential,
    TokenCredential,
    TrustCredential,
)
from hearth.cloud.fault import CloudFault, NoAnswer

if TYPE_CHECKING:
    from hearth.cloud.listing import ListingCloud
    from hearth.cloud.pool import CloudPool

__all__ = [
    "AppCredential",
    "Body",
    "Cloud",
    "CloudConfig",
    "CloudFault",
    "CloudPool",
    "Credential",
    "ListingCloud",
    "NamedCredential",
    "NoAnswer",
    "PasswordCredential",
    "Response",
    "TokenCredential",
    "TrustCredential",
]


LATER = {
    "CloudPool": "hearth.cloud.pool",
    "ListingCloud": "hearth.cloud.listing",
}
"""The names that are imported on first use, with their modules.

Their imports of an HTTP client and keystoneauth1 take 0.3 s, which `hearth lint` saves.
"""


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(import_module(LATER[name]), name)
    raise AttributeError(name)
