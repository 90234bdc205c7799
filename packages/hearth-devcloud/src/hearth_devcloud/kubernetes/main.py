"""The program of the Kubernetes stand-in that runs in sandbox servers.

    hearth-kubernetes.py api --etcd URL [--port N] [--files FOLDER]
    hearth-kubernetes.py node --api URL --name NAME --address IP [--label NAME=VALUE …]

The API stores its objects in etcd. The node process registers the node only at its start, so a
deleted node comes back only when the process is restarted.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from .node import Facts, register, report
from .objects import stamp
from .served import Server, client_context, server_context
from .storage import Etcd

REPORT_S = 5.0
RETRY_S = 1.0


def main() -> None:
    """Run the API or the node agent, as the command line says, until the process is stopped."""
    given = _parser().parse_args()
    if given.part == "api":
        _api(given)
    _node(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["api", "node"])
    parser.add_argument("--version", default="v1.31.0")
    parser.add_argument("--files", default="/etc/kubernetes/pki")
    parser.add_argument("--plain", action="store_true", help="without TLS")
    parser.add_argument("--host", default="0.0.0.0")  # noqa: S104 - reached by its networks
    parser.add_argument("--port", type=int, default=6443)
    parser.add_argument("--etcd", default="https://127.0.0.1:2379")
    parser.add_argument("--api", default="https://127.0.0.1:6443")
    parser.add_argument("--name", default="")
    parser.add_argument("--address", default="")
    parser.add_argument("--machine", default="")
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--taint", action="append", default=[])
    return parser


def _api(given: Any) -> None:
    files = given.files
    own = (f"{files}/etcd/ca.crt", f"{files}/apiserver-etcd-client.crt",
           f"{files}/apiserver-etcd-client.key")  # fmt: skip
    etcd = Etcd(given.etcd, None if given.plain else client_context(*own))
    context = None if given.plain else server_context(files)
    Server((given.host, given.port), etcd, context, given.version).serve_forever()


def _node(given: Any) -> None:
    facts = Facts(given.name, given.address, given.version, given.machine, given.label, given.taint)
    files, registered, there = given.files, False, True
    while True:
        try:
            kubelet = (f"{files}/ca.crt", f"{files}/kubelet.crt", f"{files}/kubelet.key")
            context = None if given.plain else client_context(*kubelet)
            if not registered:
                register(given.api, facts, context)
                registered = True
            else:
                before, there = there, report(given.api, facts, context)
                if before and not there:
                    sys.stderr.write(
                        f"{stamp()} the node was deleted; restart this process to register it\n"
                    )
        except (OSError, ValueError) as problem:
            sys.stderr.write(f"{stamp()} the node could not report its status: {problem}\n")
        time.sleep(REPORT_S if registered else RETRY_S)
