"""Signing requests, friendly and hostile: no certificate has more rights than the rules give."""

import base64
from itertools import chain

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID as Purpose
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.clusters.config import X509
from hearth.model.problem import Rejected
from hearth.service.clusters.signing_request import (
    OF_KEY_AGREEMENT,
    PURPOSES,
    REQUEST_CHARACTERS_MAX,
    USAGES,
    allowed_usages,
    key_usage,
    usages_of,
)
from hearth.service.clusters.x509 import new_ca, sign
from tests.selection import one_first
from tests.service.clusters.requests import csr, key
from tests.service.clusters.test_x509 import NOW, extension, loaded

pytestmark = [pytest.mark.slow, one_first]

OPTIONS = X509()
CA = new_ca("prod", OPTIONS, NOW)
ALLOWED = {"digital_signature", "key_encipherment", "content_commitment"}
AUTHORITY = x509.BasicConstraints(ca=True, path_length=None)
NAMES = x509.SubjectAlternativeName([x509.DNSName("kubernetes"), x509.DNSName("n-1")])
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")


def issued(*extensions, options=OPTIONS, **about):
    return loaded(sign(csr(extensions, **about), CA, options, NOW).pem)


def refusal(*extensions, options=OPTIONS, text=None, **about) -> str:
    with pytest.raises(Rejected) as refused:
        sign(csr(extensions, **about) if text is None else text, CA, options, NOW)
    (problem,) = refused.value.problems
    assert problem.status == 400
    return problem.text


def test_the_defaults_are_the_three_usages():
    assert allowed_usages(OPTIONS) == ALLOWED
    assert allowed_usages(X509(allowed_key_usage=("Content Commitment",))) == {"content_commitment"}


def test_a_plain_request_gets_its_subject_and_the_allowed_usages():
    found = issued()
    assert found.subject.rfc4514_string() == "O=system:nodes,CN=system:node:n-1"
    assert usages_of(extension(found, x509.KeyUsage).value) == ALLOWED
    assert extension(found, x509.BasicConstraints).value.ca is False


def test_allowed_extensions_are_copied_with_their_importance():
    found = issued((NAMES, True), (x509.ExtendedKeyUsage([Purpose.SERVER_AUTH]), False))
    names = extension(found, x509.SubjectAlternativeName)
    assert (names.value, names.critical) == (NAMES, True)
    assert list(extension(found, x509.ExtendedKeyUsage).value) == [Purpose.SERVER_AUTH]


def test_an_unknown_extension_is_left_out_or_refused():
    kept = {one.oid for one in issued((UNKNOWN, False)).extensions}
    assert UNKNOWN.oid not in kept
    assert "1.2.3.4" in refusal((UNKNOWN, True))
    allowed = X509(allowed_extensions=("1.2.3.4",))
    assert UNKNOWN.oid in {one.oid for one in issued((UNKNOWN, True), options=allowed).extensions}


def test_a_usage_that_is_not_allowed_is_left_out_or_refused():
    usage = key_usage("digital_signature", "data_encipherment")
    assert usages_of(extension(issued((usage, False)), x509.KeyUsage).value) == {
        "digital_signature"
    }
    assert "data_encipherment" in refusal((usage, True))


def test_usages_of_an_authority_are_always_removed():
    usage = key_usage("digital_signature", "key_cert_sign", "crl_sign")
    everything = X509(allowed_key_usage=("Digital Signature", "Certificate Sign", "CRL Sign"))
    for critical in (True, False):
        found = issued((usage, critical), options=everything)
        assert usages_of(extension(found, x509.KeyUsage).value) == {"digital_signature"}
    found = issued((key_usage("key_cert_sign"), False))
    assert usages_of(extension(found, x509.KeyUsage).value) == ALLOWED


def test_an_authority_is_cleared_or_refused():
    assert extension(issued((AUTHORITY, False)), x509.BasicConstraints).value.ca is False
    assert "CA:TRUE" in refusal((AUTHORITY, True))
    allowed = X509(allow_ca=True, allowed_key_usage=("Certificate Sign",))
    found = issued((AUTHORITY, True), (key_usage("key_cert_sign"), True), options=allowed)
    assert extension(found, x509.BasicConstraints).value.ca is True
    assert usages_of(extension(found, x509.KeyUsage).value) == {"key_cert_sign"}


@pytest.mark.parametrize("purpose", [Purpose.CODE_SIGNING, Purpose.ANY_EXTENDED_KEY_USAGE])
def test_only_servers_and_clients_of_tls_get_certificates(purpose):
    both = x509.ExtendedKeyUsage([Purpose.CLIENT_AUTH, purpose])
    found = issued((both, False))
    assert list(extension(found, x509.ExtendedKeyUsage).value) == [Purpose.CLIENT_AUTH]
    assert "key usage" in refusal((both, True))
    assert "key usage" in refusal((x509.ExtendedKeyUsage([purpose]), False))


def test_the_identifier_of_the_key_is_computed():
    wrong = x509.SubjectKeyIdentifier(b"authority")
    found = extension(issued((wrong, False)), x509.SubjectKeyIdentifier).value
    assert found == x509.SubjectKeyIdentifier.from_public_key(key("rsa2048").public_key())


@pytest.mark.parametrize("kind", ["p256", "ed25519", "rsa4096"])
def test_usual_keys_are_accepted(kind):
    assert issued(kind=kind).public_key() == key(kind).public_key()


