"""`hearth-devcloud`: the embedded cloud as a process."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from urllib.parse import urlsplit

from hearth_devcloud import calls
from hearth_devcloud.sandbox.client import KeeperFailed
from hearth_devcloud.server import LOOPBACK, serve
from hearth_devcloud.settings import Settings
from hearth_devcloud.testing import admin

_PR_SET_PDEATHSIG = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the embedded cloud until SIGTERM, SIGINT or the end of the process `--parent-pid`.

    With the command `calls`, only list the calls that it knows. Return the exit status.
    """
    options = _parser().parse_args(argv)
    if options.command == "calls":
        sys.stdout.write(json.dumps(calls.document()) + "\n" if options.json else calls.markdown())
        return 0
    if options.parent_pid is not None and not _tie_to(options.parent_pid):
        return 1
    if options.servers == "sandbox" and (
        problem := _refusal(options.listen, options.orchestration_url)
    ):
        print(f"hearth-devcloud: {problem}", file=sys.stderr)
        return 1
    settings = Settings(
        password=_password(options),
        token_life_s=options.token_life_s,
        build_s=options.build_s,
        volume_s=options.volume_s,
        seed=options.seed,
        quotas=not options.no_quotas,
        orchestration_url=options.orchestration_url,
        cloudformation_url=options.cloudformation_url,
        cluster_url=options.cluster_url,
        sandbox=options.servers == "sandbox",
    )
    return asyncio.run(_run(options, settings))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hearth-devcloud", description=__doc__)
    commands = parser.add_subparsers(dest="command", title="commands")
    listing = commands.add_parser("calls", help="print the calls that the cloud knows, in Markdown")
    listing.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--listen",
        type=ip_address,
        default=ip_address(LOOPBACK),
        help="address to listen on; on another one than 127.0.0.1, whoever reaches the port may "
        "change everything",
    )
    parser.add_argument(
        "--url", help="URL at which clients reach the cloud, if it is another than this address"
    )
    parser.add_argument(
        "--port", type=int, default=0, help="port to listen on; 0 means any free port"
    )
    parser.add_argument(
        "--data", "--data-file", type=Path, help="file to load the state from and save it to"
    )
    parser.add_argument("--parent-pid", type=int, help="exit when this parent process ends")
    parser.add_argument("--password", default="secret", help="password of all initial users")
    parser.add_argument("--password-file", type=Path, help="read the password from a file")
    parser.add_argument("--token-life-s", type=float, default=3600.0)
    parser.add_argument(
        "--build-s", type=float, default=0.0, help="seconds until a server is ACTIVE"
    )
    parser.add_argument(
        "--volume-s", type=float, default=0.0, help="seconds until a volume is available"
    )
    parser.add_argument("--seed", type=int, help="seed of the random ids and secrets")
    parser.add_argument(
        "--no-quotas", action="store_true", help="make all quotas unlimited by default"
    )
    parser.add_argument(
        "--servers",
        choices=("pretend", "sandbox"),
        default="pretend",
        help="pretend: servers only have a status; sandbox: servers run in Linux namespaces",
    )
    parser.add_argument("--orchestration-url", help="URL of heat in the service catalogue")
    parser.add_argument("--cloudformation-url", help="URL of heat-cfn in the service catalogue")
    parser.add_argument("--cluster-url", help="URL of magnum in the service catalogue")
    return parser


def _refusal(listen: IPv4Address | IPv6Address, api: str | None) -> str | None:
    """Return the reason why this machine cannot run sandbox servers, or None if it can.

    The cloud listens on `listen`. `api` is the URL of the orchestration API that the servers use.
    """
    if not sys.platform.startswith("linux"):
        return "sandbox servers need Linux"
    if not listen.is_loopback:
        return f"sandbox servers need a loopback address, but --listen is {listen}"
    host = urlsplit(api or "").hostname or LOOPBACK
    try:
        local = ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local:
        return (
            "sandbox servers need an API on a loopback address, but the host of "
            f"--orchestration-url is {host}"
        )
    return None


def _password(options: argparse.Namespace) -> str:
    if options.password_file is not None:
        return str(options.password_file.read_text().strip())
    return str(options.password)


def _tie_to(parent: int) -> bool:
    """Ask the kernel to send SIGTERM to this process when its parent ends.

    Return False if the process `parent` is no longer the parent.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    return os.getppid() == parent


async def _run(options: argparse.Namespace, settings: Settings) -> int:
    try:
        running = await serve(
            listen=str(options.listen),
            port=options.port,
            url=options.url,
            data=options.data,
            settings=settings,
        )
    except KeeperFailed as problem:
        print(f"hearth-devcloud: sandbox servers cannot be started: {problem}", file=sys.stderr)
        return 1
    for note in running.sandbox.notes if running.sandbox is not None else ():
        print(f"hearth-devcloud: {note}", file=sys.stderr)
    gc.freeze()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    ready = {"url": running.url, **admin(running.auth_url, settings.password).config}
    if options.password_file is not None:
        del ready["password"]
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    await stop.wait()
    await running.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
