"""The result of evaluating the definition of a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hearth.model.problem import Problem
from hearth.schema import Findings

METADATA = "<metadata>"  # no property has this name


class Evaluated(Struct, frozen=True):
    """The values in the definition of a resource, evaluated in a world.

    `unknown` names the resources on which unknown values depend. `open_properties` are the
    top-level properties that contain unknown values, `secret` those that contain hidden values, and
    `guarded` those that contain secrets of other resources; METADATA stands for the metadata.
    `findings` are the problems, and the checks that need the cloud.
    """

    properties: Mapping[str, Any]
    metadata: Mapping[str, Any]
    unknown: frozenset[str] = frozenset()
    open_properties: frozenset[str] = frozenset()
    secret: frozenset[str] = frozenset()
    guarded: frozenset[str] = frozenset()
    findings: Findings = field(default_factory=Findings)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(self.findings.problems)
