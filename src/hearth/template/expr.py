"""The syntax tree of values: expressions.

`specialise` returns a smaller tree, in which everything that depends only on parameters, conditions
and files is a constant. `evaluate` returns the value. Values may contain unknowns. A constant
records whether it is secret. A tree is immutable and may be shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hearth.model.problem import Problem
from hearth.model.span import Span, Step
from hearth.model.unknown import SCALARS, Unknown, unknown_in
from hearth.template.budget import current
from hearth.template.errors import EvaluationError
from hearth.template.function import Function, Reads
from hearth.template.load import Node
from hearth.template.scope import Evaluable, Scope


class _Omit:
    """The value of an `if` without else whose condition is false: the map entry or list item is
    removed.
    """

    def __reduce__(self) -> str:
        return "OMIT"


OMIT: Final = _Omit()


class _Computed:
    """A placeholder for the result of a function call, used while the form of arguments is
    checked.
    """

    def __reduce__(self) -> str:
        return "COMPUTED"


class Expr:
    """An expression that has a value in a scope."""

    __slots__ = ()

    def specialise(self, scope: Scope) -> Expr:
        """Return the expression with known parameters and conditions replaced by their values."""
        raise NotImplementedError

    def evaluate(self, scope: Scope) -> Any:
        """Return the value of the expression in a scope. Raises EvaluationError."""
        raise NotImplementedError

    def parts(self) -> Iterator[Expr]:
        """Yield the direct subexpressions."""
        return iter(())


class Const(Expr):
    """An expression with a known value; `secret` is true if it contains a hidden value."""

    __slots__ = ("secret", "value")

    def __init__(self, value: Any, secret: bool = False) -> None:
        self.value = value
        self.secret = secret

    def specialise(self, scope: Scope) -> Expr:
        return self

    def evaluate(self, scope: Scope) -> Any:
        if self.secret:
            scope.secret = True
        return self.value


class ListOf(Expr):
    """A list of expressions that are not all known."""

    __slots__ = ("items",)

    def __init__(self, items: list[Expr]) -> None:
        self.items = items

    def specialise(self, scope: Scope) -> Expr:
        items = [item.specialise(scope) for item in self.items]
        return list_of([item for item in items if not _omitted(item)])

    def evaluate(self, scope: Scope) -> Any:
        values = [item.evaluate(scope) for item in self.items]
        return [value for value in values if value is not OMIT]

    def parts(self) -> Iterator[Expr]:
        return iter(self.items)


class MapOf(Expr):
    """A map whose values are expressions that are not all known."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[str, Expr]) -> None:
        self.entries = entries

    def specialise(self, scope: Scope) -> Expr:
        entries = {key: entry.specialise(scope) for key, entry in self.entries.items()}
        return map_of({key: entry for key, entry in entries.items() if not _omitted(entry)})

    def evaluate(self, scope: Scope) -> Any:
        values = {key: entry.evaluate(scope) for key, entry in self.entries.items()}
        return {key: value for key, value in values.items() if value is not OMIT}

    def parts(self) -> Iterator[Expr]:
        return iter(self.entries.values())


class Call(Expr):
    """A call of an intrinsic function: the function, its arguments, and the node in the
    template.
    """

    __slots__ = ("args", "at", "function", "node")

    def __init__(self, function: Function, args: Expr, at: Span, node: Node) -> None:
        self.function = function
        self.args = args
        self.at = at
        self.node = node

    def place_of(self, *steps: Step) -> Span:
        """Return the place of an argument in the template, given by the steps that lead to it."""
        node = self.node.nearest_to(list(steps))
        return Span(self.at.file, node.line, node.column, self.at.path)

    def specialise(self, scope: Scope) -> Expr:
        function = self.function
        if function.rewrite is not None:
            function = function.rewrite(self.args, scope) or function
        args = self.args.specialise(scope)
        if isinstance(args, Const) and function.reads is not Reads.WORLD:
            before, scope.secret = scope.secret, args.secret
            try:
                value = self._apply(function, args.value, scope)
                return Const(value, scope.secret)
            except EvaluationError:
                pass  # reported when the value is read: an output may never be read
            finally:
                scope.secret = before
        return Call(function, args, self.at, self.node)

    def evaluate(self, scope: Scope) -> Any:
        return self._apply(self.function, self.args.evaluate(scope), scope)

    def _apply(self, function: Function, args: Any, scope: Scope) -> Any:
        unknown = unknown_in(args) if function.strict else None
        try:
            value: Any = None if unknown is None else Unknown(unknown.until)
            if value is None:
                self._whole(function, args)
                budget = current()
                if budget is not None:
                    budget.check()
                value = function.apply(args, scope)
                if budget is not None:
                    budget.made(function, value)
            return scope.typed(function, args, value) if type(value) is Unknown else value
        except EvaluationError as error:
            if error.at is None:
                at = self.at if error.steps is None else self.place_of(*error.steps)
                error.add_place(function.name, at)
            raise

    def _whole(self, function: Function, args: Any) -> None:
        """Check the form of the arguments again if an `if` without else has removed some of
        them.
        """
        written = self.node.value
        if not isinstance(written, list | dict) or type(args) is not type(written):
            return
        wrong = function.check(args) if function.check and len(args) < len(written) else None
        if wrong is not None:
            raise EvaluationError(wrong)

    def parts(self) -> Iterator[Expr]:
        yield self.args


