"""The certificates that workers get: their own names, for some days, and nothing else."""

import ipaddress

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier
from msgspec.structs import replace

from hearth.clusters.config import X509
from hearth.model.problem import Rejected
from hearth.service.clusters.signing_request import key_usage, usages_of
from hearth.service.clusters.worker_request import limited, options_of_worker
from hearth.service.clusters.x509 import KeyPair, ends_at, new_ca, sign
from tests.service.clusters.requests import csr
from tests.service.clusters.test_x509 import DAY, NOW, OPTIONS, extension, loaded

NAME = "farm-abc-node-0"
KUBELET = {"name": f"system:node:{NAME}", "organisation": "system:nodes"}
PROXY = {"name": "system:kube-proxy", "organisation": "system:node-proxier"}
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
OTHERS = x509.SubjectAlternativeName(
    [
        x509.DNSName(NAME), x509.DNSName("kubernetes"), x509.DNSName("farm-abc-master-0"),
        x509.DNSName(f"{NAME}.evil"), x509.IPAddress(ipaddress.ip_address("10.0.0.5")),
        x509.UniformResourceIdentifier("spiffe://a"), x509.RFC822Name("a@b.c"),
    ]
)  # fmt: skip
WIDE = X509(
    allow_ca=True, allowed_key_usage=("Digital Signature", "Certificate Sign", "CRL Sign"),
    allowed_extensions=(*OPTIONS.allowed_extensions, "nameConstraints", "1.2.3.4"),
)  # fmt: skip


@pytest.fixture(scope="module")
def ca() -> KeyPair:
    return new_ca("prod", OPTIONS, NOW)


def issued(ca: KeyPair, text: str, options: X509 = OPTIONS) -> x509.Certificate:
    return loaded(sign(text, ca, options_of_worker(options), NOW, limited=limited).pem)


def test_a_kubelet_is_its_node_for_some_days(ca: KeyPair):
    found = issued(ca, csr([(OTHERS, True)], kind="p256", **KUBELET))
    assert found.subject.rfc4514_string() == f"O=system:nodes,CN=system:node:{NAME}"
    names = extension(found, x509.SubjectAlternativeName)
    assert (list(names.value), names.critical) == ([x509.DNSName(NAME)], False)
    assert set(extension(found, x509.ExtendedKeyUsage).value) == {CLIENT, SERVER}
    assert found.not_valid_after_utc.timestamp() == NOW + 14 * DAY


def test_a_kubelet_that_asks_for_no_name_of_its_own_gets_none(ca: KeyPair):
    others = x509.SubjectAlternativeName([x509.DNSName("kubernetes")])
    found = issued(ca, csr([(others, False)], kind="p256", **KUBELET))
    with pytest.raises(x509.ExtensionNotFound):
        extension(found, x509.SubjectAlternativeName)


def test_kube_proxy_is_a_client(ca: KeyPair):
    wanted = [(OTHERS, False), (x509.ExtendedKeyUsage([SERVER]), False)]
    found = issued(ca, csr(wanted, kind="p256", **PROXY))
    assert list(extension(found, x509.ExtendedKeyUsage).value) == [CLIENT]
    with pytest.raises(x509.ExtensionNotFound):
        extension(found, x509.SubjectAlternativeName)


@pytest.mark.parametrize("who", [KUBELET, PROXY], ids=["kubelet", "kube-proxy"])
def test_a_worker_is_no_authority_although_users_may_make_some(ca: KeyPair, who: dict[str, str]):
    wanted = [
        (x509.BasicConstraints(ca=True, path_length=None), True),
        (key_usage("key_cert_sign", "crl_sign"), True),
        (x509.UnrecognizedExtension(ObjectIdentifier("1.2.3.4"), b"x"), True),
        (x509.NameConstraints([x509.DNSName("a")], None), True),
    ]
    found = issued(ca, csr(wanted, kind="p256", **who), WIDE)
    assert not extension(found, x509.BasicConstraints).value.ca
    assert usages_of(extension(found, x509.KeyUsage).value) == {"digital_signature"}
    assert {one.oid.dotted_string for one in found.extensions}.isdisjoint({"1.2.3.4", "2.5.29.30"})


@pytest.mark.parametrize(
    ("name", "organisation"),
    [
        ("admin", "system:masters"), (f"system:node:{NAME}", "system:masters"),
        ("system:kube-proxy", "system:masters"), ("system:kube-proxy", "system:nodes"),
        (f"system:node:{NAME}", "system:node-proxier"), (NAME, "system:nodes"),
        ("system:node:farm-abc-master-0", "system:nodes"), ("system:node:", "system:nodes"),
        ("system:node:system:node:farm-node-0", "system:nodes"),
        (f"system:node:{NAME}\n", "system:nodes"), (f"system:node:{NAME} ", "system:nodes"),
        ("system:node:FARM-node-0", "system:nodes"), ("kubernetes", "system:nodes"),
        ("system:kube-controller-manager", "system:nodes"),
        ("system:node:farm-node-\u0661", "system:nodes"),
    ],
)  # fmt: skip
def test_any_other_subject_is_refused(ca: KeyPair, name: str, organisation: str):
    with pytest.raises(Rejected) as refused:
        issued(ca, csr(kind="p256", name=name, organisation=organisation))
    assert refused.value.problems[0].status == 403


@pytest.mark.parametrize("more", ["system:masters", "system:nodes"])
@pytest.mark.parametrize("oid", [NameOID.ORGANIZATION_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME])
def test_a_second_group_is_refused(ca: KeyPair, more: str, oid: ObjectIdentifier):
    part = x509.NameAttribute(oid, more)
    own = x509.NameAttribute(NameOID.COMMON_NAME, KUBELET["name"])
    group = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes")
    for subject in (
        x509.Name([own, group, part]), x509.Name([part, group, own]),
        x509.Name([x509.RelativeDistinguishedName([own]), x509.RelativeDistinguishedName(
            {x509.NameAttribute(NameOID.LOCALITY_NAME, "x"), group})]),
        x509.Name([own]), x509.Name([own, own, group]),
    ):  # fmt: skip
        with pytest.raises(Rejected) as refused:
            issued(ca, csr(kind="p256", subject=subject))
        assert refused.value.problems[0].status == 403


def test_a_term_shorter_than_that_of_workers_counts_for_workers_too(ca: KeyPair):
    options = options_of_worker(replace(OPTIONS, term_of_validity_days=3))
    pem = sign(csr(kind="p256", **PROXY), ca, options, NOW, limited=limited).pem
    assert ends_at(pem) == NOW + 3 * DAY
