"""Checks of expressions against the schema of the property or section that contains them.

An expression and its node are traversed together: the expression defines the value, and the node
its position in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from hearth.model.problem import Problem, StackValidationFailed, hint, nearest
from hearth.model.span import Span
from hearth.model.unknown import Unknown
from hearth.model.value import ValueKind
from hearth.schema import (
    AllowedPattern,
    AllowedValues,
    Custom,
    Findings,
    Lookup,
    Prop,
    Rule,
    SupportStatus,
    coerce,
)
from hearth.schema.convert import BAD, CONVERT
from hearth.schema.named import wrong_value
from hearth.template.check.names import NameChecks
from hearth.template.check.report import Report
from hearth.template.check.scope import StaticScope
from hearth.template.expr import OMIT, Broken, Call, Const, Expr, If, ListOf, MapOf, frozen
from hearth.template.function import Refers
from hearth.template.functions import EvaluationError
from hearth.template.load import Node
from hearth.template.program import without_replaced
from hearth.template.signature import spoken
from hearth.template.static import unknown_property
from hearth.template.versions import GRAMMARS, Grammar

TEXTUAL = frozenset({ValueKind.STRING, ValueKind.INTEGER, ValueKind.NUMBER, ValueKind.BOOLEAN})
FITS: Mapping[ValueKind, frozenset[ValueKind]] = {
    ValueKind.STRING: TEXTUAL,
    ValueKind.INTEGER: TEXTUAL,
    ValueKind.NUMBER: TEXTUAL,
    ValueKind.BOOLEAN: frozenset({ValueKind.BOOLEAN, ValueKind.STRING}),
    ValueKind.LIST: frozenset({ValueKind.LIST}),
    ValueKind.MAP: frozenset({ValueKind.MAP}),
    ValueKind.ANY: frozenset(ValueKind),
}
"""The types of values that a property of each type accepts.

