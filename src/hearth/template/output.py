"""An output of a template: an expression that is evaluated in a world."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hearth.model.span import Span
from hearth.template.budget import spending
from hearth.template.deferred import deferrable
from hearth.template.errors import BelowError, EvaluationError
from hearth.template.expr import OMIT, Expr
from hearth.template.scope import Scope
from hearth.template.world import World


class Output(Struct, frozen=True, eq=False, weakref=True):
    """An output of a template. If its condition is false, its value is null."""

    name: str
    description: str
    value: Expr
    at: Span
    scope: Scope
    enabled: bool = True

    @deferrable
    def evaluate(self, world: World) -> tuple[Any, str | None]:
        """Return (value, None), or (None, error) if the value cannot be computed.

        The value may contain unknowns.
        """
        try:
            return self.attempt(world), None
        except BelowError as error:
            return None, self.scope.masked(error.reason)
        except EvaluationError as error:
            suffix = f" [{error.at}]" if error.at else ""
            return None, f"outputs.{self.name}: {self.scope.masked(str(error))}{suffix}"

    @deferrable
    def reveals(self, world: World) -> tuple[bool, bool]:
        """Return whether the output contains a hidden value, and whether it contains a secret of a
        resource.
        """
        scope = self.scope.in_world(world)
        try:
            with spending():
                self.value.evaluate(scope)
        except EvaluationError:
            pass
        return scope.secret, scope.guarded

    @deferrable
    def reason(self, world: World) -> str | None:
        """Return why the output has no value, without the place of the error; None if it has a
        value.

        A parent stack reports this reason.
        """
        try:
            self.attempt(world)
        except EvaluationError as error:
            return self.scope.masked(error.reason)
        return None

    def attempt(self, world: World) -> Any:
        """Return the value, which may contain unknowns. Raises EvaluationError if it cannot be
        computed.
        """
        if not self.enabled:
            return None
        with spending():
            value = self.value.evaluate(self.scope.in_world(world))
        return None if value is OMIT else value
