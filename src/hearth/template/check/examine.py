"""The examination of a template and of its nested templates."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from hearth.model.problem import CircularDependencyException, Notice, Problem, hint, nearest
from hearth.model.span import Span, Step
from hearth.model.unknown import nulled
from hearth.model.value import ValueKind
from hearth.schema import Findings, SupportStatus, coerce_all
from hearth.schema.named import unknown_constraint, wrong_value
from hearth.template import agents
from hearth.template.budget import spending
from hearth.template.check.cycles import cycles
from hearth.template.check.names import NameChecks
from hearth.template.check.networks import Mistake, mistakes
from hearth.template.check.report import Report
from hearth.template.check.scope import StaticScope
from hearth.template.check.unused import unused
from hearth.template.check.values import Values, parts
from hearth.template.child import ChildType
from hearth.template.compile import TOO_DEEP, syntax_problems
from hearth.template.declare import WRONG_DEFAULT
from hearth.template.expr import OMIT, Call, Const, Expr, MapOf, frozen
from hearth.template.functions import EvaluationError
from hearth.template.load import Node
from hearth.template.parameters import ParameterSchema, lookups, parse_value
from hearth.template.parse import EMPTY, OutputSource, ResourceSource
from hearth.template.program import Binding, Module
from hearth.template.static import check_depends_on
from hearth.template.types import TypeInfo, allows_snapshot


def examine(module: Module, *, alone: bool = False) -> list[Problem]:
    """Return the errors and warnings of a template and its nested templates.

    Each problem names its own file; warnings are of the class Notice. If `alone` is true, no
    environment is known; then missing values that an environment could provide to a nested template
    are only warnings.
    """
    report = Report()
    with spending():
        for nested in modules(module):
            _Template(nested, report, alone=alone).examine()
    for problem in module.problems:
        if problem.code == TOO_DEEP:  # found at the end of the chain, reported where it begins
            report.add(problem)
    return report.problems


class _Template:
    """The examination of one template, which may be a nested one."""

    def __init__(self, module: Module, report: Report, *, alone: bool) -> None:
        self.module = module
        self.syntax = module.syntax
        self.grammar = module.syntax.grammar
        self.file = module.syntax.file
        self.report = report
        self.scope = StaticScope(module)
        self.names = NameChecks(module, self.scope, report)
        self.values = Values(self.names, self.scope, self.grammar, report)
        self.values.alone = alone
        self.known: dict[str, Mapping[str, Any]] = {}  # values of properties, by resource

    def examine(self) -> None:
        for problem in syntax_problems(self.syntax, self.module.environment):
            self.report.add(problem)
        self.surprises()
        self.constraints()
        self.conditions()
        possible = {
            name: source
            for name, source in self.syntax.resources.items()
            if self.resource(source, self.module.bindings[name])
        }
        for source in possible.values():
            self.agents(source, self.module.bindings[source.name].type_info)
        for mistake in mistakes(list(possible.values()), self.known):
            self.mistake(mistake)
        for output in self.syntax.outputs.values():
            self.output(output)
        for name in self.syntax.parameters.keys() & self.syntax.resources.keys():
            message = f'a parameter and a resource have the same name "{name}"'
            self.report.wrong(self.syntax.resources[name].at, "name-taken", message)
        for at, cycle in cycles(possible):
            if _together([possible[name] for name in cycle]):
                self.report.add(CircularDependencyException(at, cycle, code="cycle"))
        for notice in unused(self.module):
            self.report.add(notice)

    def section(self, ours: str) -> Mapping[str, Node]:
        node = self.syntax.root.value.get(self.grammar.word(ours))
        return node.value if node is not None and isinstance(node.value, dict) else {}

    def surprises(self) -> None:
        """Report parameter names and defaults without quotes that YAML does not read as text, such
        as `yes` or `010`. Report also defaults of the wrong type.
        """
        for name, node in self.section("parameters").items():
            at = node.key_span(self.file, f"{self.grammar.word('parameters')}.{name}")
            if node.odd_key:
                message = (
                    f'without quotes this name is not text; the name of the parameter is "{name}"'
                )
                self.report.notice(at, "surprising-scalar", message)
            default = node.child("default" if self.grammar.hot else "Default")
            schema = self.syntax.parameters.get(name)
            if schema is not None:
                self.named_constraints(schema, node, at)
            if schema is not None and default is not None:
                self.default(schema, default, at)
                prop = schema.as_property(required=False)
                if default.odd and prop.kind is ValueKind.STRING:
                    message = f"without quotes this default is {default.value}, not a string"
                    self.report.notice(
                        default.span(self.file, at.path), "surprising-scalar", message
                    )

    def default(self, schema: ParameterSchema, node: Node, at: Span) -> None:
        """Report a default of the wrong type or against a custom constraint: as an error if the
        default is used, else as a warning.
        """
        if not schema.has_default:
            return
        try:
            value = parse_value(schema.type, schema.default)
            errors = (wrong_value(constraint.name, value) for constraint in lookups(schema))
            reason = next(filter(None, errors), None)
        except ValueError as error:
            reason = str(error) if schema.judged_late else None
        if reason is None:
            return
        environment = self.module.environment
        values = {**environment.parameters, **environment.parameter_defaults}
        used = self.module.depth == 0 and schema.name not in values
        tell = self.report.wrong if used else self.report.notice
        message = f'parameter "{schema.name}": default: {reason}'
        tell(node.span(self.file, at.path), WRONG_DEFAULT, message)

    def named_constraints(self, schema: ParameterSchema, node: Node, at: Span) -> None:
        """Report custom constraints of a parameter that do not exist."""
        for constraint in lookups(schema):
            if (message := unknown_constraint(constraint.name)) is not None:
                section = node.child("constraints") or node
                self.report.wrong(section.span(self.file, at.path), "wrong-declaration", message)

    def constraints(self) -> None:
        """Report list items in the `constraints` of a parameter that contain several constraints.

        Only one constraint of such an item is used. Source: docs/spec/hot.md, section 4.3.
        """
        for name, node in self.section("parameters").items():
            section = node.child("constraints")
            for entry in section.value if section and isinstance(section.value, list) else ():
                kinds = entry.value if isinstance(entry.value, dict) else {}
                names = [kind for kind in self.grammar.constraints if kind in kinds]
                for kind in names[1:]:
                    at = kinds[kind].key_span(self.file, f"parameters.{name}")
                    message = (
                        f'"{kind}" is ignored because of "{names[0]}": put it in a separate entry'
                    )
                    self.report.notice(at, "ignored-key", message)

    # -- conditions -------------------------------------------------------------------------

    def conditions(self) -> None:
        for name, node in self.section("conditions").items():
            expr = self.syntax.conditions.get(name)
            if expr is None:
                continue
            path = f"{self.grammar.word('conditions')}.{name}"
            before = len(self.report.problems)
            self.names.within(expr)
            if len(self.report.problems) > before:
                continue
            try:
                truth = self.scope.conditions.decide(name)
            except EvaluationError as error:
                at = error.at or node.span(self.file, path)
                self.report.wrong(at, "wrong-condition", str(error))
                continue
            if isinstance(truth, bool) and isinstance(expr, Call):
                message = f'the condition "{name}" is always {str(truth).lower()}'
                at = node.key_span(self.file, path)
                self.report.notice(at, "constant-condition", message)

    def enabling(self, condition: Expr | None, fields: Mapping[str, Node], at: Span) -> bool:
        """Check the condition of a resource or an output; return False if it is certainly false.

        A missing or an invalid condition counts as true.
        """
        node = fields.get(self.grammar.word("condition"))
        if condition is None or node is None:
            return True
        before = len(self.report.problems)
        self.names.condition(condition, node, at)
        if len(self.report.problems) > before:
            return True
        try:
            truth = self.scope.truth(condition.evaluate(self.scope))
        except EvaluationError as error:
            if not self.scope.conditions.failed:  # else it is reported at the definition
                self.report.wrong(error.at or node.span(self.file), "wrong-condition", str(error))
            return True
        return truth is not False

    # -- resources --------------------------------------------------------------------------

    def resource(self, source: ResourceSource, binding: Binding) -> bool:
        """Check a resource; return whether it can exist, that is, whether its condition can be
        true.
        """
        fields: Mapping[str, Node] = source.node.value
        if not self.enabling(source.condition, fields, source.at):
            return False
        for problem in binding.problems:
            self.report.add(problem)
        if binding.child is None:
            for problem in binding.inside:
                self.report.add(problem)
        for problem in check_depends_on(source, self.names.resources):
            self.report.add(problem)
        word = self.grammar.word
        self.walked(
            source.metadata, fields.get(word("metadata")), source.at.under(word("metadata"))
        )
        self.walked(source.external_id, fields.get("external_id"), source.at.under("external_id"))
        self.deletion_policy(source, binding.type_info, fields)
        if binding.type_info is None:
            self.names.within(source.properties)
            return True
        self.type_notices(source, binding.type_info)
        self.properties(source, binding.type_info)
        policy = fields.get(word("update_policy"))
        if policy is not None and source.update_policy is not EMPTY:
            at = source.at.under(word("update_policy"))
            self.values.entries(binding.type_info.update_policy, source.update_policy, policy, at)
        return True

    def walked(self, expr: Expr | None, node: Node | None, at: Span) -> None:
        if expr is not None and node is not None:
            self.values.check(expr, node, None, at)

    def deletion_policy(
        self, source: ResourceSource, type_info: TypeInfo | None, fields: Mapping[str, Node]
    ) -> None:
        word = self.grammar.word("deletion_policy")
        node = fields.get(word)
        if node is None or source.deletion_policy is None:
            return
        at = node.span(self.file, source.at.under(word).path)
        if not isinstance(source.deletion_policy, Const):
            self.names.within(source.deletion_policy)
            return
        policy, policies = source.deletion_policy.value, self.grammar.deletion_policies
        if not isinstance(policy, str) or policy not in policies:
            near = nearest(str(policy), policies)
            message = f'there is no deletion policy "{policy}"{hint(near)}'
            self.report.wrong(at, "value-not-allowed", message, near)
        elif policy.lower() == "snapshot" and type_info and not allows_snapshot(type_info):
            message = f'the deletion policy "{policy}" is not possible for {source.type}'
            self.report.wrong(at, "value-not-allowed", message)

    def type_notices(self, source: ResourceSource, type_info: TypeInfo) -> None:
        node = source.node.value.get(self.grammar.word("type"))
        support = type_info.support
        if node is None or support is None:
            return
        if support.status in (SupportStatus.DEPRECATED, SupportStatus.HIDDEN):
            retired = support.status is SupportStatus.HIDDEN
            message = f"{source.type} is no longer recommended"
            if retired and getattr(type_info, "accepts_any_property", False):
                message = f"{source.type} is retired and creates nothing"
            if support.message:
                message += f": {support.message}"
            self.report.notice(node.span(self.file, source.at.path), "deprecated", message)

    def properties(self, source: ResourceSource, type_info: TypeInfo) -> None:
        word = self.grammar.word("properties")
        at = source.at.under(word)
        node = source.node.value.get(word)
        expr = source.properties
        before = len(self.report.problems)
        # the properties of an external resource change nothing
        if getattr(type_info, "accepts_any_property", False) or source.external_id is not None:
            self.names.within(expr)
            return
        if not isinstance(expr, MapOf | Const):
            if node is not None:
                message = f"{word} must be a literal map: functions are allowed only inside it"
                self.report.wrong(node.key_span(self.file, at.path), "wrong-type", message)
            return
        exprs = dict(parts(expr))
        if node is not None:
            self.values.entries(type_info.properties, expr, node, at)
        self.member(source, type_info)
        span = node.key_span(self.file, at.path) if node is not None else source.at
        rules = getattr(type_info, "translation", ())
        child = isinstance(type_info, ChildType)
        self.values.required(type_info.properties, exprs, span, rules, of_child=child)
        if all(isinstance(problem, Notice) for problem in self.report.problems[before:]):
            self.together(source, exprs, type_info, span)

    def member(self, source: ResourceSource, group: TypeInfo) -> None:
        """Check the definition of a group's members; do nothing if the resource is not a group.

        Source: docs/spec/groups-and-nesting.md.
        """
        name = getattr(group, "member_property", None)
        binding = self.module.members.get(source.name)
        word = self.grammar.word("properties")
        node = source.node.child(word, name) if name is not None else None
        if binding is None or node is None or name is None:
            return
        if (keys := getattr(group, "member_keys", None)) is not None:
            self.ignored(node.value, keys, "a member", source.at.under(word, name))
        for problem in binding.problems:
            self.report.add(problem)
        if binding.child is None:
            for problem in binding.inside:
                self.report.add(problem)
        properties = node.child("properties")
        type_info = binding.type_info
        if type_info is None or getattr(type_info, "accepts_any_property", False):
            return
        child = isinstance(type_info, ChildType)
        entries = _under(source.properties, name, "properties")
        at = source.at.under(word, name, "properties")
        if properties is None:
            at_type = node.value["type"].key_span(self.file, at.path)
            self.values.required(type_info.properties, (), at_type, of_child=child)
        elif isinstance(entries, MapOf | Const) and isinstance(properties.value, dict):
            marked = source.node.child(word, "index_var")
            mark = marked.value if marked is not None else "%index%"
            self.values.marks = (mark,) if isinstance(mark, str) else ()
            self.values.entries(type_info.properties, entries, properties, at)
            span = properties.key_span(self.file, at.path)
            names = dict(parts(entries))
            self.values.required(type_info.properties, names, span, of_child=child)
            self.values.marks = ()

    def together(
        self, source: ResourceSource, exprs: Mapping[str, Expr], type_info: TypeInfo, at: Span
    ) -> None:
        """Check the relations between the properties of a resource, as far as their values are
        known. `exprs` contains the expressions of the properties that are given.

        Nothing is checked if a property cannot be evaluated or has the wrong type.
        """
        values: dict[str, Any] = {}
        for name, expr in exprs.items():
            try:
                value = expr.evaluate(self.scope)
            except EvaluationError:
                return
            if value is not OMIT:
                values[name] = value
        schema = type_info.properties
        lax, strict = Findings(constrain=False, require=False), Findings(constrain=False)
        properties = coerce_all(schema, values, at, lax)
        if not lax.problems:
            self.known[source.name] = nulled(properties)
            coerce_all(
                {name: schema[name] for name in values if name in schema}, values, at, strict
            )
            for problem in strict.problems:  # a value inside is missing or null
                self.report.add(problem)
        if not (lax.problems or strict.problems):
            for conflict in type_info.conflicts(properties):
                steps: list[Step] = [self.grammar.word("properties"), *conflict.path]
                span = source.node.nearest_to(steps).span(self.file, at.under(*conflict.path).path)
                code = "wrong-value" if conflict.path else "properties-conflict"
                self.report.wrong(span if conflict.path else at, code, conflict.message)

    def agents(self, source: ResourceSource, type_info: TypeInfo | None) -> None:
        """Report software deployments on servers whose agent never asks for them."""
        if type_info is None:
            return
        word = self.grammar.word("properties")
        for path, name in agents.servers_of(type_info, source.properties):
            binding, values = self.module.bindings.get(name), self.known.get(name)
            if binding is None or binding.type_info is None or values is None:
                continue
            message = agents.refusal(name, binding.type_info, values)
            if message is not None and self.syntax.resources[name].external_id is None:
                value_node = source.node.nearest_to([word, *path.split(".")])
                at = value_node.span(self.file, source.at.under(word, *path.split(".")).path)
                self.report.wrong(at, agents.NO_AGENT, message)

    def mistake(self, mistake: Mistake) -> None:
        """Report a mistake with networks as a warning, because a cloud may have extensions."""
        word = self.grammar.word("properties")
        node = mistake.source.node.nearest_to([word, *mistake.steps])
        at = mistake.source.at.under(word, *mistake.steps)
        self.report.notice(node.span(self.file, at.path), mistake.code, mistake.message)

    # -- outputs ----------------------------------------------------------------------------

    def output(self, output: OutputSource) -> None:
        fields = self.section("outputs")[output.name].value
        word = self.grammar.word("value")
        if self.enabling(output.condition, fields, output.at):
            self.walked(output.value, fields.get(word), output.at.under(word))
        self.ignored(fields, self.grammar.output_keys, "an output", output.at)

    def ignored(
        self, fields: Mapping[str, Node], keys: Collection[str], owner: str, at: Span
    ) -> None:
        """Report each key of `fields` that is not in `keys`; they belong to `owner` at `at`."""
        for key, node in fields.items():
            if key not in keys:
                near = nearest(key, keys)
                message = f'"{key}" is not a key of {owner} and is ignored{hint(near)}'
                self.report.notice(node.key_span(self.file, at.path), "ignored-key", message, near)


def _together(sources: Sequence[ResourceSource]) -> bool:
    """Return whether the resources can certainly exist together: they do not have two different
    conditions.
    """
    conditions = [
        json.dumps(frozen(source.condition)) for source in sources if source.condition is not None
    ]
    return len(set(conditions)) < 2


def _under(expr: Expr, *names: str) -> Expr | None:
    """Return the part of an expression at a path of keys; None if the path does not exist."""
    part: Expr | None = expr
    for name in names:
        part = dict(parts(part)).get(name) if part is not None else None
    return part


def modules(root: Module) -> Iterator[Module]:
    """Yield a module and all its nested modules, but only one module per file."""
    files: set[str] = set()
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if module.syntax.file not in files:
            files.add(module.syntax.file)
            yield module
            bindings = (*module.bindings.values(), *module.members.values())
            waiting.extend(b.child for b in bindings if b.child is not None)
