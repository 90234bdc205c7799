"""The targets by name: what comes in, and what must be true of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.fuzz import checks, strategies


@dataclass(frozen=True)
class Target:
    """A check with its inputs, which are JSON values."""

    name: str
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], Any]


TARGETS = {
    target.name: target
    for target in (
        Target("load", strategies.TEXTS, checks.text_is_loaded),
        Target("compile", strategies.REQUESTS, checks.template_is_compiled),
        Target("environment", strategies.MERGES, checks.environments_are_merged),
        Target("functions", strategies.FUNCTION_CALLS, checks.function_is_applied),
        Target(
            "examine",
            strategies.cases(strategies.FINE_TEMPLATES | strategies.REAL | strategies.TEMPLATES),
            checks.template_is_examined,
        ),
        Target("lint", strategies.LINTED, checks.files_are_linted),
    )
}
