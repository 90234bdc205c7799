#!/usr/bin/env python3
"""Set up one node of a Kubernetes cluster: certificates, etcd, control plane, kubelet.

The script runs as a deployment. Its inputs are environment variables: `settings` (JSON),
`credential_url`, `kube_version`, `ca_rotation_id`. It needs the standard library of Python 3.7 and
openssl; the image carries etcd and either kubeadm with kubelet or the stand-in of the sandbox.
Nothing is downloaded but certificates, which the cluster API signs; private keys stay here. The
certificates of a worker are valid for some days only: a copy of this script, started with the
argument `renew`, runs as a service and renews them.
"""

from __future__ import annotations

import base64
import calendar
import json
import os
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict

PKI = Path("/etc/kubernetes/pki")
STATE = Path("/var/lib/hearth-node")
ADDONS = Path("/etc/kubernetes/addons")
STAND_IN = Path("/etc/hearth-kubernetes.py")
ETCD_DATA = Path("/var/lib/etcd")
CLIENT_PORT, PEER_PORT = 2379, 2380
MASTERS, NODES = "system:masters", "system:nodes"
TIMEOUT_S = 30.0
WAIT_S = 600.0
FIRST_MASTER_WAIT_S = 5.0  # for an etcd that exists already, when the first master is replaced
PAUSE_S = 1.0
RENEW_EVERY_S = 1800.0  # between two looks whether certificates are due
INPUTS = ("settings", "credential_url", "kube_version")
SERVICE_ACCOUNT_KEY = "/hearth/service-account-key"

Settings = Dict[str, Any]


class SetupFailed(Exception):
    """The node cannot be set up; the message is for the user."""


class HttpError(OSError):
    """A service answered a request with an error status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text}")
        self.status = status


def say(text: str) -> None:
    """Write a line to the output of the deployment."""
    print(text, flush=True)


def until(subject: str, look: Callable[[], Any], limit_s: float = WAIT_S) -> Any:
    """Call `look` repeatedly until its result is true, and return the result.

    OSError and ValueError count as "not yet". Raises SetupFailed after `limit_s` seconds; `subject`
    is the subject of its message.
    """
    deadline = time.monotonic() + limit_s
    problem: Any = ""
    while True:
        try:
            result = look()
            if result:
                return result
        except (OSError, ValueError) as error:
            problem = error
        if time.monotonic() > deadline:
            raise SetupFailed(
                f"{subject}: timed out after {limit_s:g} s; last error: {problem or 'none'}"
            )
        time.sleep(PAUSE_S)


def request(
    method: str, url: str, body: Any = None, headers: Any = None, context: Any = None
) -> Any:
    """Send a request and return (parsed body, response headers). Raises OSError."""
    data = None if body is None else json.dumps(body).encode()
    all_headers = {"Content-Type": "application/json", **(headers or {})}
    http_request = urllib.request.Request(url, data, all_headers, method=method)
    try:
        with urllib.request.urlopen(http_request, timeout=TIMEOUT_S, context=context) as answer:
            text = answer.read().decode()
            return (json.loads(text) if text[:1] in "{[" and text else text), answer.headers
    except urllib.error.HTTPError as problem:
        with problem:
            reason = problem.read().decode(errors="replace")[:500]
        raise HttpError(problem.code, reason) from None


class CloudAccess:
    """Access of the node to the cluster API, with the node's own credential.

    The secret in the query of the credential URL is sent in a header, because proxies log URLs. It
    proves that a node is a master; a worker only gets certificates of its kubelet and kube-proxy.
    """

    def __init__(self, settings: Settings, credential_url: str) -> None:
        self._settings = settings
        self._url, _, query = credential_url.partition("?")
        self._proof = {"X-Hearth-Node": dict(urllib.parse.parse_qsl(query)).get("secret", "")}
        self._context: Any = None
        self._token = ""
        if str(settings.get("verify_ca")).lower() == "false":
            self._context = ssl._create_unverified_context()  # noqa: S323 - the operator's choice
        elif settings.get("openstack_ca"):
            self._context = ssl.create_default_context(cadata=settings["openstack_ca"])

    def _log_in(self) -> str:
        if not self._url:
            raise SetupFailed("the node has no credential: the cluster was created without one")

        def fetch() -> Any:
            return request("GET", self._url, headers=self._proof, context=self._context)

        credential, _ = until("credential", fetch, 60)
        auth: Any
        if credential.get("application_credential_id"):
            application = {
                "id": credential["application_credential_id"],
                "secret": credential["application_credential_secret"],
            }
            auth = {
                "identity": {
                    "methods": ["application_credential"],
                    "application_credential": application,
                }
            }
        else:
            user = {"id": credential["trustee_user_id"], "password": credential["trustee_password"]}
            auth = {"identity": {"methods": ["password"], "password": {"user": user}}}
            if credential.get("trust_id"):
                auth["scope"] = {"OS-TRUST:trust": {"id": credential["trust_id"]}}
        base = str(credential.get("auth_url") or self._settings["auth_url"]).rstrip("/")
        url = base if base.endswith("/v3") else base + "/v3"
        _, headers = request("POST", url + "/auth/tokens", {"auth": auth}, context=self._context)
        return str(headers["X-Subject-Token"])

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the cluster API and return the parsed body; repeat it after temporary
        errors.
        """

        def send() -> Any:
            self._token = self._token or self._log_in()
            url = str(self._settings["magnum_url"]).rstrip("/") + path
            try:
                headers = {"X-Auth-Token": self._token, **self._proof}
                return request(method, url, body, headers, self._context)
            except HttpError as problem:
                if problem.status == 401:
                    self._token = ""
                if problem.status in (401, 409, 429) or problem.status >= 500:
                    raise
                raise SetupFailed(f"{method} {path}: {problem}") from None

        return until(f"{method} {path}", send, 120)[0]


