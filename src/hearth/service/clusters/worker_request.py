"""The certificates that a worker of a cluster gets: those of its own kubelet and of kube-proxy.

A worker runs the software of users, and an attacker who breaks out of a pod has the worker's
credential. So a worker never gets a certificate with which it is an administrator, the control
plane, a client of etcd, or the address of the API. Everything else in its request is left out,
because a certificate with a name of another server would let it answer in place of that server.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID
from msgspec.structs import replace

from hearth.clusters.config import X509
from hearth.clusters.problems import forbidden
from hearth.service.clusters.signing_request import SigningRequest

NODE, NODES = "system:node:", "system:nodes"
PROXY, PROXIES = "system:kube-proxy", "system:node-proxier"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*-node-[0-9]+")
"""Matches the names of workers, as the stack of a cluster generates them; masters have others."""


def options_of_worker(options: X509) -> X509:
    """Return the settings for a certificate of a worker: short lived, and never an authority."""
    days = min(options.worker_certificate_days, options.term_of_validity_days)
    return replace(options, allow_ca=False, term_of_validity_days=days)


def limited(request: SigningRequest) -> SigningRequest:
    """Return the request with nothing but what a worker may have. Raises Rejected with status 403
    if its subject is not that of a worker.
    """
    name = _node_name(request.subject)
    if name is not None:
        return replace(request, extensions=list(_of_kubelet(name, request.extensions)))
    if request.subject in _subjects(PROXY, PROXIES):
        return replace(request, extensions=[_purposes(ExtendedKeyUsageOID.CLIENT_AUTH)])
    raise forbidden(
        "A worker only gets certificates of its kubelet and of kube-proxy. Use the subject "
        f"O={NODES}, CN={NODE}NAME or O={PROXIES}, CN={PROXY}.",
    )


def _node_name(subject: x509.Name) -> str | None:
    """Return the name of the worker whose kubelet has this subject; None for other subjects."""
    for part in subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        text = str(part.value)
        name = text.removeprefix(NODE)
        if NAME.fullmatch(name) and subject in _subjects(text, NODES):
            return name if text != name else None
    return None


def _subjects(name: str, organisation: str) -> tuple[x509.Name, x509.Name]:
    """Return the subject with exactly this common name and organisation, in both orders."""
    parts = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation),
        x509.NameAttribute(NameOID.COMMON_NAME, name),
    ]
    return x509.Name(parts), x509.Name(reversed(parts))


def _of_kubelet(
    name: str, extensions: Sequence[x509.Extension[Any]]
) -> Iterator[x509.Extension[Any]]:
    """Yield the extensions of a kubelet's certificate, as a client and as a server.

    Of the alternative names only the node's own name is kept. Hearth cannot prove an address: it
    may be the one of the API.
    """
    yield _purposes(ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH)
    dns_name = x509.DNSName(name)
    if any(
        isinstance(extension.value, x509.SubjectAlternativeName) and dns_name in extension.value
        for extension in extensions
    ):
        names = x509.SubjectAlternativeName([dns_name])
        yield x509.Extension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, critical=False, value=names)


def _purposes(*purposes: x509.ObjectIdentifier) -> x509.Extension[Any]:
    value = x509.ExtendedKeyUsage(purposes)
    return x509.Extension(ExtensionOID.EXTENDED_KEY_USAGE, critical=False, value=value)
