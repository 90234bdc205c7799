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
from hearth.template.check.names import Names
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
from hearth.template.types import TypeInfo


def examine(module: Module, *, alone: bool = False) -> list[Problem]:
    """Return the errors and warnings of a template and its nested templates.

    Each problem names its own file; warnings are of the class Notice. If `alone` is true, no
    environment is known; then missing values that an environment could provide to a nested template
    are only warnings.
    """
    report = Report()
    with spending():
        for one in modules(module):
            _Template(one, report, alone=alone).examine()
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
        self.names = Names(module, self.scope, report)
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
            words = f'a parameter and a resource have the same name "{name}"'
            self.report.wrong(self.syntax.resources[name].at, "name-taken", words)
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
                words = (
                    f'without quotes this name is not text; the name of the parameter is "{name}"'
                )
                self.report.notice(at, "surprising-scalar", words)
            default = node.child("default" if self.grammar.hot else "Default")
            schema = self.syntax.parameters.get(name)
            if schema is not None:
                self.named_constraints(schema, node, at)
            if schema is not None and default is not None:
                self.default(schema, default, at)
                prop = schema.as_property(required=False)
                if default.odd and prop.kind is ValueKind.STRING:
                    words = f"without quotes this default is {default.value}, not a string"
                    self.report.notice(default.span(self.file, at.path), "surprising-scalar", words)

    def default(self, schema: ParameterSchema, node: Node, at: Span) -> None:
        """Report a default of the wrong type or against a custom constraint: as an error if the
        default is used, else as a warning.
        """
        if not schema.has_default:
            return
        try:
            value = parse_value(schema.type, schema.default)
            named = (wrong_value(one.name, value) for one in lookups(schema))
            why = next(filter(None, named), None)
        except ValueError as error:
            why = str(error) if schema.judged_late else None
        if why is None:
            return
        environment = self.module.environment
        given = {**environment.parameters, **environment.parameter_defaults}
        used = self.module.depth == 0 and schema.name not in given
        tell = self.report.wrong if used else self.report.notice
        words = f'parameter "{schema.name}": default: {why}'
        tell(node.span(self.file, at.path), WRONG_DEFAULT, words)

    def named_constraints(self, schema: ParameterSchema, node: Node, at: Span) -> None:
        """Report custom constraints of a parameter that do not exist."""
        for constraint in lookups(schema):
            if (words := unknown_constraint(constraint.name)) is not None:
                place = node.child("constraints") or node
                self.report.wrong(place.span(self.file, at.path), "wrong-declaration", words)

    def constraints(self) -> None:
        """Report list items in the `constraints` of a parameter that contain several constraints.

        Only one constraint of such an item is used. Source: spec/hot.md, section 4.3.
        """
        for name, node in self.section("parameters").items():
            listed = node.child("constraints")
            for entry in listed.value if listed and isinstance(listed.value, list) else ():
                kinds = entry.value if isinstance(entry.value, dict) else {}
                given = [kind for kind in self.grammar.constraints if kind in kinds]
                for kind in given[1:]:
                    at = kinds[kind].key_span(self.file, f"parameters.{name}")
                    words = (
                        f'"{kind}" is ignored because of "{given[0]}": put it in a separate entry'
                    )
                    self.report.notice(at, "ignored-key", words)

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
                words = f'the condition "{name}" is always {str(truth).lower()}'
                at = node.key_span(self.file, path)
                self.report.notice(at, "constant-condition", words)

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
        policy, known = source.deletion_policy.value, self.grammar.deletion_policies
        if not isinstance(policy, str) or policy not in known:
            near = nearest(str(policy), known)
            words = f'there is no deletion policy "{policy}"{hint(near)}'
            self.report.wrong(at, "value-not-allowed", words, near)
        elif policy.lower() == "snapshot" and type_info and not type_info.snapshot_policy_allowed:
            words = f'the deletion policy "{policy}" is not possible for {source.type}'
            self.report.wrong(at, "value-not-allowed", words)

    def type_notices(self, source: ResourceSource, type_info: TypeInfo) -> None:
        node = source.node.value.get(self.grammar.word("type"))
        support = type_info.support
        if node is None or support is None:
            return
        if support.status in (SupportStatus.DEPRECATED, SupportStatus.HIDDEN):
            retired = support.status is SupportStatus.HIDDEN
            words = f"{source.type} is no longer recommended"
            if retired and getattr(type_info, "accepts_any_property", False):
                words = f"{source.type} is retired and creates nothing"
            if support.message:
                words += f": {support.message}"
            self.report.notice(node.span(self.file, source.at.path), "deprecated", words)

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
                words = f"{word} must be a literal map: functions are allowed only inside it"
                self.report.wrong(node.key_span(self.file, at.path), "wrong-type", words)
            return
        given = dict(parts(expr))
        if node is not None:
            self.values.entries(type_info.properties, expr, node, at)
        self.member(source, type_info)
        place = node.key_span(self.file, at.path) if node is not None else source.at
        rules = getattr(type_info, "translation", ())
        child = isinstance(type_info, ChildType)
        self.values.required(type_info.properties, given, place, rules, of_child=child)
        if all(isinstance(one, Notice) for one in self.report.problems[before:]):
            self.together(source, given, type_info, place)

    def member(self, source: ResourceSource, group: TypeInfo) -> None:
        """Check the definition of a group's members; do nothing if the resource is not a group.

        Source: spec/groups-and-nesting.md.
        """
        name = getattr(group, "member_property", None)
        binding = self.module.members.get(source.name)
        word = self.grammar.word("properties")
        node = source.node.child(word, name) if name is not None else None
        if binding is None or node is None or name is None:
            return
        if (known := getattr(group, "member_keys", None)) is not None:
            self.ignored(node.value, known, "a member", source.at.under(word, name))
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
        given = _under(source.properties, name, "properties")
        at = source.at.under(word, name, "properties")
        if properties is None:
            at_type = node.value["type"].key_span(self.file, at.path)
            self.values.required(type_info.properties, (), at_type, of_child=child)
        elif isinstance(given, MapOf | Const) and isinstance(properties.value, dict):
            marked = source.node.child(word, "index_var")
            mark = marked.value if marked is not None else "%index%"
            self.values.marks = (mark,) if isinstance(mark, str) else ()
            self.values.entries(type_info.properties, given, properties, at)
            place = properties.key_span(self.file, at.path)
            names = dict(parts(given))
            self.values.required(type_info.properties, names, place, of_child=child)
            self.values.marks = ()

    def together(
        self, source: ResourceSource, given: Mapping[str, Expr], type_info: TypeInfo, at: Span
    ) -> None:
        """Check the relations between the properties of a resource, as far as their values are
        known. `given` contains the expressions of the properties that are given.

        Nothing is checked if a property cannot be evaluated or has the wrong type.
        """
        known: dict[str, Any] = {}
        for name, expr in given.items():
            try:
                value = expr.evaluate(self.scope)
            except EvaluationError:
                return
            if value is not OMIT:
                known[name] = value
        schema = type_info.properties
        lax, strict = Findings(constrain=False, require=False), Findings(constrain=False)
        properties = coerce_all(schema, known, at, lax)
        if not lax.problems:
            self.known[source.name] = nulled(properties)
            coerce_all({name: schema[name] for name in known if name in schema}, known, at, strict)
            for problem in strict.problems:  # a value inside is missing or null
                self.report.add(problem)
        if not (lax.problems or strict.problems):
            for one in type_info.conflicts(properties):
                steps: list[Step] = [self.grammar.word("properties"), *one.path]
                place = source.node.nearest_to(steps).span(self.file, at.under(*one.path).path)
                code = "wrong-value" if one.path else "properties-conflict"
                self.report.wrong(place if one.path else at, code, one.message)

    def agents(self, source: ResourceSource, type_info: TypeInfo | None) -> None:
        """Report software deployments on servers whose agent never asks for them."""
        if type_info is None:
            return
        word = self.grammar.word("properties")
        for path, name in agents.servers_of(type_info, source.properties):
            binding, values = self.module.bindings.get(name), self.known.get(name)
            if binding is None or binding.type_info is None or values is None:
                continue
            words = agents.refusal(name, binding.type_info, values)
            if words is not None and self.syntax.resources[name].external_id is None:
                place = source.node.nearest_to([word, *path.split(".")])
                at = place.span(self.file, source.at.under(word, *path.split(".")).path)
                self.report.wrong(at, agents.NO_AGENT, words)

    def mistake(self, found: Mistake) -> None:
        """Report a mistake with networks as a warning, because a cloud may have extensions."""
        word = self.grammar.word("properties")
        node = found.source.node.nearest_to([word, *found.steps])
        at = found.source.at.under(word, *found.steps)
        self.report.notice(node.span(self.file, at.path), found.code, found.words)

    # -- outputs ----------------------------------------------------------------------------

    def output(self, output: OutputSource) -> None:
        fields = self.section("outputs")[output.name].value
        word = self.grammar.word("value")
        if self.enabling(output.condition, fields, output.at):
            self.walked(output.value, fields.get(word), output.at.under(word))
        self.ignored(fields, self.grammar.output_keys, "an output", output.at)

    def ignored(
        self, fields: Mapping[str, Node], known: Collection[str], what: str, at: Span
    ) -> None:
        """Report each key of `fields` that is not in `known`; they belong to `what` at `at`."""
        for key, node in fields.items():
            if key not in known:
                near = nearest(key, known)
                words = f'"{key}" is not a key of {what} and is ignored{hint(near)}'
                self.report.notice(node.key_span(self.file, at.path), "ignored-key", words, near)


def _together(sources: Sequence[ResourceSource]) -> bool:
    """Return whether the resources can certainly exist together: they do not have two different
    conditions.
    """
    conditions = [json.dumps(frozen(one.condition)) for one in sources if one.condition is not None]
    return len(set(conditions)) < 2


def _under(expr: Expr, *names: str) -> Expr | None:
    """Return the part of an expression at a path of keys; None if the path does not exist."""
    found: Expr | None = expr
    for name in names:
        found = dict(parts(found)).get(name) if found is not None else None
    return found


def modules(root: Module) -> Iterator[Module]:
    """Yield a module and all its nested modules, but only one module per file."""
    seen: set[str] = set()
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if one.syntax.file not in seen:
            seen.add(one.syntax.file)
            yield one
            bindings = (*one.bindings.values(), *one.members.values())
            waiting.extend(b.child for b in bindings if b.child is not None)