# certificates


class Certificates:
    """Creates the node's certificates; each certificate and its key are files in one folder."""

    def __init__(self, cloud: CloudAccess, cluster: str, folder: Path = PKI) -> None:
        self._cloud, self._cluster, self._folder = cloud, cluster, folder

    def authority(self, name: str, kind: str) -> None:
        """Fetch the certificate of a CA and write it to NAME.crt."""
        path = f"/certificates/{self._cluster}?ca_cert_type={kind}"
        write(self._folder / f"{name}.crt", self._cloud.call("GET", path)["pem"])

    def issue(
        self,
        name: str,
        common_name: str,
        organisation: str = "",
        kind: str = "kubernetes",
        names: Any = (),
    ) -> None:
        """Create a key and a certificate that the cluster API signs: NAME.key and NAME.crt.

        Until the certificate is signed, an earlier key stays with its certificate.
        """
        key, request_file = self._folder / f"{name}.key.new", self._folder / f"{name}.csr"
        config = self._folder / f"{name}.cnf"
        key.parent.mkdir(parents=True, exist_ok=True)
        usage = "digitalSignature, keyEncipherment"
        lines = [
            "[req]",
            "prompt = no",
            "distinguished_name = name",
            "req_extensions = more",
            "[name]",
            *([f"O = {organisation}"] if organisation else []),
            f"CN = {common_name}",
            "[more]",
            f"keyUsage = critical, {usage}",
            "extendedKeyUsage = clientAuth, serverAuth",
        ]
        if names:
            lines.append("subjectAltName = " + ", ".join(alternative(host) for host in names))
        write(config, "\n".join(lines) + "\n")
        os.umask(0o077)
        command = [
            "openssl",
            "req",
            "-new",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-sha256",
            "-keyout",
            key,
            "-out",
            request_file,
            "-config",
            config,
        ]
        run(*map(str, command))
        body = {
            "cluster_uuid": self._cluster,
            "csr": request_file.read_text(),
            "ca_cert_type": kind,
        }
        signed = self._cloud.call("POST", "/certificates", body)["pem"]
        write(self._folder / f"{name}.crt", signed)
        key.replace(self._folder / f"{name}.key")
        config.unlink()
        request_file.unlink()

    def of_node(self, name: str, address: str) -> None:
        """Create the certificates that every node needs."""
        self.authority("ca", "kubernetes")
        names = [name, address]
        self.issue("kubelet", f"system:node:{name}", NODES, names=names)
        self.issue("proxy", "system:kube-proxy", "system:node-proxier")

    def of_control_plane(self, node: Settings) -> None:
        """Create the additional certificates that only a node of the control plane needs."""
        own_names = [node["name"], node["address"], "localhost", "127.0.0.1"]
        extra_names = [
            node.get(k) for k in ("public_address", "api_private_address", "api_public_address")
        ]
        service = first_address(node["portal_network_cidr"])
        names = [
            *own_names,
            *filter(None, extra_names),
            service,
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ]
        self.issue("apiserver", "kubernetes", names=list(dict.fromkeys(names)))
        self.issue("apiserver-kubelet-client", "kube-apiserver-kubelet-client", MASTERS)
        self.issue("admin", "admin", MASTERS)
        self.issue("controller-manager", "system:kube-controller-manager")
        self.issue("scheduler", "system:kube-scheduler")
        self.authority("front-proxy-ca", "front-proxy")
        self.issue("front-proxy-client", "front-proxy-client", kind="front-proxy")
        self.authority("etcd/ca", "etcd")
        members = list(dict.fromkeys([*own_names, *filter(None, [node.get("etcd_address")])]))
        self.issue("etcd/server", node["name"], kind="etcd", names=members)
        self.issue("etcd/peer", node["name"], kind="etcd", names=members)
        self.issue("apiserver-etcd-client", "kube-apiserver-etcd-client", kind="etcd")


