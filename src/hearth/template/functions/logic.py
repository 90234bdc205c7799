"""Functions for conditions. Source: docs/spec/hot.md, section 5."""

from __future__ import annotations

from typing import Any

from hearth.model.unknown import Unknown
from hearth.model.value import ValueKind
from hearth.schema.constraint import same
from hearth.template.errors import EvaluationError
from hearth.template.function import Function, pure, register
from hearth.template.scope import Scope


def equal(first: Any, second: Any) -> bool:
    """Return whether two JSON values are equal. As in JSON, true differs from 1, but 1 equals
    1.0.
    """
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            equal(first[key], second[key]) for key in first
        )
    return same(first, second)


def equals(args: Any) -> bool:
    """Return whether the two values in the list `args` are equal."""
    return equal(*args)


def _check_pair(args: Any) -> str | None:
    return None if isinstance(args, list) and len(args) == 2 else "expected a list of two values"


def negation(args: Any, scope: Scope) -> bool | Unknown:
    """Return the negation of the condition `args`, a boolean or the name of a condition."""
    return opposite(scope.truth(args))


def opposite(truth: bool | Unknown) -> bool | Unknown:
    """Return the opposite of a truth value; the opposite of Unknown is Unknown."""
    return truth if isinstance(truth, Unknown) else not truth


def _check_condition(args: Any) -> str | None:
    if args is None or args == "" or (isinstance(args, int | float) and not isinstance(args, bool)):
        return "expected a condition"
    return None


def fn_not(args: Any, scope: Scope) -> bool | Unknown:
    """Return the negation of a condition, which is the only item of the list `args`
    (`Fn::Not`).
    """
    return opposite(scope.truth(args[0]))


def _check_one(args: Any) -> str | None:
    return None if isinstance(args, list) and len(args) == 1 else "expected a list of one condition"


def conjunction(args: Any, scope: Scope) -> bool | Unknown:
    """Return whether all conditions in the list `args` are true; Unknown if that depends on unknown
    values.
    """
    return _decided(False, [scope.truth(operand) for operand in _operands(args)])


def disjunction(args: Any, scope: Scope) -> bool | Unknown:
    """Return whether any condition in the list `args` is true; Unknown if that depends on unknown
    values.
    """
    return _decided(True, [scope.truth(operand) for operand in _operands(args)])


def _decided(by: bool, truths: list[bool | Unknown]) -> bool | Unknown:
    """Combine truth values: return `by` if one of them equals it.

    Otherwise return Unknown if one of them is Unknown, and the opposite of `by` if none is.
    """
    if by in truths:
        return by
    return next((truth for truth in truths if isinstance(truth, Unknown)), not by)


def _operands(args: Any) -> list[Any]:
    """Return the operands of `and` or `or`. Raises EvaluationError if one of them is null."""
    if None in args:
        raise EvaluationError("null is not a condition")
    return list(args)


def _check_many(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) < 2:
        return "expected a list of two or more conditions"
    return None


for _name in ("equals", "Fn::Equals"):
    register(Function(_name, pure(equals), _check_pair, gives=ValueKind.BOOLEAN))
for _name, _apply, _check in (
    ("and", conjunction, _check_many),
    ("Fn::And", conjunction, _check_many),
    ("or", disjunction, _check_many),
    ("Fn::Or", disjunction, _check_many),
    ("not", negation, _check_condition),
    ("Fn::Not", fn_not, _check_one),
):
    register(Function(_name, _apply, _check, strict=False, gives=ValueKind.BOOLEAN))