class If(Expr):
    """A choice between two expressions. Only the selected one is evaluated; the other may be
    invalid.
    """

    __slots__ = ("at", "condition", "otherwise", "then")

    def __init__(self, condition: Expr, then: Expr, otherwise: Expr, at: Span) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        self.at = at

    def specialise(self, scope: Scope) -> Expr:
        try:
            truth = scope.truth(self.condition.evaluate(scope))
        except EvaluationError as error:
            return Broken((scope.condition_problem(error, self.at),))
        return (self.then if truth is True else self.otherwise).specialise(scope)

    def evaluate(self, scope: Scope) -> Any:
        truth = scope.truth(self.condition.evaluate(scope))
        if isinstance(truth, Unknown):
            return scope.undecided(self)
        return (self.then if truth else self.otherwise).evaluate(scope)


class Broken(Expr):
    """An invalid expression and its problems. Evaluating it raises the first problem.

    Outside of `if`, the compiler reports the problems even if nothing evaluates the expression.
    """

    __slots__ = ("problems",)

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems

    def specialise(self, scope: Scope) -> Expr:
        return self

    def evaluate(self, scope: Scope) -> Any:
        raise EvaluationError(self.problems[0].text, self.problems[0].at)


COMPUTED: Final = _Computed()


def list_of(items: list[Expr]) -> Expr:
    """Return a list expression; if all items are constants, return a constant."""
    values = []
    secret = False
    for item in items:
        if not isinstance(item, Const):
            return ListOf(items)
        values.append(item.value)
        secret = secret or item.secret
    return Const(values, secret)


def map_of(entries: dict[str, Expr]) -> Expr:
    """Return a map expression; if all entries are constants, return a constant."""
    values = {}
    secret = False
    for key, entry in entries.items():
        if not isinstance(entry, Const):
            return MapOf(entries)
        values[key] = entry.value
        secret = secret or entry.secret
    return Const(values, secret)


def shape(expr: Expr) -> Any:
    """Return the arguments of a call as plain values, with COMPUTED in place of nested calls."""
    match expr:
        case Const():
            return expr.value
        case ListOf():
            return [shape(item) for item in expr.items]
        case MapOf():
            return {key: shape(entry) for key, entry in expr.entries.items()}
        case _:
            return COMPUTED


def problems_in(expr: Expr) -> Iterator[Problem]:
    """Yield the problems of the invalid parts of an expression, except those inside an `if`."""
    if isinstance(expr, Broken):
        yield from expr.problems
    elif not isinstance(expr, Const):
        for part in expr.parts():
            yield from problems_in(part)


def calls_in(expr: Expr) -> Iterator[Call]:
    """Yield the calls in an expression, outer calls first, except those inside an `if`."""
    if isinstance(expr, Const):
        return
    if isinstance(expr, Call):
        yield expr
    for part in expr.parts():
        yield from calls_in(part)


def frozen(expr: Evaluable) -> Any:
    """Return an expression as JSON data; equal expressions have equal data."""
    match expr:
        case Const():
            return ["=", plain(expr.value)]
        case ListOf():
            return ["list", [frozen(item) for item in expr.items]]
        case MapOf():
            return ["map", {key: frozen(entry) for key, entry in expr.entries.items()}]
        case Call():
            return ["call", expr.function.name, frozen(expr.args)]
        case If():
            return ["if", frozen(expr.condition), frozen(expr.then), frozen(expr.otherwise)]
        case _:
            return ["broken"]


def keys_of(expr: Expr) -> tuple[str, ...]:
    """Return the keys of an expression that is a literal map; for any other expression, nothing."""
    match expr:
        case MapOf(entries=entries):
            return tuple(entries)
        case Const(value=dict() as values):
            return tuple(values)
        case _:
            return ()


def plain(value: Any) -> Any:
    """Return the value with each Unknown represented as a map."""
    if type(value) in SCALARS:
        return value
    match value:
        case Unknown():
            return {"unknown": sorted(value.until)}
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case _:
            return value


def _omitted(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is OMIT
