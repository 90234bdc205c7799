"""The walks over the cluster API: its routes, its errors and the observed exchanges."""

from pathlib import Path

from hearth.clusters.config import ClusterConfig
from tests.api.clusters import test_errors as errors
from tests.api.clusters import test_observed as observed
from tests.api.clusters import test_routes as routes
from tests.api.clusters.server import running
from tests.walk.ground import table

Row = tuple[str, ...]


def walk(folder: Path) -> tuple[str, list[str]]:
    """The table, and what is wrong."""
    rows: list[Row] = [("what", "name", "version", "expected", "answered")]
    wrong: list[str] = []
    for kind, found in (("route", _routes), ("error", _errors), ("exchange", _exchanges)):
        inside = folder / kind
        inside.mkdir()
        for name, version, expected, answered, words in found(inside):
            rows.append((kind, name, version, expected, answered))
            if words or expected != answered:
                wrong.append(f"{kind} {name} {version}: {answered}, expected {expected} {words}")
    return table(rows), wrong


def _routes(folder: Path) -> list[Row]:
    found: list[Row] = []
    with running(folder, ClusterConfig(max_clusters_per_project=1000)) as api:
        world = routes.World(api)
        for version in routes.VERSIONS:
            for row in routes.ROWS:
                status = routes.expected(row, version)
                if row["path"] in routes.FRONT or status is None:
                    continue
                reply = world.ask(row, version)
                name = f"{row['method']} {row['path']}"
                text = ".".join(map(str, version))
                found.append((name, text, str(status), str(reply.status_code), ""))
    return found


def _errors(folder: Path) -> list[Row]:
    found: list[Row] = []
    with errors.prepared(folder) as causes:
        for cause, asks in errors.ASKS.items():
            status = errors.ON_PURPOSE.get(cause, errors.CAUSES[cause])
            for ask in asks:
                reply = ask(causes)
                causes.api.settle()
                found.append((cause, "", str(status), str(reply.status_code), ""))
    return found


def _exchanges(folder: Path) -> list[Row]:
    found: list[Row] = []
    with running(folder, ClusterConfig(stack_id_after_13=False)) as api:
        walked = observed.Walk(api)
        for case in observed.CASES:
            reply = walked.answer(case)
            status = observed.UNLIKE.get(case["case"], case["status"])
            version = case["version_header"] or ""
            words = observed.verdict(case, reply)
            found.append((case["case"], version, str(status), str(reply.status_code), words))
    return found