@pytest.mark.parametrize("kind", ["rsa1024", "p192", "k256"])
def test_weak_and_unusual_keys_are_refused(kind):
    assert "not accepted" in refusal(kind=kind)


def _changed(text: str) -> str:
    """Return a request whose signature is wrong."""
    request = x509.load_pem_x509_csr(text.encode())
    raw = bytearray(request.public_bytes(Encoding.DER))
    raw[-1] ^= 1
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{base64.b64encode(bytes(raw)).decode()}\n" \
        "-----END CERTIFICATE REQUEST-----\n"  # fmt: skip


HOSTILE = {
    "empty": "",
    "no PEM": "x",
    "a certificate": CA.certificate,
    "a private key": CA.private_key,
    "no base64": "-----BEGIN CERTIFICATE REQUEST-----\n!!!\n-----END CERTIFICATE REQUEST-----",
    "no DER": "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----",
    "deep DER": "-----BEGIN CERTIFICATE REQUEST-----\n"
    + "MIAwgDCA" * 2000
    + "\n-----END CERTIFICATE REQUEST-----",
    "surrogates": "\ud800" + csr(),
    "too long": csr() + "\n" * REQUEST_CHARACTERS_MAX,
    "a wrong signature": _changed(csr()),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_an_error_of_the_request(text):
    assert "PRIVATE" not in refusal(text=text)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_request_with_broken_bytes_is_refused_or_harmless(data):
    raw = bytearray(
        x509.load_pem_x509_csr(csr([(NAMES, False)]).encode()).public_bytes(Encoding.DER)
    )
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    body = base64.b64encode(bytes(raw)).decode()
    text = f"-----BEGIN CERTIFICATE REQUEST-----\n{body}\n-----END CERTIFICATE REQUEST-----\n"
    try:
        made = sign(text, CA, OPTIONS, NOW)
    except Rejected:
        return
    harmless(loaded(made.pem), OPTIONS)


@st.composite
def usages(draw) -> x509.KeyUsage:
    names = draw(st.sets(st.sampled_from(USAGES), min_size=1))
    if "key_agreement" not in names:
        names -= OF_KEY_AGREEMENT
    return key_usage(*names)


EXTENSIONS = {
    "usage": usages(),
    "constraints": st.sampled_from(
        [AUTHORITY, x509.BasicConstraints(ca=True, path_length=3),
         x509.BasicConstraints(ca=False, path_length=None)]
    ),
    "purposes": st.lists(
        st.sampled_from([Purpose.CLIENT_AUTH, Purpose.SERVER_AUTH, Purpose.CODE_SIGNING,
                         Purpose.OCSP_SIGNING, Purpose.ANY_EXTENDED_KEY_USAGE]),
        min_size=1, unique=True,
    ).map(x509.ExtendedKeyUsage),
    "names": st.just(NAMES),
    "unknown": st.just(UNKNOWN),
    "identifier": st.binary(min_size=1, max_size=20).map(x509.SubjectKeyIdentifier),
}  # fmt: skip


@st.composite
def wishes(draw):
    chosen = draw(st.sets(st.sampled_from(sorted(EXTENSIONS))))
    return [(draw(EXTENSIONS[name]), draw(st.booleans())) for name in sorted(chosen)]


@st.composite
def options_of_operators(draw) -> X509:
    """Return options that never allow authorities."""
    usage = draw(st.sets(st.sampled_from(USAGES), min_size=1))
    names = ("keyUsage", "extendedKeyUsage", "subjectAltName", "basicConstraints")
    return X509(
        allowed_key_usage=(*usage, "digital signature"),
        allowed_extensions=tuple(draw(st.sets(st.sampled_from(names)))),
    )


def harmless(certificate: x509.Certificate, options: X509) -> None:
    """Fail if a certificate is an authority or has more usage than the options allow."""
    assert extension(certificate, x509.BasicConstraints).value.ca is False
    usage = usages_of(extension(certificate, x509.KeyUsage).value)
    assert usage
    assert usage <= allowed_usages(options)
    assert not usage & {"key_cert_sign", "crl_sign"}
    purposes = [
        one.value for one in certificate.extensions if isinstance(one.value, x509.ExtendedKeyUsage)
    ]
    assert set(chain.from_iterable(purposes)) <= PURPOSES
    certificate.verify_directly_issued_by(loaded(CA.certificate))


@given(wishes(), options_of_operators())
@settings(max_examples=150, deadline=None)
def test_no_certificate_is_an_authority_or_has_more_usage_than_allowed(asked, options):
    try:
        found = issued(*asked, options=options)
    except Rejected:
        assert any(critical for _, critical in asked) or any(
            isinstance(value, x509.ExtendedKeyUsage) for value, _ in asked
        )
        return
    harmless(found, options)


def test_a_request_without_a_common_name_is_accepted():
    """A server certificate may name its server only in an extension."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    request = builder.add_extension(NAMES, critical=True).sign(key("rsa2048"), hashes.SHA256())
    found = loaded(sign(request.public_bytes(Encoding.PEM).decode(), CA, OPTIONS, NOW).pem)
    assert not found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)


@pytest.mark.filterwarnings("ignore:Attribute's length")
def test_a_too_long_common_name_is_refused():
    part = x509.NameAttribute(NameOID.COMMON_NAME, "n" * 65, _validate=False)
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([part]))
    request = builder.sign(key("rsa2048"), hashes.SHA256()).public_bytes(Encoding.PEM).decode()
    assert "common name" in refusal(text=request)
