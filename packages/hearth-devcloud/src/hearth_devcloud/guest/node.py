"""Setup of a cluster node by the simulated agent (see `simulated`).

Like a real node, a master fetches its credential, logs in to Keystone, and requests a certificate
for its Kubernetes API from the cluster API. Then it joins the cluster; a worker joins at once. Each
HTTP call is a job, so the setup continues after a restart. With TLS, a node without a credential
does not join the cluster.
"""

from __future__ import annotations

import ipaddress
import json
from typing import Any
from urllib.parse import parse_qsl

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hearth_devcloud import jobs
from hearth_devcloud.guest import clusters
from hearth_devcloud.guest.report import NODE as STEP
from hearth_devcloud.guest.report import alive, report
from hearth_devcloud.http import Cloud
from hearth_devcloud.store import Body, Resource

TIMEOUT_S = 30.0
ATTEMPTS = 10  # maximum number of repetitions in one setup
RETRY_S = 0.5
PASSING = (0, 401, 409, 429)  # with these statuses, and from 500 on, a call is repeated
PEM_MAX = 256 * 1024  # characters of an answer
ADDRESSES = ("address", "public_address", "api_private_address", "api_public_address")


class _Failed(Exception):
    """A node cannot be set up; the message gives the user the reason."""


def begin(cloud: Cloud, server: Resource, work: Body) -> None:
    """Start the setup of the node on a server; at its end, the deployment is reported.

    `work` contains `settings`, `credential_url`, `version`, and the fields that `report` needs.
    """
    settings = work["settings"]
    if str(settings.get("tls_disabled")).lower() == "true":
        _join(cloud, server, work, {})
    elif not work["credential_url"]:
        report(cloud, server, work)
    elif settings["task"] == "worker":
        _join(cloud, server, work, {})
    else:
        _ask(cloud, server, work, "credential")


def step(cloud: Cloud, job: Resource) -> None:
    """Continue the setup of a node after the response to its last call, which is in `job`."""
    server = alive(cloud, job)
    if server is None:
        return
    work, status = job.hidden["work"], job.hidden["answer"]["status"]
    body = job.hidden["answer"]["body"]
    try:
        if status in PASSING or status >= 500:
            _again(cloud, server, job)
        elif status >= 300 or not isinstance(body, dict):
            raise _Failed(f"{job.body['method']} {job.body['url']}: {status} {str(body)[:500]}")
        else:
            _STEPS[job.hidden["step"]](cloud, server, work, body)
    except _Failed as problem:
        report(cloud, server, work, failure=str(problem))


def _again(cloud: Cloud, server: Resource, job: Resource) -> None:
    """Repeat the call of a job; after a 401, first log in again. Raises _Failed after ATTEMPTS."""
    tried = job.hidden["work"]["tried"] = int(job.hidden["work"].get("tried", 0)) + 1
    answer = job.hidden["answer"]
    if tried >= ATTEMPTS:
        message = answer.get("error") or answer["status"]
        raise _Failed(f"{job.body['method']} {job.body['url']}: {message}")
    name = "credential" if answer["status"] == 401 else job.hidden["step"]
    _ask(cloud, server, job.hidden["work"], name, after_s=RETRY_S * tried)


def _ask(cloud: Cloud, server: Resource, work: Body, name: str, *, after_s: float = 0.0) -> None:
    """Schedule the HTTP call of the step `name`: credential, authority or certificate."""
    settings = work["settings"]
    base, uuid = str(settings.get("magnum_url")).rstrip("/"), settings["cluster_uuid"]
    address, _, query = work["credential_url"].partition("?")
    method, url, data = "GET", address, ""
    proof = dict(parse_qsl(query)).get("secret", "")  # in a header, because URLs are logged
    headers = {"Accept": "application/json", "X-Hearth-Node": proof}
    if name != "credential":
        headers["X-Auth-Token"] = work["token"]
        url = f"{base}/certificates/{uuid}?ca_cert_type=kubernetes"
    if name == "certificate":
        method, url = "POST", f"{base}/certificates"
        data = json.dumps({"cluster_uuid": uuid, "csr": work["csr"], "ca_cert_type": "kubernetes"})
        headers["Content-Type"] = "application/json"
    jobs.order(
        cloud,
        STEP,
        server.id,
        method=method,
        url=url,
        headers=headers,
        data=data,
        timeout_s=TIMEOUT_S,
        after_s=after_s,
        step=name,
        work=work,
    )


def _credential(cloud: Cloud, server: Resource, work: Body, present: Body) -> None:
    """Carry out the step after `credential`: log in to Keystone and schedule the next call."""
    auth: Body
    if present.get("application_credential_id"):
        credential = {
            "id": present["application_credential_id"],
            "secret": present.get("application_credential_secret"),
        }
        auth = {
            "identity": {
                "methods": ["application_credential"],
                "application_credential": credential,
            }
        }
    else:
        user = {"id": present.get("trustee_user_id"), "password": present.get("trustee_password")}
        auth = {"identity": {"methods": ["password"], "password": {"user": user}}}
        if present.get("trust_id"):
            auth["scope"] = {"OS-TRUST:trust": {"id": present["trust_id"]}}
    request = json.dumps({"auth": auth}).encode()
    reply = cloud.request("POST", "/identity/v3/auth/tokens", {}, request)
    if reply.status != 201:
        raise _Failed(f"Keystone refused the credential of the node with status {reply.status}")
    work["token"] = reply.headers["X-Subject-Token"]
    _ask(cloud, server, work, "certificate" if "csr" in work else "authority")


def _authority(cloud: Cloud, server: Resource, work: Body, answer: Body) -> None:
    """Carry out the step after `authority`: keep the CA certificate and request a certificate."""
    work["ca"] = _pem(answer)
    try:
        work["key"], work["csr"] = _request(work["settings"])
    except ValueError as problem:
        raise _Failed(f"cannot request a certificate for the Kubernetes API: {problem}") from None
    _ask(cloud, server, work, "certificate")


def _certificate(cloud: Cloud, server: Resource, work: Body, answer: Body) -> None:
    files = {"ca": work["ca"], "key": work["key"], "certificate": _pem(answer)}
    _join(cloud, server, work, files)


_STEPS = {"credential": _credential, "authority": _authority, "certificate": _certificate}


def _join(cloud: Cloud, server: Resource, work: Body, files: Body) -> None:
    try:
        clusters.join(cloud, server, work["settings"], work["version"], files)
    except clusters.Stranger as problem:
        report(cloud, server, work, failure=str(problem))
        return
    report(cloud, server, work)


def _pem(answer: Body) -> str:
    pem = answer.get("pem")
    if not isinstance(pem, str) or len(pem) > PEM_MAX:
        raise _Failed("the response of the cluster API contains no certificate")
    return pem


def _request(settings: Body) -> tuple[str, str]:
    """Return a new private key and a certificate signing request for a master's API, both in PEM.

    Raises ValueError for an invalid name in the settings.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    names = [settings["name"], "localhost", "127.0.0.1", "kubernetes"]
    names += [settings.get(name) for name in ADDRESSES]
    hosts = dict.fromkeys(str(name) for name in names if name)
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")]))
        .add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return plain.decode(), request.public_bytes(Encoding.PEM).decode()


def _name(text: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