def alternative(name: str) -> str:
    """Return a DNS name or IP address in the form of a subjectAltName of openssl."""
    numeric = re.fullmatch(r"[0-9.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*", name)
    return ("IP:" if numeric else "DNS:") + name


def first_address(cidr: str) -> str:
    """Return the first host address of a network; the Kubernetes API has it inside the cluster."""
    import ipaddress

    return str(ipaddress.ip_network(cidr, strict=False)[1])


# etcd


class Etcd:
    """The etcd member on this node. The members of a running etcd cluster share one address."""

    def __init__(self, node: Settings, *, plain: bool) -> None:
        self._node, self._plain = node, plain
        self._scheme = "http" if plain else "https"
        self.here = f"{self._scheme}://127.0.0.1:{CLIENT_PORT}"

    def context(self) -> Any:
        """Return a TLS context with the client certificate, or None without TLS."""
        if self._plain:
            return None
        context = ssl.create_default_context(cafile=str(PKI / "etcd/ca.crt"))
        context.load_cert_chain(
            str(PKI / "apiserver-etcd-client.crt"), str(PKI / "apiserver-etcd-client.key")
        )
        return context

    def call(self, url: str, path: str, body: Any) -> Any:
        """Send a request to the JSON gateway of etcd and return the parsed body. Raises OSError."""
        return request("POST", url + path, body, context=self.context())[0]

    def start(self) -> None:
        """Start the etcd member: join the running cluster if there is one, else begin a new one."""
        if self._healthy(self.here):
            return
        name, address = self._node["name"], self._node["address"]
        members, state = {name: f"{self._scheme}://{address}:{PEER_PORT}"}, "new"
        if not (ETCD_DATA / "member").exists():
            shared = self._existing()
            if shared is not None:
                members, state = self._join(shared, name, members[name]), "existing"
        self._run(members, state)
        until("etcd", lambda: self._healthy(self.here), 300)

    def _existing(self) -> Any:
        """Return the shared address if an etcd cluster answers there, else None.

        Only the first master may get None; the others wait for the cluster and raise SetupFailed.
        """
        address = self._node.get("etcd_address")
        if not address:
            return None
        url = f"{self._scheme}://{address}:{CLIENT_PORT}"
        first = self._node["name"].endswith("-0")
        try:
            until(
                "members of etcd",
                lambda: self._healthy(url),
                FIRST_MASTER_WAIT_S if first else WAIT_S,
            )
        except SetupFailed:
            if not first:
                raise
            return None
        return url

    def _join(self, url: str, name: str, peer: str) -> Any:
        """Add this node to the running etcd cluster at `url`; return all members as {name: peer
        URL}.
        """

        def add() -> Any:
            members = self.call(url, "/v3/cluster/member/list", {})["members"]
            for member in members:
                if member.get("name") == name or member.get("peerURLs") == [peer]:
                    self.call(url, "/v3/cluster/member/remove", {"ID": member["ID"]})
                    return None  # look again: the list has changed
            return self.call(url, "/v3/cluster/member/add", {"peerURLs": [peer]})["members"]

        joined = until("joining the etcd cluster", add)
        return {member.get("name") or name: member["peerURLs"][0] for member in joined}

    def _run(self, members: Any, state: str) -> None:
        name, address = self._node["name"], self._node["address"]
        scheme = self._scheme
        command = [
            program("etcd"),
            f"--name={name}",
            f"--data-dir={ETCD_DATA}",
            f"--listen-client-urls={scheme}://{address}:{CLIENT_PORT},{self.here}",
            f"--advertise-client-urls={scheme}://{address}:{CLIENT_PORT}",
            f"--listen-peer-urls={scheme}://{address}:{PEER_PORT}",
            f"--initial-advertise-peer-urls={scheme}://{address}:{PEER_PORT}",
            "--initial-cluster=" + ",".join(f"{n}={url}" for n, url in members.items()),
            f"--initial-cluster-state={state}",
        ]
        if not self._plain:
            folder = PKI / "etcd"
            command += [
                f"--cert-file={folder}/server.crt",
                f"--key-file={folder}/server.key",
                f"--trusted-ca-file={folder}/ca.crt",
                "--client-cert-auth",
                f"--peer-cert-file={folder}/peer.crt",
                f"--peer-key-file={folder}/peer.key",
                f"--peer-trusted-ca-file={folder}/ca.crt",
                "--peer-client-cert-auth",
            ]
        ETCD_DATA.mkdir(mode=0o700, parents=True, exist_ok=True)
        service("etcd", command)

    def _healthy(self, url: str) -> bool:
        try:
            self.call(url, "/v3/kv/range", {"key": b64("/hearth")})
        except (OSError, ValueError):
            return False
        return True

    def shared(self, name: str, make: Callable[[], str]) -> str:
        """Return the value of a key that all members of etcd share.

        The first member that asks creates the value with `make`.
        """
        compared = {"key": b64(name), "target": "CREATE", "create_revision": "0"}
        put = {"request_put": {"key": b64(name), "value": b64(make())}}
        self.call(self.here, "/v3/kv/txn", {"compare": [compared], "success": [put]})
        value = self.call(self.here, "/v3/kv/range", {"key": b64(name)})["kvs"][0]["value"]
        return base64.b64decode(value).decode()


