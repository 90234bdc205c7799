"""Certificates that are issued: what they say, and that a chain verifies."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hearth.clusters.config import X509
from hearth.model.problem import Rejected
from hearth.service.clusters.signing_request import usages_of
from hearth.service.clusters.x509 import KeyPair, common_name, ends_at, new_ca, new_client, sign
from tests.conftest import lacking
from tests.service.clusters.requests import csr

NOW = 1_800_000_000.0
DAY = 24 * 3600
OPTIONS = X509()


@pytest.fixture(scope="module")
def ca() -> KeyPair:
    return new_ca("prod", OPTIONS, NOW)


def loaded(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def extension(certificate: x509.Certificate, kind: type):
    return certificate.extensions.get_extension_for_class(kind)


def test_an_authority_signs_certificates_and_nothing_else(ca):
    found = loaded(ca.certificate)
    assert found.subject == found.issuer == common_name("prod")
    constraints, usage = extension(found, x509.BasicConstraints), extension(found, x509.KeyUsage)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (
        True, True, 0,
    )  # fmt: skip
    assert (usage.critical, usages_of(usage.value)) == (True, {"key_cert_sign"})
    assert found.not_valid_before_utc.timestamp() == NOW - DAY
    assert ends_at(ca.certificate) == NOW + 1825 * DAY
    assert found.serial_number.bit_length() <= 128
    assert found.signature_hash_algorithm.name == "sha256"
    key = load_pem_private_key(ca.private_key.encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    assert key.key_size == 2048


def test_the_repr_of_a_key_pair_has_no_key(ca):
    assert "PRIVATE" not in repr(ca)


def test_a_long_name_of_a_cluster_is_cut():
    assert loaded(new_ca("n" * 242, OPTIONS, NOW).certificate).subject == common_name("n" * 64)


def test_a_client_certificate_belongs_to_its_authority(ca):
    pair = new_client(ca, "admin", "system:masters", OPTIONS, NOW, valid_s=3600)
    found, authority = loaded(pair.certificate), loaded(ca.certificate)
    found.verify_directly_issued_by(authority)
    assert found.subject == common_name("admin", "system:masters")
    assert extension(found, x509.BasicConstraints).value.ca is False
    usage = extension(found, x509.KeyUsage)
    assert (usage.critical, usages_of(usage.value)) == (
        True, {"digital_signature", "key_encipherment"},
    )  # fmt: skip
    assert list(extension(found, x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert ends_at(pair.certificate) == NOW + 3600


def test_serial_numbers_differ(ca):
    request = csr()
    serials = {sign(request, ca, OPTIONS, NOW).serial for _ in range(20)}
    assert len(serials) == 20


def test_no_certificate_outlives_its_authority(ca):
    later = NOW + 1800 * DAY
    assert sign(csr(), ca, OPTIONS, later).not_after == NOW + 1825 * DAY


def test_an_expired_authority_signs_nothing(ca):
    with pytest.raises(Rejected, match="expired") as refused:
        sign(csr(), ca, OPTIONS, NOW + 1826 * DAY)
    assert refused.value.problems[0].status == 409


def test_a_forced_subject_replaces_the_whole_subject(ca):
    signed = sign(csr(name="admin", organisation="system:masters"), ca, OPTIONS, NOW,
                  subject=common_name("anna"))  # fmt: skip
    assert signed.subject == "CN=anna"
    assert not loaded(signed.pem).subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)


def test_openssl_verifies_the_chain(ca, tmp_path: Path):
    if shutil.which("openssl") is None:
        lacking("openssl")
    (tmp_path / "ca.pem").write_text(ca.certificate)
    (tmp_path / "other.pem").write_text(new_ca("prod", OPTIONS, NOW).certificate)
    client = new_client(ca, "admin", "system:masters", OPTIONS, NOW)
    (tmp_path / "client.pem").write_text(client.certificate)
    (tmp_path / "node.pem").write_text(sign(csr(), ca, OPTIONS, NOW).pem)
    for purpose, name in (("sslclient", "client.pem"), ("sslserver", "node.pem")):
        command = ["openssl", "verify", "-x509_strict", "-attime", str(int(NOW)), "-purpose",
                   purpose, "-CAfile"]  # fmt: skip
        for authority, verified in (("ca.pem", True), ("other.pem", False)):
            args = [*command, str(tmp_path / authority), str(tmp_path / name)]
            done = subprocess.run(args, capture_output=True, text=True, check=False)
            assert (done.returncode == 0) is verified, done.stderr
