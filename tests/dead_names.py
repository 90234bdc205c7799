"""`make check-static`: names that nothing uses, in the product, the tests and the benchmarks.

A name that is used only from outside stands in ALLOWED with the reason.
"""

import sys
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).parents[1]
LEAST_SURE = 60  # per cent; vulture's measure for names that could be used in ways it cannot see
ALLOWED = {
    "_content_consumed": "requests reads it",
    "_boot_time": "the Prometheus client calls it",
    "_retry_connection": "aiohttp reads it",
    "_sqlite_now": "SQLAlchemy compiles it",
    "_postgresql_now": "SQLAlchemy compiles it",
    "_mysql_now": "SQLAlchemy compiles it",
    "_run_once": "the loop of asyncio calls it",
    "close_connection": "http.server reads it",
    "call_soon": "the loop of asyncio calls it",
    "_clearer": "keeps a task from being collected",
    "__getattr__": "Python calls it",
    "capture_signals": "uvicorn calls it",
    "documentation": "pygls reads it",
    "domain_name": "a field of stored credentials",
    "down_revision": "Alembic reads it",
    "downgrade": "Alembic calls it",
    "force_exit": "uvicorn reads it",
    "should_exit": "uvicorn reads it",
    "format_commands": "click calls it",
    "group_class": "click reads it",
    "inherit_cache": "SQLAlchemy reads it",
    "isolation_level": "sqlite3 reads it",
    "keep_alive": "uvicorn reads it",
    "lsp_text_document__did_open": "pygls calls it",
    "lsp_text_document__did_change": "pygls calls it",
    "lsp_text_document__did_close": "pygls calls it",
    "pool_classes_by_scheme": "urllib3 reads it",
    "ConnectionCls": "urllib3 reads it",
    "redirect_slashes": "Starlette reads it",
    "root_stack_id": "plug-ins of Heat read it",
    "tenant_id": "plug-ins of Heat read it",
    "suppress_default_change_warnings": "oslo.policy reads it",
    "suppress_deprecation_warnings": "oslo.policy reads it",
    "trust_env": "requests reads it",
    "verbose_update_params": "a parameter of heat-manage",
    "extraction_filter": "tarfile reads it",
    "frame": "signal gives it",
    "trace": "OpenTelemetry is optional",
    "arg": "the profiler gives it",
    "dns_nameserver": "a field of clusters, by name in tables and answers",
    "apiserver_port": "a field of clusters, by name in tables and answers",
    "http_proxy": "a field of clusters, by name in tables and answers",
    "https_proxy": "a field of clusters, by name in tables and answers",
    "registry_enabled": "a field of clusters, by name in tables and answers",
    "insecure_registry": "a field of clusters, by name in tables and answers",
    "health_status_reason": "a field of clusters, by name in tables and answers",
    "discovery_url": "a field of clusters, by name in tables and answers",
    "container_version": "a field of clusters, by name in tables and answers",
    "etcd_ca_cert_ref": "a field of clusters, by name in tables and answers",
    "front_proxy_ca_cert_ref": "a field of clusters, by name in tables and answers",
    "hostcluster_id": "a field of clusters, by name in tables and answers",
    "protocol_version": "http.server reads it",
    "do_DELETE": "http.server reads it",
    "do_GET": "http.server reads it",
    "do_PATCH": "http.server reads it",
    "do_POST": "http.server reads it",
    "do_PUT": "http.server reads it",
    "daemon_threads": "socketserver reads it",
    "handle_error": "socketserver calls it",
}
COMMANDS = ("src/hearth/cli/manage.py",)
"""Files whose functions click calls by their decorators."""


def dead(paths: list[str]) -> list[str]:
    """Return `file:line: what` for each name that nothing uses."""
    found = Vulture(ignore_decorators=["@*.command", "@*.group", "@compiles", "@pytest.fixture"])
    found.scavenge([str(ROOT / path) for path in paths], exclude=["tests/tools"])
    return [
        f"{item.filename.relative_to(ROOT)}:{item.first_lineno}: {item.message}"
        for item in found.get_unused_code(min_confidence=LEAST_SURE, sort_by_size=False)
        if _ours(item.filename.relative_to(ROOT).as_posix(), item)
    ]


def _ours(file: str, item: object) -> bool:
    name, kind = str(getattr(item, "name", "")), str(getattr(item, "typ", ""))
    if name in ALLOWED or not file.startswith(("src/", "packages/")):
        return False
    if kind == "class" and file.startswith("src/hearth/resources/"):
        return False  # the index names their modules, and takes each class by its declaration
    return file not in COMMANDS or kind != "function"


def main() -> int:
    found = dead(["src/hearth", "packages", "tests", "benchmarks"])
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