Source: docs/spec/hot.md, section 6.1.
"""


class Values:
    """Checks the values in one template."""

    def __init__(
        self, names: NameChecks, scope: StaticScope, grammar: Grammar, report: Report
    ) -> None:
        self.names = names
        self.scope = scope
        self.grammar = grammar
        self.report = report
        self.alone = False  # no environment is known, which could give parameters of children
        self.marks: tuple[str, ...] = ()  # texts that are replaced later, such as `%index%`

    def check(self, expr: Expr, node: Node, prop: Prop | None, at: Span) -> None:
        """Check an expression with the schema `prop`, if any.

        `at` provides the file and the path of the place; the line and the column are those of the
        node.
        """
        match expr:
            case Broken():
                for problem in expr.problems:
                    self.report.add(problem)
            case If():
                self.choice(expr, node, prop, at)
            case Call():
                self.call(expr, node, prop, at)
            case MapOf() | Const(value=dict()):
                self.map(expr, node, prop, at)
            case ListOf() | Const(value=list()):
                self.list(expr, node, prop, at)
            case Const() if prop is not None:
                self.scalar(expr.value, node, prop, at)

    # -- literals ---------------------------------------------------------------------------

    def scalar(self, value: Any, node: Node, prop: Prop, at: Span) -> None:
        if value is None or value is OMIT:
            return
        if isinstance(value, str) and any(mark in value for mark in self.marks):
            return
        span = node.span(at.file, at.path)
        coerced = CONVERT[prop.kind](prop, value)
        if coerced is BAD:
            self.mismatch(span, f'"{_brief(value)}"', prop)
            return
        if node.odd and prop.kind is ValueKind.STRING:
            message = f"without quotes this is the {_kind(value)} {_brief(value)}, not a string"
            self.report.notice(span, "surprising-scalar", message)
        self.constraints(prop, coerced, span)

    def constraints(self, prop: Prop, value: Any, at: Span) -> None:
        for constraint in prop.constraints:
            try:
                if isinstance(constraint, Custom):
                    message = wrong_value(constraint.name, value)
                else:
                    message = constraint.wrong(value)
            except TypeError:
                message = f'"{_brief(value)}" has the wrong type for a constraint'
            if message is None:
                continue
            code, near = "value-out-of-range", None
            if isinstance(constraint, AllowedValues):
                code = "value-not-allowed"
                near = nearest(
                    str(value), [str(allowed_value) for allowed_value in constraint.values]
                )
            elif isinstance(constraint, AllowedPattern | Custom):
                code = "value-not-allowed"
            self.report.wrong(at, code, f"{message}{hint(near)}", near)
            return

    def mismatch(self, at: Span, subject: str, prop: Prop) -> None:
        article = "an" if prop.kind in (ValueKind.INTEGER, ValueKind.ANY) else "a"
        self.report.wrong(at, "wrong-type", f"{subject} is not {article} {prop.kind}")

    # -- maps and lists ---------------------------------------------------------------------

    def map(self, expr: Expr, node: Node, prop: Prop | None, at: Span) -> None:
        span = node.span(at.file, at.path)
        if prop is not None and not _takes(prop, ValueKind.MAP):
            if not self.looks_like_function(node, at):
                self.mismatch(span, "a map", prop)
            return
        entries = dict(parts(expr))
        if prop is not None and prop.kind is ValueKind.ANY:
            self.looks_like_function(node, at, notice=True)
        if prop is not None and prop.entries is not None:
            self.entries(prop.entries, expr, node, at)
            self.required(prop.entries, entries, span)
        else:
            inner = prop.item if prop is not None and prop.kind is ValueKind.MAP else None
            for key, inner_expr in entries.items():
                self.check(inner_expr, node.value[key], inner, at.under(key))
        if prop is not None and isinstance(expr, Const) and prop.kind is ValueKind.MAP:
            self.constraints(prop, expr.value, span)

    def entries(self, schema: Mapping[str, Prop], expr: Expr, node: Node, at: Span) -> None:
        """Check the entries of a map with a schema, and report names that the schema does not
        contain.
        """
        for key, entry in parts(expr):
            below: Node = node.value[key]
            prop = schema.get(key)
            if prop is None:
                span = below.key_span(at.file, at.path)
                self.report.add(unknown_property(span, key, schema))
                self.check(entry, below, None, at.under(key))
                continue
            self.support(prop, key, below, at)
            self.check(entry, below, prop, at.under(key))

    def support(self, prop: Prop, name: str, node: Node, at: Span) -> None:
        span = node.key_span(at.file, at.under(name).path)
        if not prop.implemented:
            self.report.wrong(span, "not-implemented", f'property "{name}" is not implemented')
        elif prop.support is not None and prop.support.status in (
            SupportStatus.DEPRECATED,
            SupportStatus.HIDDEN,
        ):
            message = f'property "{name}" is no longer recommended'
            if prop.support.message:
                message += f": {prop.support.message}"
            self.report.notice(span, "deprecated", message)

    def required(
        self,
        schema: Mapping[str, Prop],
        present: Iterable[str],
        at: Span,
        rules: Iterable[Rule] = (),
        *,
        of_child: bool = False,
    ) -> None:
        """Report required properties that are missing: those of `schema` that are not in `present`.

        A property is not required if `rules`, the translation of the type, takes its value from
        another property that is given. If `of_child` is true, the properties are the parameters of
        a nested template. A missing one is then only a warning if no environment is known, because
        an environment may provide it.
        """
        names = dict.fromkeys(present, True)
        for name, prop in without_replaced(schema, tuple(rules), names.keys()).items():
            if prop.required and not prop.has_default and name not in names:
                message = f'required property "{name}" is not given'
                if of_child and self.alone:
                    message += "; only parameter_defaults of an environment can set it"
                    self.report.notice(at, "missing-property", message)
                else:
                    self.report.wrong(at, "missing-property", message)

    def list(self, expr: Expr, node: Node, prop: Prop | None, at: Span) -> None:
        if prop is not None and not _takes(prop, ValueKind.LIST):
            self.mismatch(node.span(at.file, at.path), "a list", prop)
            return
        inner = prop.item if prop is not None and prop.kind is ValueKind.LIST else None
        for index, entry in parts(expr):
            self.check(entry, node.value[index], inner, at.under(index))
        if prop is not None and isinstance(expr, Const) and prop.kind is ValueKind.LIST:
            self.constraints(prop, expr.value, node.span(at.file, at.path))

    def looks_like_function(self, node: Node, at: Span, *, notice: bool = False) -> bool:
        """Report a map that is probably a misspelled call, or a call of another version's function.

        Such a map has a single key. If `notice` is false, it is reported as an error, and the
        result says whether an error was reported. If `notice` is true, it is only a warning.
        """
        if len(node.value) != 1:
            return False
        ((name, inner),) = node.value.items()
        if name in self.grammar.functions:
            return False
        span = inner.key_span(at.file, at.path)
        since = _since(name, self.grammar)
        if since is not None:
            message = f"{name} {since}: in {self.grammar.value} it is plain data"
            tell = self.report.notice if notice else self.report.wrong
            tell(span, "function-of-another-version", message)
            return True
        near = nearest(name, self.grammar.functions)
        if near is None:
            return False
        message = f'"{name}" is not a function of version {self.grammar.value}{hint(near)}'
        if notice:  # data may have such a key, but hardly one like the name of a function
            if "_" in near or "::" in near:
                self.report.notice(span, "unknown-function", f"{message} It is plain data.", near)
            return False
        self.report.wrong(span, "unknown-function", message, near)
        return True

    # -- what is computed -------------------------------------------------------------------

    def choice(self, expr: If, node: Node, prop: Prop | None, at: Span) -> None:
        ((word, args),) = node.value.items()
        before = len(self.report.problems)
        self.names.condition(expr.condition, args.value[0], at.under(word))
        truth: bool | Unknown = Unknown()
        if len(self.report.problems) == before:
            try:
                truth = self.scope.truth(expr.condition.evaluate(self.scope))
            except EvaluationError as error:
                self.failed(error, expr.at)
        if truth is not False:
            self.check(expr.then, args.value[1], prop, at.under(word, 1))
        if truth is not True and len(args.value) > 2:
            self.check(expr.otherwise, args.value[2], prop, at.under(word, 2))

    def call(self, expr: Call, node: Node, prop: Prop | None, at: Span) -> None:
        before = len(self.report.problems)
        self.names.within(expr)
        if len(self.report.problems) > before:
            return
        try:
            value = expr.evaluate(self.scope)
            self.alternatives(expr)
        except EvaluationError as error:
            self.failed(error, expr.at)
            return
        if prop is None or value is OMIT:
            return
        span = node.span(at.file, at.path)
        if isinstance(value, Unknown):
            if value.kinds and not any(_takes(prop, kind) for kind in value.kinds):
                self.mismatch(span, spoken(value.kinds), prop)
            elif not value.kinds and expr.function.refers is Refers.ATTRIBUTE:
                self.attribute(expr, span, prop)
            return
        findings = Findings()
        coerce(prop, value, span, findings)
        for problem in (*findings.problems, *against_names(findings.lookups))[:1]:
            self.report.wrong(span, "wrong-value", problem.text)

    def alternatives(self, expr: Call) -> None:
        """Evaluate a call with both branches of each `if` in its arguments.

        The conditions are assumed to be true and false one after the other. Raises EvaluationError.
        """
        if not isinstance(expr.args, ListOf | MapOf | If):
            return
        try:
            for condition in conditions_in(expr):
                for truth in (True, False):
                    self.scope.assumed = condition, truth
                    expr.evaluate(self.scope)
        finally:
            self.scope.assumed = None

    def attribute(self, expr: Call, at: Span, prop: Prop) -> None:
        """Check the declared type of an attribute. A mismatch is reported as a warning, because the
        cloud may return a value of another type.
        """
        kind = self.names.kind_of_attribute(expr)
        if kind is not None and not _takes(prop, kind):
            expected, got = spoken(frozenset({prop.kind})), spoken(frozenset({kind}))
            message = f"expected {expected}, but the attribute is {got}"
            self.report.notice(at, "attribute-type", message)

    def failed(self, error: EvaluationError, at: Span) -> None:
        """Report an expression whose value can never be computed."""
        span = replace(error.at or at, path=(error.at or at).path)
        self.report.wrong(span, "wrong-arguments", str(error))


def against_names(lookups: Iterable[Lookup]) -> Iterator[Problem]:
    """Yield a problem for each value that violates a constraint which needs no cloud."""
    for look in lookups:
        message = wrong_value(look.name, look.value)
        if message is not None:
            yield StackValidationFailed(look.at, message, code="value-not-allowed")


def conditions_in(expr: Expr) -> list[Any]:
    """Return the different conditions of all `if` functions in an expression, as JSON data."""
    conditions: list[Any] = []
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, If):
            condition = frozen(part.condition)
            if condition not in conditions:
                conditions.append(condition)
            waiting += [part.then, part.otherwise]
        waiting.extend(part.parts())
    return conditions


def parts(expr: Expr) -> Iterator[tuple[Any, Expr]]:
    """Yield (key or index, expression) for each item of a map or a list; else nothing."""
    match expr:
        case MapOf():
            yield from expr.entries.items()
        case ListOf():
            yield from enumerate(expr.items)
        case Const(value=dict() as values):
            yield from ((key, Const(value)) for key, value in values.items())
        case Const(value=list() as items):
            yield from ((index, Const(value)) for index, value in enumerate(items))


def _takes(prop: Prop, kind: ValueKind) -> bool:
    if kind in FITS[prop.kind]:
        return True
    if not prop.allow_conversion:
        return False
    if prop.kind is ValueKind.STRING:
        return True
    return kind is ValueKind.STRING or (prop.kind is ValueKind.MAP and kind is ValueKind.LIST)


def _since(name: str, grammar: Grammar) -> str | None:
    """Return the end of a message that says which templates have a function with this name.

    Return None if no version of HOT or CFN has it.
    """
    for version in reversed(GRAMMARS) if not grammar.hot else GRAMMARS:
        if version.functions.get(name):
            if version.hot and grammar.hot:
                return f"is a function since version {version.value}"
            if version.hot is not grammar.hot:
                return f"is a function of {'HOT' if version.hot else 'CFN'} templates"
    return None


def _kind(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "number"


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) < 80 else text[:77] + "..."
