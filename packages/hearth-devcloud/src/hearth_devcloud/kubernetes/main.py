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
from .served import ApiServer, client_context, server_context
from .storage import Etcd

REPORT_S = 5.0
RETRY_S = 1.0


def main() -> None:
    """Run the API or the node agent, as the command line says, until the process is stopped."""
    options = _parser().parse_args()
    if options.part == "api":
        _api(options)
    _node(options)


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


def _api(options: Any) -> None:
    files = options.files
    certificates = (
        f"{files}/etcd/ca.crt",
        f"{files}/apiserver-etcd-client.crt",
        f"{files}/apiserver-etcd-client.key",
    )
    etcd = Etcd(options.etcd, None if options.plain else client_context(*certificates))
    context = None if options.plain else server_context(files)
    ApiServer((options.host, options.port), etcd, context, options.version).serve_forever()


def _node(options: Any) -> None:
    facts = Facts(
        options.name,
        options.address,
        options.version,
        options.machine,
        options.label,
        options.taint,
    )
    files, registered, is_registered = options.files, False, True
    while True:
        try:
            kubelet = (f"{files}/ca.crt", f"{files}/kubelet.crt", f"{files}/kubelet.key")
            context = None if options.plain else client_context(*kubelet)
            if not registered:
                register(options.api, facts, context)
                registered = True
            else:
                before, is_registered = is_registered, report(options.api, facts, context)
                if before and not is_registered:
                    sys.stderr.write(
                        f"{stamp()} the node was deleted; restart this process to register it\n"
                    )
        except (OSError, ValueError) as problem:
            sys.stderr.write(f"{stamp()} the node could not report its status: {problem}\n")
        time.sleep(REPORT_S if registered else RETRY_S)
