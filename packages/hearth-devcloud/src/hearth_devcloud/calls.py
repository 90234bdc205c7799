"""The calls that the cloud knows, from the route tables of its services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from hearth_devcloud.cloud import SERVICES
from hearth_devcloud.http import Actions, Body, Service
from hearth_devcloud.microversion import Since
from hearth_devcloud.seed import SERVICES as CATALOGUE

_HEAD = """# Calls

After reading this page you know which calls the embedded cloud understands. `{}` stands for an
id or a name. A call with *since* exists from this microversion on. The names of actions are keys
of the body. `HEAD` is possible where `GET` is. The paths of Cinder and Trove leave out the id of
the project, which follows the version.

The page is generated: `hearth-devcloud calls >CALLS.md`. `hearth-devcloud calls --json` prints the
same for programs.
"""


@dataclass(frozen=True)
class KnownCall:
    """A call that a service knows. `path` begins with the name of the service.

    `since` is the microversion from which the call exists; empty if it always exists. `actions`
    are the possible keys of its body, if it is for actions.
    """

    service: str
    method: str
    path: str
    since: str
    actions: tuple[str, ...]


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _of(service: Service) -> Iterator[KnownCall]:
    for method, pattern, handler in service.router.routes:
        since = _text(handler.version) if isinstance(handler, Since) else ""
        actions = handler.names if isinstance(handler, Actions) else ()
        path = f"/{service.name}{pattern}".removesuffix("/")
        yield KnownCall(service.name, method, path, since, actions)


def known_calls() -> list[KnownCall]:
    """Return all calls, by service, path and method."""
    calls = {call for service in SERVICES.values() for call in _of(service)}
    return sorted(calls, key=lambda call: (call.service, call.path, call.since, call.method))


def document() -> Body:
    """Return all calls, and the microversions of the services, as `calls --json` prints them."""
    services = {
        service.name: {
            "project": _project(service.name),
            "microversions": [_text(version) for version in service.microversions or ()] or None,
        }
        for service in SERVICES.values()
    }
    calls = [
        {
            "service": call.service,
            "method": call.method,
            "path": call.path,
            "since": call.since or None,
            "actions": list(call.actions),
        }
        for call in known_calls()
    ]
    return {"services": services, "calls": calls}


def markdown() -> str:
    """Return a page with a table of the calls of each service."""
    calls, parts = known_calls(), [_HEAD]
    for name, group in groupby(calls, key=lambda call: call.service):
        bounds = SERVICES[name].microversions
        versions = f", microversions {_text(bounds[0])} to {_text(bounds[1])}" if bounds else ""
        parts.append(f"## {_project(name).capitalize()}, `{name}`{versions}\n")
        parts.append("\n".join(_table(group)) + "\n")
    return "\n".join(parts)


def _project(name: str) -> str:
    return next(project for _, project, path in CATALOGUE if path.split("/")[1] == name)


def _table(calls: Iterable[KnownCall]) -> Iterator[str]:
    yield "| path | methods | since |"
    yield "| --- | --- | --- |"
    for (path, since), group in groupby(calls, key=lambda call: (call.path, call.since)):
        methods = []
        for call in group:
            names = ", ".join(f"`{name}`" for name in call.actions)
            methods.append(f"{call.method} {names}".strip())
        yield f"| `{path}` | {', '.join(methods)} | {since} |"
