"""Software deployments on servers whose agent never asks for them.

Such a deployment would wait until the timeout of the stack. Source: docs/spec/software-config.md,
section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hearth.template.expr import Call, Const, Expr, MapOf
from hearth.template.function import Refers
from hearth.template.references import referred
from hearth.template.types import TypeInfo

NO_AGENT = "no-agent"  # the code of the lint rule


def servers_of(type_info: TypeInfo, properties: Expr) -> Iterator[tuple[str, str]]:
    """Yield (path of the property, name of the resource) for each reference to a server on which
    a resource of this type runs software.
    """
    for name in getattr(type_info, "runs_on", ()):
        value = _entries(properties).get(name)
        if value is None:
            continue
        inside = {f"{name}.{key}": expr for key, expr in _entries(value).items()}
        for path, expr in {name: value, **inside}.items():
            if isinstance(expr, Call) and expr.function.refers is Refers.RESOURCE:
                server = referred(expr.function.refers, expr.args)
                if server is not None:
                    yield path, server


def refusal(server: str, type_info: TypeInfo, values: Mapping[str, Any]) -> str | None:
    """Return an error message if a server with these property values gets no deployments, else
    None.

    `server` is the name of its resource; unknown values are missing or null.
    """
    without_agent = getattr(type_info, "without_agent", None)
    reason = without_agent(values) if without_agent is not None else None
    return None if reason is None else f'"{server}" gets no software deployments: {reason}'


def _entries(expr: Expr) -> Mapping[Any, Expr]:
    match expr:
        case MapOf():
            return expr.entries
        case Const(value=Mapping() as values):
            return {key: Const(entry) for key, entry in values.items()}
    return {}