def b64(text: str) -> str:
    """Return a text in base64, which the JSON gateway of etcd requires."""
    return base64.b64encode(text.encode()).decode()


# programs of Kubernetes


class StandIn:
    """A stand-in for Kubernetes, which sandbox servers have instead of the real programs."""

    def __init__(self, node: Settings, version: str, *, plain: bool) -> None:
        self._node, self._version = node, version or "v1.31.0"
        self._plain = ["--plain"] if plain else []

    def control_plane(self, etcd: Etcd) -> None:
        """Start the stand-in for the Kubernetes API."""
        service(
            "kube-apiserver",
            [
                sys.executable,
                str(STAND_IN),
                "api",
                f"--etcd={etcd.here}",
                f"--port={self._node['kubernetes_port']}",
                f"--version={self._version}",
                *self._plain,
            ],
        )

    def node(self, api: str, labels: Any, taints: Any) -> None:
        """Start the stand-in for the kubelet, which registers the node with the Kubernetes API."""
        service(
            "kubelet",
            [
                sys.executable,
                str(STAND_IN),
                "node",
                f"--api={api}",
                f"--name={self._node['name']}",
                f"--address={self._node['address']}",
                f"--machine={machine_id()}",
                f"--version={self._version}",
                *(f"--label={label}" for label in labels),
                *(f"--taint={taint}" for taint in taints),
                *self._plain,
            ],
        )

    def addons(self, node: Settings) -> None:
        """Do nothing, because the stand-in runs no pods."""


