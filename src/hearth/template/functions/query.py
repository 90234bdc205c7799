"""The function `yaql`: expressions in the YAQL language. Source: docs/spec/hot.md, section 8.13.

The library is imported at the first use, because its import takes longer than that of the whole
compiler.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hearth.schema.patterns import Overrun, inline
from hearth.template.errors import EvaluationError
from hearth.template.function import Function, register
from hearth.template.scope import Scope

LIBRARY = "yaql.standard_library"
INLINE_EXPRESSION_MAX = 500
"""The maximum length in characters of an expression that is parsed on the event loop."""


@lru_cache(maxsize=4)
def _engine(iterators_max: int, memory_bytes: int) -> Any:
    from yaql.language.factory import YaqlFactory

    return YaqlFactory().create(
        {"yaql.limitIterators": iterators_max, "yaql.memoryQuota": memory_bytes}
    )


@lru_cache(maxsize=1)
def _library() -> Any:
    from hearth.template.functions.bounds import library

    return library()


@lru_cache(maxsize=512)
def _parsed(text: str, iterators_max: int, memory_bytes: int) -> Any:
    return _engine(iterators_max, memory_bytes)(text)


def _bounded(work: Callable[[], Any]) -> Any:
    from hearth.template.functions.bounds import bounded

    return bounded(work)


def yaql(args: Any, scope: Scope) -> Any:
    """Return the value of a YAQL expression; in it, `$.data` stands for the argument `data`."""
    wrong = _check(args)
    if wrong:
        raise EvaluationError(wrong)
    limits = scope.limits
    try:
        expression = _parsed(
            args["expression"], limits.yaql_limit_iterators, limits.yaql_memory_quota
        )
        context = _library().create_child_context()
        return _bounded(lambda: expression.evaluate({"data": args.get("data")}, context))
    except RecursionError:
        raise EvaluationError("the expression is nested too deep") from None
    except Exception as error:  # any exception of the library in a user's expression
        text = str(error).splitlines()[0] if str(error) else ""
        raise EvaluationError(f"yaql: {type(error).__name__}: {text}") from None


def _demand_short(expression: str) -> None:
    """Raise Overrun on the event loop if parsing the expression or importing the library takes
    long.
    """
    if inline() and (len(expression) > INLINE_EXPRESSION_MAX or LIBRARY not in sys.modules):
        raise Overrun


def _check(args: Any) -> str | None:
    if not isinstance(args, dict):
        return "expected a map with the keys expression and data"
    for key in args:
        if key not in ("expression", "data"):
            return f'there is no argument "{key}"'
    if "expression" not in args:
        return "expected an expression"
    expression = args["expression"]
    if expression is None or isinstance(expression, bool | int | float | list | dict):
        return "the expression must be a string"
    if isinstance(expression, str):
        _demand_short(expression)
        try:
            _parsed(expression, 200, 10000)
        except Exception as error:  # the library's own and its parser's
            return f"the expression is not valid YAQL: {error}"
    return None


register(Function("yaql", yaql, _check))
