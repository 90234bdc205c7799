"""`hearth dev`: runs Hearth and an embedded OpenStack cloud, in two processes."""

import asyncio
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from hearth.cli.embedded_cloud import demand_installed
from hearth.config.wrong import WrongSetting
from hearth.model import collector
from hearth.process.logs import log_to_stderr
from hearth.process.memory import few_heaps
from hearth.process.own_files import demand_no_link, demand_own, lock, write_own
from hearth.process.prepare import allow_descriptors, run_until_complete
from hearth.process.sockets import listening

if TYPE_CHECKING:
    from hearth.config.settings import Settings

HOST = "127.0.0.1"
OTHER_PORT = "--port; make dev PORT=0 uses any free one"
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
OURS = (
    "cloud.json",
    "clouds.yaml",
    "hearth.db",
    "hearth.db-wal",
    "hearth.db-shm",
    "hearth.lock",
    "openrc",
    "password",
    "secret",
)
REGION = "RegionOne"
HIDDEN_TAG = "data-processing-cluster"  # as in most clouds


SANDBOX = "sandbox"
NOT_A_BOUNDARY = (
    "servers run in namespaces of this machine: isolation for convenience, not a security boundary"
)


class DevOptions(Struct, frozen=True):
    """The options of `hearth dev` besides its port and its data.

    `servers` is "pretend" or "sandbox": whether servers really run. `metrics_port` is the port for
    operators; if it is None, there is no such port. If `revive` is true, retired types with a
    successor work through it.
    """

    servers: str = "pretend"
    metrics_port: int | None = None
    revive: bool = False