class Kubeadm:
    """Kubernetes as installed in an image with kubeadm and kubelet."""

    CONFIG = STATE / "kubeadm.yaml"

    def __init__(self, node: Settings, version: str, *, plain: bool) -> None:
        if plain:
            raise SetupFailed("tls_disabled is true, but this image uses kubeadm, which needs TLS")
        self._node, self._version = node, version

    def control_plane(self, etcd: Etcd) -> None:
        """Write the manifests of the control plane's static pods, and the files that they need."""
        key = etcd.shared(SERVICE_ACCOUNT_KEY, lambda: output("openssl", "genrsa", "2048"))
        write(PKI / "sa.key", key, 0o600)
        write(PKI / "sa.pub", output("openssl", "rsa", "-in", str(PKI / "sa.key"), "-pubout"))
        endpoint = self._node.get("api_private_address") or self._node["address"]
        api = f"https://{endpoint}:{self._node['kubernetes_port']}"
        for name in ("admin", "controller-manager", "scheduler"):
            kubeconfig(Path(f"/etc/kubernetes/{name}.conf"), api, name)
        write(self.CONFIG, json.dumps(self._config(endpoint)))
        run("kubeadm", "init", "phase", "control-plane", "all", f"--config={self.CONFIG}")

    def node(self, api: str, labels: Any, taints: Any) -> None:
        """Configure and start the kubelet."""
        self._runtime()
        kubeconfig(Path("/etc/kubernetes/kubelet.conf"), api, "kubelet")
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "x509": {"clientCAFile": str(PKI / "ca.crt")},
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "systemd",
            "clusterDomain": "cluster.local",
            "clusterDNS": [self._dns()],
            "staticPodPath": "/etc/kubernetes/manifests",
            "tlsCertFile": str(PKI / "kubelet.crt"),
            "tlsPrivateKeyFile": str(PKI / "kubelet.key"),
        }
        write(Path("/var/lib/kubelet/config.yaml"), json.dumps(config))
        flags = [
            f"--node-ip={self._node['address']}",
            f"--hostname-override={self._node['name']}",
            f"--node-labels={','.join(labels)}",
            self._node.get("kubelet_options") or "",
        ]
        if taints:
            flags.append(f"--register-with-taints={','.join(taints)}")
        line = " ".join(filter(None, flags))
        write(Path("/etc/default/kubelet"), f"KUBELET_EXTRA_ARGS={line}\n")
        write(Path("/var/lib/kubelet/kubeadm-flags.env"), "KUBELET_KUBEADM_ARGS=\n")
        run("systemctl", "enable", "kubelet")
        run("systemctl", "restart", "kubelet")

    def addons(self, node: Settings) -> None:
        """Install kube-proxy, CoreDNS, the add-ons of the image, and the operator's manifest."""
        access = ["--kubeconfig=/etc/kubernetes/admin.conf"]
        run("kubeadm", "init", "phase", "addon", "all", f"--config={self.CONFIG}", *access)
        for folder in (ADDONS, ADDONS / str(node.get("network_driver") or "none")):
            if folder.is_dir():
                run("kubectl", *access, "apply", "-f", str(folder))
        if node.get("post_install_manifest_url"):
            run("kubectl", *access, "apply", "-f", node["post_install_manifest_url"])

    def _runtime(self) -> None:
        """Configure containerd: the proxies, and the insecure registry if there is one."""
        names = {"http_proxy": "HTTP_PROXY", "https_proxy": "HTTPS_PROXY", "no_proxy": "NO_PROXY"}
        lines = [
            f'Environment="{big}={self._node[name]}"'
            for name, big in names.items()
            if self._node.get(name)
        ]
        registry = self._node.get("insecure_registry_url")
        if registry:
            text = f'[host."http://{registry}"]\n  skip_verify = true\n'
            write(Path(f"/etc/containerd/certs.d/{registry}/hosts.toml"), text)
        if lines:
            folder = Path("/etc/systemd/system/containerd.service.d")
            write(folder / "proxy.conf", "\n".join(["[Service]", *lines]))
            run("systemctl", "daemon-reload")
        if lines or registry:
            run("systemctl", "restart", "containerd")

    def _dns(self) -> str:
        import ipaddress

        return str(ipaddress.ip_network(self._node["portal_network_cidr"], strict=False)[10])

    def _config(self, endpoint: str) -> Any:
        node = self._node
        admission = node.get("admission_control_list")
        api = options(node.get("kubeapi_options"))
        if admission:
            api["enable-admission-plugins"] = admission
        etcd = {
            "endpoints": [f"https://127.0.0.1:{CLIENT_PORT}"],
            "caFile": str(PKI / "etcd/ca.crt"),
            "certFile": str(PKI / "apiserver-etcd-client.crt"),
            "keyFile": str(PKI / "apiserver-etcd-client.key"),
        }
        document: Any = {
            "apiVersion": "kubeadm.k8s.io/v1beta3",
            "kind": "ClusterConfiguration",
            "kubernetesVersion": self._version,
            "etcd": {"external": etcd},
            "controlPlaneEndpoint": f"{endpoint}:{node['kubernetes_port']}",
            "networking": {
                "serviceSubnet": node["portal_network_cidr"],
                "podSubnet": node["pods_network_cidr"],
            },
            "apiServer": {"extraArgs": api},
            "controllerManager": {"extraArgs": options(node.get("kubecontroller_options"))},
            "scheduler": {"extraArgs": options(node.get("kubescheduler_options"))},
        }
        prefix = str(node.get("container_infra_prefix") or "").rstrip("/")
        if prefix:
            document["imageRepository"] = prefix
        return document


