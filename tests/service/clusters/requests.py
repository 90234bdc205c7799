"""Signing requests for tests. Keys are made once: they take long."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID


@cache
def key(kind: str) -> Any:
    """Return a private key."""
    match kind:
        case "ed25519":
            return ed25519.Ed25519PrivateKey.generate()
        case "p256":
            return ec.generate_private_key(ec.SECP256R1())
        case "p192":
            return ec.generate_private_key(ec.SECP192R1())
        case "k256":
            return ec.generate_private_key(ec.SECP256K1())
    return rsa.generate_private_key(65537, int(kind.removeprefix("rsa")))


def csr(
    extensions: Sequence[tuple[x509.ExtensionType, bool]] = (),
    *,
    kind: str = "rsa2048",
    name: str = "system:node:n-1",
    organisation: str = "system:nodes",
    subject: x509.Name | None = None,
) -> str:
    """Return a signing request with extensions: (value, critical)."""
    parts = [
        x509.NameAttribute(NameOID.COMMON_NAME, name),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation),
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject or x509.Name(parts))
    for value, critical in extensions:
        builder = builder.add_extension(value, critical)
    private = key(kind)
    digest = None if kind == "ed25519" else hashes.SHA256()
    return builder.sign(private, digest).public_bytes(Encoding.PEM).decode()
