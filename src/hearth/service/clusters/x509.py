"""Certificates of clusters: authorities, client certificates, and responses to signing requests.

The functions are synchronous and slow: creating an RSA key takes a tenth of a second or more. They
run in the threads of `turns`, so that they do not block the event loop. Times are seconds since
1970. Source: tests/facts/magnum/certificates.json.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from hearth.clusters import config
from hearth.clusters.problems import bad_request, conflict
from hearth.service.clusters import signing_request
from hearth.service.clusters.signing_request import PublicKey, SigningRequest, key_usage

BEFORE_S = 24 * 3600  # certificates are valid since yesterday, because clocks of nodes may be slow
DAY_S = 24 * 3600
SERIAL_BITS = 128
COMMON_NAME_MAX = 64  # characters, by X.520
CLIENT_USAGE = ("digital_signature", "key_encipherment")


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both in PEM format.

    Keys that Hearth creates have no passphrase, because they are stored encrypted. Keys from
    another service may have one.
    """

    certificate: str
    private_key: str = field(repr=False)
    passphrase: str = field(default="", repr=False)


class SignedCertificate(Struct, frozen=True):
    """A certificate that was issued for a signing request."""

    pem: str
    serial: int
    subject: str
    not_after: float


def new_ca(name: str, options: config.X509, now: float) -> KeyPair:
    """Return a new certificate authority: its certificate and its key.

    The common name is `name`, shortened if necessary. `options` has the length of the key and the
    time for which the certificate is valid.
    """
    key = rsa.generate_private_key(public_exponent=65537, key_size=options.rsa_key_size)
    subject = common_name(name[:COMMON_NAME_MAX])
    public, until = key.public_key(), now + options.term_of_validity_days * DAY_S
    builder = (
        _builder(subject, subject, public, now - BEFORE_S, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage("key_cert_sign"), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def new_client(
    ca: KeyPair,
    name: str,
    organisation: str | None,
    options: config.X509,
    now: float,
    *,
    valid_s: float | None = None,
) -> KeyPair:
    """Return a new key with a client certificate that the authority signed. The key is an EC key,
    which takes a hundredth of the time of an RSA key.

    Kubernetes reads `name` as the user and `organisation` as a group of the user. The certificate
    is valid for `valid_s` seconds, by default for `term_of_validity_days`, but never longer
    than its authority. Raises Rejected if the name is too long, or if the authority has expired.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    authority, signer = _opened(ca)
    until = _until(authority, options, now, valid_s)
    subject = common_name(name, organisation)
    builder = (
        _builder(subject, authority.subject, key.public_key(), now - BEFORE_S, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(*CLIENT_USAGE), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    )
    builder = _identified(builder, key.public_key(), authority)
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def sign(
    csr_pem: str,
    ca: KeyPair,
    options: config.X509,
    now: float,
    *,
    subject: x509.Name | None = None,
    limited: Callable[[SigningRequest], SigningRequest] | None = None,
) -> SignedCertificate:
    """Return a certificate for a signing request. If `subject` is given, it replaces that of the
    request.

    `limited` returns the part of the request that is granted, or refuses it. Raises Rejected if the
    request is invalid or contains something that is not allowed, or if the authority has expired.
    """
    request = signing_request.parse(csr_pem)
    if limited is not None:
        request = limited(request)
    authority, signer = _opened(ca)
    until = _until(authority, options, now, None)
    try:
        builder = _issued(request, authority, options, subject, now, until)
        certificate = builder.sign(signer, hashes.SHA256())
        name = certificate.subject.rfc4514_string()
    except (ValueError, TypeError, OverflowError) as error:  # it cannot be encoded
        raise bad_request(f"The signing request cannot be used. {error}") from None
    pem = certificate.public_bytes(Encoding.PEM).decode()
    return SignedCertificate(pem, certificate.serial_number, name, until)


def common_name(name: str, organisation: str | None = None) -> x509.Name:
    """Return a certificate subject with this common name. Raises Rejected if it is empty or too
    long.
    """
    try:
        parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if organisation is not None:
            parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    except ValueError:
        message = f'A certificate cannot name "{name}". Use 1 to {COMMON_NAME_MAX} characters.'
        raise bad_request(message) from None
    return x509.Name(parts)


def ends_at(pem: str) -> float:
    """Return the time at which a certificate in PEM format expires, in seconds since 1970."""
    return x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc.timestamp()


def _issued(
    request: SigningRequest,
    authority: x509.Certificate,
    options: config.X509,
    subject: x509.Name | None,
    now: float,
    until: float,
) -> x509.CertificateBuilder:
    """Return the builder of the certificate for a signing request; it is not signed yet."""
    name = request.subject if subject is None else subject
    builder = _builder(name, authority.subject, request.key, now - BEFORE_S, until)
    for extension in request.granted(options):
        builder = builder.add_extension(extension.value, extension.critical)
    return _identified(builder, request.key, authority)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: PublicKey, since: float, until: float
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(secrets.randbits(SERIAL_BITS) or 1)
        .not_valid_before(_moment(since))
        .not_valid_after(_moment(until))
    )


def _identified(
    builder: x509.CertificateBuilder, key: PublicKey, authority: x509.Certificate
) -> x509.CertificateBuilder:
    """Add the subject key identifier and the authority key identifier to a certificate.

    While an authority is being replaced, the old and the new authority have the same name. Only the
    identifiers distinguish them.
    """
    subject_id = x509.SubjectKeyIdentifier.from_public_key(key)
    try:
        extension = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        authority_id = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
            extension.value
        )
    except x509.ExtensionNotFound:
        public = authority.public_key()
        assert isinstance(public, PublicKey)
        authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(public)
    return builder.add_extension(subject_id, critical=False).add_extension(
        authority_id, critical=False
    )


def _until(
    authority: x509.Certificate, options: config.X509, now: float, valid_s: float | None
) -> float:
    """Return the expiry time of a new certificate, which is never later than that of its authority.

    Raises Rejected if the authority has expired.
    """
    end = authority.not_valid_after_utc.timestamp()
    if end <= now:
        raise conflict(
            "The certificate authority of this cluster has expired. Rotate the certificates of "
            "the cluster."
        )
    return min(end, now + (options.term_of_validity_days * DAY_S if valid_s is None else valid_s))


def _opened(
    pair: KeyPair,
) -> tuple[x509.Certificate, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey]:
    """Return the certificate and the key of a pair.

    The numbers of a key that Hearth has made are not checked again, which takes most of the time.
    """
    key = load_pem_private_key(
        pair.private_key.encode(),
        pair.passphrase.encode() if pair.passphrase else None,
        unsafe_skip_rsa_key_validation=not pair.passphrase,
    )
    assert isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey)
    return x509.load_pem_x509_certificate(pair.certificate.encode()), key


def _pair(
    certificate: x509.Certificate, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
) -> KeyPair:
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyPair(certificate.public_bytes(Encoding.PEM).decode(), private.decode())


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)