def options(text: Any) -> Any:
    """Convert command-line options such as "--a=1 --b=2" to a map."""
    pairs = [option.lstrip("-").partition("=") for option in str(text or "").split()]
    return {name: value for name, _, value in pairs if name}


def kubeconfig(path: Path, api: str, name: str) -> None:
    """Write a kubeconfig file for the user whose certificate is NAME.crt."""
    cluster = {"server": api, "certificate-authority": str(PKI / "ca.crt")}
    user = {"client-certificate": str(PKI / f"{name}.crt"), "client-key": str(PKI / f"{name}.key")}
    write(
        path,
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "default",
                "clusters": [{"name": "default", "cluster": cluster}],
                "users": [{"name": name, "user": user}],
                "contexts": [{"name": "default", "context": {"cluster": "default", "user": name}}],
            }
        ),
        0o600,
    )


def runtime(node: Settings, version: str, *, plain: bool) -> Any:
    """Return the object that starts Kubernetes on this image.

    Raises SetupFailed if the image has neither kubeadm nor the stand-in.
    """
    if shutil.which("kubeadm"):
        return Kubeadm(node, version, plain=plain)
    if STAND_IN.exists():
        return StandIn(node, version, plain=plain)
    raise SetupFailed("the image has no kubeadm: build one with etcd, kubeadm and kubelet")


