"""An asynchronous client for OpenStack services: credentials, requests, limits and errors.

Invariants: the event loop is never blocked (keystoneauth1 runs in separate threads); the number of
concurrent calls is limited per project and per process; and the package repeats a write call whose
outcome is unknown only if the caller declares the call idempotent. The package does not depend on
resource types, stacks or engines.
"""

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

__all__ = [
    "AppCredential",
    "Body",
    "Cloud",
    "CloudConfig",
    "CloudFault",
    "Credential",
    "NamedCredential",
    "NoAnswer",
    "PasswordCredential",
    "Response",
    "TokenCredential",
    "TrustCredential",
]
