"""The evaluated definition of a resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth.model.problem import Problem
from hearth.schema import Findings


@dataclass(frozen=True)
class Evaluated:
    """The values of a resource's definition in a world.

    `unknown` names the resources that must exist before all values are known. `open_properties` are
    the top-level properties that wait for them, `secret` are those that contain a hidden value.
    `findings` are the problems, and the questions that only the cloud can answer.
    """

    properties: Mapping[str, Any]
    metadata: Mapping[str, Any]
    unknown: frozenset[str] = frozenset()
    open_properties: frozenset[str] = frozenset()
    secret: frozenset[str] = frozenset()
    findings: Findings = field(default_factory=Findings, compare=False)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(self.findings.problems)