# this machine


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file atomically, by renaming a complete temporary file that only root can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + "." + secrets.token_hex(4))
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text if text.endswith("\n") else text + "\n")
    fresh.chmod(mode)
    fresh.replace(path)


def run(*command: str) -> None:
    """Run a program. Raises SetupFailed, with the end of its error output, if it fails."""
    output(*command)


def output(*command: str) -> str:
    """Run a program and return its output. Raises SetupFailed if it fails."""
    line = [program(command[0]), *command[1:]]
    done = subprocess.run(line, capture_output=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip()[-1000:]
        raise SetupFailed(f"{' '.join(command[:4])} failed with status {done.returncode}: {reason}")
    return done.stdout.decode()


def program(name: str) -> str:
    """Return the path of a program. Raises SetupFailed if the image does not contain it."""
    path = name if "/" in name else shutil.which(name)
    if not path:
        raise SetupFailed(f"the image has no {name}")
    return path


def service(name: str, command: Any) -> None:
    """Start or restart a program as a service, under systemd if systemd is running."""
    if Path("/run/systemd/system").is_dir():
        command_line = " ".join(f'"{word}"' for word in command)
        write(
            Path(f"/etc/systemd/system/hearth-{name}.service"),
            f"[Unit]\nAfter=network-online.target\n[Service]\nExecStart={command_line}\n"
            "Restart=always\nRestartSec=2\n[Install]\nWantedBy=multi-user.target\n",
        )
        run("systemctl", "daemon-reload")
        run("systemctl", "enable", f"hearth-{name}")
        run("systemctl", "restart", f"hearth-{name}")
        return
    pid = STATE / f"{name}.pid"
    STATE.mkdir(parents=True, exist_ok=True)
    if pid.exists():
        stop(int(pid.read_text()))
    with (STATE / f"{name}.log").open("ab") as log:
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    pid.write_text(str(started.pid))


def stop(pid: int) -> None:
    """End a process: send SIGTERM and, if it still runs after five seconds, SIGKILL."""
    for number in (15, 9):
        try:
            os.kill(pid, number)
        except OSError:
            return
        for _ in range(50):
            if not Path(f"/proc/{pid}").exists():
                return
            time.sleep(0.1)


def machine_id() -> str:
    """Return the machine id, or else the server's UUID without dashes."""
    path = Path("/etc/machine-id")
    if path.exists() and path.read_text().strip():
        return path.read_text().strip()
    metadata, _ = request("GET", "http://169.254.169.254/openstack/latest/meta_data.json")
    return str(metadata["uuid"]).replace("-", "")


def mount(volume: Any, folder: Path) -> None:
    """Mount a volume of the node at `folder`; create a file system on it if it has none.

    Do nothing if the node has no such volume.
    """
    if not volume:
        return
    device = Path(f"/dev/disk/by-id/virtio-{volume[:20]}")
    if not Path("/dev/disk").exists():
        say(f"this machine has no block devices: {folder} stays on its disk")
        return
    until(f"volume {volume}", device.exists, 60)
    if subprocess.run(["blkid", str(device)], check=False, stdout=subprocess.DEVNULL).returncode:
        run("mkfs.ext4", "-q", str(device))
    folder.mkdir(parents=True, exist_ok=True)
    line = f"{device} {folder} ext4 defaults 0 2\n"
    table = Path("/etc/fstab")
    if line not in table.read_text():
        write(table, table.read_text() + line)
    if not os.path.ismount(folder):
        run("mount", str(folder))


# tasks


def labels_of(node: Settings) -> Any:
    """Return the Kubernetes labels of the node."""
    labels = [
        f"magnum.openstack.org/role={node['role']}",
        f"magnum.openstack.org/nodegroup={node['nodegroup']}",
    ]
    return labels + [label for label in str(node.get("node_labels") or "").split(",") if label]


def plain_of(node: Settings) -> bool:
    """Return whether the cluster has no TLS."""
    return str(node.get("tls_disabled")).lower() == "true"


def set_up(node: Settings, credential_url: str, version: str) -> None:
    """Set up the node or, on a node that is set up, renew its certificates."""
    plain = plain_of(node)
    master = node["task"] == "master"
    port = node["kubernetes_port"]
    programs = runtime(node, version, plain=plain)
    mount(node.get("docker_volume"), Path("/var/lib/containerd"))
    if not plain:
        certificates = Certificates(CloudAccess(node, credential_url), node["cluster_uuid"])
        certificates.of_node(node["name"], node["address"])
        if master:
            certificates.of_control_plane(node)
        say("certificates: signed by the cluster")
    scheme = "http" if plain else "https"
    api = f"{scheme}://{node['address'] if master else node['api_private_address']}:{port}"
    if master:
        mount(node.get("etcd_volume"), ETCD_DATA)
        etcd = Etcd(node, plain=plain)
        etcd.start()
        say("etcd: healthy")
        programs.control_plane(etcd)
    taints = [taint for taint in str(node.get("node_taints") or "").split(",") if taint]
    labels = labels_of(node)
    if master:
        labels.append("node-role.kubernetes.io/control-plane=")
        taints.append("node-role.kubernetes.io/control-plane=:NoSchedule")
    programs.node(api, labels, taints)
    until(f"the Kubernetes API at {api}", lambda: reachable(api, plain=plain))
    say(f"Kubernetes API: {api} is healthy")


def keep_renewing() -> None:
    """Start the service that renews the certificates of this worker, with the inputs of the last
    deployment.
    """
    inputs = {name: os.environ.get(name, "") for name in INPUTS}
    write(STATE / "inputs.json", json.dumps(inputs), 0o600)
    script = STATE / "node.py"
    write(script, Path(__file__).read_text(), 0o700)
    service("node-renewal", [sys.executable, str(script), "renew"])


def renew_forever() -> None:
    """Renew the certificates of this worker whenever they are due; a failure is tried again."""
    begun = False  # a renewal whose last steps failed goes on, although the certificate is new
    while True:
        try:
            begun = begun or due(PKI / "kubelet.crt", time.time())
            if begun:
                inputs = json.loads((STATE / "inputs.json").read_text())
                settings = json.loads(inputs["settings"])
                set_up(settings, inputs["credential_url"], inputs["kube_version"])
                begun = False
        except (SetupFailed, OSError, ValueError) as problem:
            say(f"certificates: not renewed: {problem}")
        time.sleep(RENEW_EVERY_S)


def due(certificate: Path, now: float) -> bool:
    """Return whether half of the time is over for which a certificate is valid."""
    text = output("openssl", "x509", "-noout", "-startdate", "-enddate", "-in", str(certificate))
    since, until = (moment(line.partition("=")[2]) for line in text.splitlines())
    return now > (since + until) / 2


def moment(text: str) -> float:
    """Return a time as openssl prints it, in seconds since 1970."""
    return float(calendar.timegm(time.strptime(text.strip(), "%b %d %H:%M:%S %Y GMT")))


def reachable(api: str, *, plain: bool) -> bool:
    """Return whether the Kubernetes API answers that it is healthy. Raises OSError if it does not
    answer.
    """
    context = None if plain else ssl.create_default_context(cafile=str(PKI / "ca.crt"))
    return bool(request("GET", api + "/healthz", context=context)[0] == "ok")


def main() -> int:
    """Carry out the deployment on this node; return the exit status, 0 or 1."""
    node = json.loads(os.environ["settings"])
    version = os.environ.get("kube_version", "")
    try:
        if node["task"] == "cluster":
            runtime({**node, "name": socket.gethostname()}, version, plain=False).addons(node)
            say("add-ons: done")
        else:
            set_up(node, os.environ.get("credential_url", ""), version)
            if node["task"] == "worker" and not plain_of(node):
                keep_renewing()
    except SetupFailed as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["renew"]:
        renew_forever()
    sys.exit(main())
