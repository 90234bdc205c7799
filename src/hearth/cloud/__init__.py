"""Access to an OpenStack: credentials, one asynchronous transport, errors with the services'
messages.

Invariants: no blocking call on the loop thread (keystoneauth1 works in threads of its own), calls
in flight are bounded per project and per engine, and a write call whose outcome is unknown is never
sent again from here. The package knows no resource type, no stack and no engine.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from hearth.cloud.pool import CloudConfig, CloudPool

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
    "CloudConfig": "hearth.cloud.pool",
    "CloudPool": "hearth.cloud.pool",
    "ListingCloud": "hearth.cloud.listing",
}
"""Names that are imported at first use, because they import an event loop, an HTTP client and
keystoneauth1: `hearth lint` saves 0.3 s.
"""


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(import_module(LATER[name]), name)
    raise AttributeError(name)
