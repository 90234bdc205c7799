"""Signing requests of nodes and users: which requests are accepted, and which extensions the
certificates get.

A request comes from software in a server, so nothing in it is trusted: not its size, its encoding,
its key or its names. An issued certificate always has the extensions key usage and basic
constraints, because a certificate without key usage may be used for anything. Source:
tests/facts/magnum/certificates.json.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID
from msgspec import Struct

from hearth.clusters import config
from hearth.clusters.problems import bad_request

REQUEST_CHARACTERS_MAX = 32 * 1024
RSA_BITS_MIN = 2048
RSA_BITS_MAX = 8192  # checking a signature of a larger key takes long
COMMON_NAME_MAX = 64  # characters, by X.520
CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

EXTENSIONS = {
    ExtensionOID.KEY_USAGE: "keyUsage",
    ExtensionOID.EXTENDED_KEY_USAGE: "extendedKeyUsage",
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME: "subjectAltName",
    ExtensionOID.BASIC_CONSTRAINTS: "basicConstraints",
    ExtensionOID.SUBJECT_KEY_IDENTIFIER: "subjectKeyIdentifier",
    ExtensionOID.AUTHORITY_KEY_IDENTIFIER: "authorityKeyIdentifier",
    ExtensionOID.NAME_CONSTRAINTS: "nameConstraints",
    ExtensionOID.CERTIFICATE_POLICIES: "certificatePolicies",
    ExtensionOID.ISSUER_ALTERNATIVE_NAME: "issuerAltName",
}
"""The names of extensions in the configuration. An extension without a name is configured by its
OID.
"""
USAGES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
    "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip
CA_USAGES = frozenset({"key_cert_sign", "crl_sign"})
OF_KEY_AGREEMENT = frozenset({"encipher_only", "decipher_only"})
OTHER_NAMES = {
    "non_repudiation": "content_commitment",
    "certificate_sign": "key_cert_sign",
    "c_r_l_sign": "crl_sign",
}
PURPOSES = frozenset({ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH})
UNREADABLE = (
    ValueError,
    TypeError,
    OverflowError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


class SigningRequest(Struct, frozen=True):
    """A certificate signing request whose signature was verified."""

    subject: x509.Name
    key: PublicKey
    extensions: Sequence[x509.Extension[Any]]

    def granted(self, options: config.X509) -> Iterator[x509.Extension[Any]]:
        """Yield the extensions that the certificate gets. Raises Rejected if it must not be issued.

        A critical extension that is not allowed makes the request invalid; other extensions that
        are not allowed are left out. Key identifiers are computed, never copied from the request.
        """
        by_oid = {extension.oid: extension for extension in self.extensions}
        permitted = {}
        for oid, extension in by_oid.items():
            if EXTENSIONS.get(oid, oid.dotted_string) in options.allowed_extensions:
                permitted[oid] = extension
            elif extension.critical:
                raise bad_request(f"The extension {_name(oid)} is not allowed. Leave it out.")
        yield _constraints(permitted.pop(ExtensionOID.BASIC_CONSTRAINTS, None), options)
        yield _key_usage(permitted.pop(ExtensionOID.KEY_USAGE, None), options)
        purposes = permitted.pop(ExtensionOID.EXTENDED_KEY_USAGE, None)
        if purposes is not None:
            yield _purposes(purposes)
        for computed in (
            ExtensionOID.SUBJECT_KEY_IDENTIFIER,
            ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
        ):
            permitted.pop(computed, None)
        yield from permitted.values()


def parse(text: str) -> SigningRequest:
    """Parse a signing request in PEM format and verify it. Raises Rejected if it is invalid."""
    if len(text) > REQUEST_CHARACTERS_MAX:
        raise bad_request(
            f"The signing request is too long. The maximum is {REQUEST_CHARACTERS_MAX} characters."
        )
    try:
        csr = x509.load_pem_x509_csr(text.encode())
        key = _accepted(csr.public_key())
        if not csr.is_signature_valid:
            raise bad_request("The signature of the signing request is invalid.")
        return SigningRequest(_readable(csr.subject), key, list(csr.extensions))
    except UNREADABLE as error:
        message = "The signing request cannot be read. Expected a PKCS#10 request in PEM format"
        raise bad_request(f"{message}: {str(error)[:200] or 'it is damaged'}") from None


def key_usage(*usages: str) -> x509.KeyUsage:
    """Return a key usage extension with exactly these usages."""
    return x509.KeyUsage(**{name: name in usages for name in USAGES})


def usages_of(extension: x509.KeyUsage) -> frozenset[str]:
    """Return the names of the usages in a key usage extension."""
    usages = {name for name in USAGES if name not in OF_KEY_AGREEMENT and getattr(extension, name)}
    if extension.key_agreement:  # without it the library does not allow to read these usages
        usages |= {name for name in OF_KEY_AGREEMENT if getattr(extension, name)}
    return frozenset(usages)


def allowed_usages(options: config.X509) -> frozenset[str]:
    """Return the names of the key usages that the configuration allows."""
    spellings = (
        "_".join(name.lower().replace("_", " ").split()) for name in options.allowed_key_usage
    )
    usages = frozenset(OTHER_NAMES.get(spelling, spelling) for spelling in spellings) & frozenset(
        USAGES
    )
    return usages if options.allow_ca else usages - CA_USAGES


def _accepted(key: object) -> PublicKey:
    """Return the public key. Raises Rejected if its type or its size is not allowed."""
    match key:
        case rsa.RSAPublicKey() if not RSA_BITS_MIN <= key.key_size <= RSA_BITS_MAX:
            message = f"An RSA key of {key.key_size} bits is not accepted."
            raise bad_request(f"{message} Use {RSA_BITS_MIN} to {RSA_BITS_MAX} bits.")
        case ec.EllipticCurvePublicKey() if not isinstance(key.curve, CURVES):
            message = f"The curve {key.curve.name} is not accepted."
            raise bad_request(f"{message} Use P-256, P-384 or P-521.")
        case rsa.RSAPublicKey() | ec.EllipticCurvePublicKey() | ed25519.Ed25519PublicKey():
            return key
    raise bad_request("The key type is not accepted. Use RSA, ECDSA or Ed25519.")


def _readable(subject: x509.Name) -> x509.Name:
    for part in subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        if not 1 <= len(part.value) <= COMMON_NAME_MAX:
            raise bad_request(
                f"The common name is empty or too long. Use 1 to {COMMON_NAME_MAX} characters."
            )
    return subject


def _constraints(
    requested: x509.Extension[Any] | None, options: config.X509
) -> x509.Extension[x509.BasicConstraints]:
    """Return the basic constraints, with CA:TRUE only if it is requested and the configuration
    allows it.

    Raises Rejected if CA:TRUE is requested as critical but not allowed.
    """
    value = x509.BasicConstraints(ca=False, path_length=None)
    if requested is not None and requested.value.ca:
        if options.allow_ca:
            value = requested.value
        elif requested.critical:
            raise bad_request("Certificates for authorities are not issued. Remove CA:TRUE.")
    return x509.Extension(ExtensionOID.BASIC_CONSTRAINTS, critical=True, value=value)


def _key_usage(
    requested: x509.Extension[Any] | None, options: config.X509
) -> x509.Extension[x509.KeyUsage]:
    """Return the requested key usages that are allowed; if there are none, all allowed ones.

    Raises Rejected if a usage is requested as critical but not allowed.
    """
    permitted = allowed_usages(options)
    usages = permitted if requested is None else usages_of(requested.value)
    if not options.allow_ca:
        usages -= CA_USAGES
    outside = usages - permitted
    if outside and requested is not None and requested.critical:
        names = ", ".join(sorted(outside))
        raise bad_request(f"The key usage {names} is not allowed. Leave it out.")
    granted = (usages & permitted) or permitted
    if "key_agreement" not in granted:
        granted -= OF_KEY_AGREEMENT  # they have no meaning without key_agreement
    value = key_usage(*granted)
    return x509.Extension(ExtensionOID.KEY_USAGE, critical=True, value=value)


def _purposes(requested: x509.Extension[Any]) -> x509.Extension[x509.ExtendedKeyUsage]:
    """Return the requested extended key usage, restricted to TLS server and client
    authentication.

    Raises Rejected if nothing is left of it, or if it is critical and contains something else.
    """
    purposes = [purpose for purpose in requested.value if purpose in PURPOSES]
    if not purposes or (requested.critical and len(purposes) < len(list(requested.value))):
        raise bad_request("The extended key usage is not allowed. Use clientAuth or serverAuth.")
    return x509.Extension(
        requested.oid, critical=requested.critical, value=x509.ExtendedKeyUsage(purposes)
    )


def _name(oid: x509.ObjectIdentifier) -> str:
    return EXTENSIONS.get(oid, oid.dotted_string)