def run(port: int, data: Path | None, options: DevOptions, *, ephemeral: bool) -> int:
    """Run Hearth and the embedded cloud until stopped; return the exit status.

    The main API has the given port and the cloud the next one; with 0, both get free ports. `data`
    is the directory for all data; None stands for the default one. If `ephemeral` is true, a
    temporary directory is used instead and deleted at the end.
    """
    collector.off()
    few_heaps()  # before the first thread
    allow_descriptors()
    log_to_stderr()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the loop has its own handler
    folder = Path(tempfile.mkdtemp(prefix="hearth-")) if ephemeral else data or _default_folder()
    try:
        demand_installed()
        _prepare(folder)
        return run_until_complete(_run(port, folder, options))
    except WrongSetting as problem:
        print(f"hearth: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if ephemeral:
            shutil.rmtree(folder, ignore_errors=True)


def build_image(name: str, data: Path | None, mirrors: Sequence[str]) -> int:
    """Build an image for sandbox servers in a child process; return the exit status.

    `data` is the directory of `hearth dev`; None stands for the default one. `mirrors` are the
    sources of packages, as in sources.list; if it is empty, those of this machine.
    """
    folder = data or _default_folder()
    command = [sys.executable, "-m", "hearth_devcloud.images", "build", name]
    command += ["--data", str(folder), *(f"--mirror={line}" for line in mirrors)]
    try:
        demand_installed()
        _prepare(folder)
        return subprocess.run(command, check=False).returncode
    except WrongSetting as problem:
        print(f"hearth: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _default_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "hearth"


def _prepare(folder: Path) -> None:
    """Create the directory if needed, and protect its files.

    Raises WrongSetting if it is not writable, or if links in it lead elsewhere.
    """
    if folder.is_symlink() and not folder.is_absolute():  # a cloned repository may contain it
        raise WrongSetting(f"{folder} is a symbolic link; name its target with --data")
    try:
        os.umask(0o077)  # passwords and keys are in nearly every file
        folder.mkdir(parents=True, exist_ok=True)
        demand_no_link(folder / "volumes")  # the owner of this folder is changed
        for name in OURS:
            demand_own(folder / name)
            if (folder / name).is_file():  # created by a release that did not protect them
                (folder / name).chmod(0o600)
        probe = folder / ".probe"
        write_own(probe, "")
        probe.unlink()
    except OSError as problem:
        message = f"{folder} cannot be written to: {problem.strerror}; choose another with --data"
        raise WrongSetting(message) from None


async def _run(port: int, folder: Path, options: DevOptions) -> int:
    lock_file = lock(folder / "hearth.lock")  # before any file of another process is touched
    bound = listening(HOST, port, OTHER_PORT)
    watched = [] if options.metrics_port is None else [listening(HOST, options.metrics_port)]
    if port:
        listening(HOST, port + 1, OTHER_PORT).close()
    url = f"http://{HOST}:{bound.getsockname()[1]}"
    password = _password(folder)
    cloud = _start_cloud(port + 1 if port else 0, folder, url, options.servers)
    try:  # the cloud starts during slow imports
        from hearth.config.type_settings import TypeSettings
        from hearth.process.lifetime import until_stopped
        from hearth.process.sockets import Sockets
        from hearth.process.wiring import wired

        auth_url = await _auth_url(cloud)
        settings = _settings(folder, url, auth_url, password)
        types = TypeSettings(revive_retired_types=options.revive)
        settings = replace(settings, monitored=bool(watched), types=types)
        _write_clouds(folder, auth_url, password)
        async with wired(settings, lock_file) as running:
            return await until_stopped(
                running,
                Sockets(main=[bound], monitoring=watched),
                work=True,
                clusters=True,
                ready=lambda: _say_ready(url, auth_url, folder, options.servers, watched),
            )
    finally:
        cloud.terminate()
        try:
            cloud.wait(timeout=5)
        except subprocess.TimeoutExpired:
            cloud.kill()


def _start_cloud(port: int, folder: Path, url: str, servers: str) -> "subprocess.Popen[str]":
    options = {
        "--port": str(port),
        "--parent-pid": str(os.getpid()),
        "--data": str(folder / "cloud.json"),
        "--password-file": str(folder / "password"),
        "--servers": servers,
        "--orchestration-url": f"{url}/v1/$(project_id)s",
        "--cloudformation-url": f"{url}/cfn/v1",
        "--cluster-url": f"{url}/container-infra/v1",
    }
    command = [sys.executable, "-m", "hearth_devcloud", *chain.from_iterable(options.items())]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def _auth_url(cloud: "subprocess.Popen[str]") -> str:
    """Return the address of Keystone, once the cloud has started. Raises WrongSetting if it does
    not.
    """
    assert cloud.stdout is not None
    waiting = ThreadPoolExecutor(1, "cloud-starts")
    try:
        loop = asyncio.get_running_loop()
        line = await loop.run_in_executor(waiting, cloud.stdout.readline)
    finally:
        waiting.shutdown(wait=False)  # a stop does not wait for the cloud
    if not line:
        raise WrongSetting("the embedded cloud did not start; its output is above")
    return str(json.loads(line)["auth_url"])


def _settings(folder: Path, url: str, auth_url: str, password: str) -> "Settings":
    from hearth.cloud.config import CloudConfig
    from hearth.cloud.credential import PasswordCredential
    from hearth.clusters.config import ClusterConfig
    from hearth.config.settings import Settings
    from hearth.service.limits import RequestLimits

    def user(name: str, domain: str, **scope: str) -> PasswordCredential:
        return PasswordCredential(auth_url, name, password, user_domain_name=domain, **scope)

    return Settings(
        database=f"sqlite:///{folder / 'hearth.db'}",
        secret=_secret(folder / "secret"),
        auth_url=auth_url,
        service_user=user(
            "hearth", "Default", project_name="service", project_domain_name="Default"
        ),
        cloud=CloudConfig(
            region=REGION,
            domain_admin=user("heat_domain_admin", "heat", domain_name="heat"),
            foreign_cloud_networks=LOOPBACK,  # users may also use this cloud as another cloud
        ),
        stack_user_domain_name="heat",
        clusters=ClusterConfig(
            url=f"{url}/container-infra/v1",
            forwards_url=f"{auth_url.removesuffix('/identity/v3')}/devcloud/forwards",
        ),
        limits=RequestLimits(
            enable_stack_adopt=True, enable_stack_abandon=True, hidden_stack_tags=(HIDDEN_TAG,)
        ),
        heat_url=f"{url}/v1/{{project}}",
        heat_metadata_server_url=f"{url}/cfn/v1",
        heat_waitcondition_server_url=f"{url}/cfn/v1/waitcondition",
        environment_dir=str(folder / "environment.d"),
    )


def _password(folder: Path) -> str:
    """Return the password of all users of the cloud in this folder; generate it at the first
    start.
    """
    path = folder / "password"
    if not path.exists():
        write_own(path, secrets.token_urlsafe(18))
    return path.read_text()


def _secret(path: Path) -> str:
    """Return the key for the encryption of user data; generate it at the first start."""
    if not path.exists():
        write_own(path, secrets.token_hex(32))
    return path.read_text()


def _write_clouds(folder: Path, auth_url: str, password: str) -> None:
    """Write the files with which OpenStack clients reach this cloud.

    These are clouds.yaml and openrc, which selects the cloud in it, and for clients that read no
    clouds.yaml demo-openrc.sh and admin-openrc.sh, which set OS_AUTH_URL and the like. In openrc
    these variables would overrule `--os-cloud hearth-admin`.
    """
    lines = ["clouds:"]
    for name, user, project in (("hearth", "demo", "demo"), ("hearth-admin", "admin", "admin")):
        lines += [
            f"  {name}:",
            "    auth:",
            f"      auth_url: {auth_url}",
            f"      username: {user}",
            f"      password: {password}",
            f"      project_name: {project}",
            "      user_domain_name: Default",
            "      project_domain_name: Default",
            f"    region_name: {REGION}",
            "    identity_api_version: 3",
        ]
        variables = _variables(auth_url, user, project, password)
        _write_exports(folder / f"{user}-openrc.sh", variables, without=["OS_CLOUD"])
    write_own(folder / "clouds.yaml", "\n".join(lines) + "\n")
    exports = {
        "OS_CLIENT_CONFIG_FILE": str(folder.resolve() / "clouds.yaml"),
        "OS_CLOUD": "hearth",
    }
    _write_exports(folder / "openrc", exports, without=_variables("", "", "", ""))


def _variables(auth_url: str, user: str, project: str, password: str) -> dict[str, str]:
    """Return the environment variables with which any OpenStack client authenticates."""
    return {
        "OS_AUTH_URL": auth_url,
        "OS_USERNAME": user,
        "OS_PASSWORD": password,
        "OS_PROJECT_NAME": project,
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
        "OS_REGION_NAME": REGION,
        "OS_IDENTITY_API_VERSION": "3",
    }


def _write_exports(path: Path, variables: Mapping[str, str], *, without: Iterable[str]) -> None:
    """Write a shell script that sets these environment variables and unsets others."""
    lines = [f"unset {' '.join(without)}"]
    lines += [f"export {name}='{value}'" for name, value in variables.items()]
    write_own(path, "\n".join(lines) + "\n")


def _say_ready(
    url: str, auth_url: str, folder: Path, servers: str, watched: list[socket.socket]
) -> None:
    if servers == SANDBOX:
        print(f"hearth: {NOT_A_BOUNDARY}", file=sys.stderr, flush=True)
    cloud = urlsplit(auth_url)
    metrics = ""
    if watched:
        metrics = f", metrics http://{HOST}:{watched[0].getsockname()[1]}/metrics"
    print(
        f"hearth is ready: orchestration {url}/v1, cloud {cloud.scheme}://{cloud.netloc}, "
        f"identity {auth_url}{metrics}; clients: . {folder.resolve() / 'openrc'}",
        flush=True,
    )
