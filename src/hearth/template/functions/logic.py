"""Functions of conditions. Source: spec/hot.md, section 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hearth.schema.constraint import same
from hearth.template.functions.entry import EvaluationError, Function, pure, register

if TYPE_CHECKING:
    from hearth.template.scope import Scope


def equal(one: Any, other: Any) -> bool:
    """JSON equality: true is not 1, 1 is 1.0."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    return same(one, other)


def equals(args: Any) -> bool:
    """Whether two values are equal."""
    return equal(*args)


def _check_pair(args: Any) -> str | None:
    return None if isinstance(args, list) and len(args) == 2 else "a list of two values is needed"


def negation(args: Any, scope: Scope) -> bool:
    """Whether a condition does not hold."""
    return not scope.truth(args)


def _check_condition(args: Any) -> str | None:
    if args is None or args == "" or (isinstance(args, int | float) and not isinstance(args, bool)):
        return "a condition is needed"
    return None


def fn_not(args: Any, scope: Scope) -> bool:
    """The CFN form: a list of one condition."""
    return not scope.truth(args[0])


def _check_one(args: Any) -> str | None:
    return (
        None if isinstance(args, list) and len(args) == 1 else "a list of one condition is needed"
    )


def conjunction(args: Any, scope: Scope) -> bool:
    """Whether all conditions hold."""
    return all(list(map(scope.truth, _operands(args))))


def disjunction(args: Any, scope: Scope) -> bool:
    """Whether any condition holds."""
    return any(list(map(scope.truth, _operands(args))))


def _operands(args: Any) -> list[Any]:
    """All of them, for each must be a condition whatever the others say."""
    if None in args:
        raise EvaluationError("null is no condition")
    return list(args)


def _check_many(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) < 2:
        return "a list of two or more conditions is needed"
    return None


for _prefix, _names in (("", ("equals", "and", "or")), ("Fn::", ("Equals", "And", "Or"))):
    register(Function(_prefix + _names[0], pure(equals), _check_pair))
    register(Function(_prefix + _names[1], conjunction, _check_many))
    register(Function(_prefix + _names[2], disjunction, _check_many))
register(Function("not", negation, _check_condition))
register(Function("Fn::Not", fn_not, _check_one))
