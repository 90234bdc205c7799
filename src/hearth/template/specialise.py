"""From Module to Program: parameter values are read and checked, conditions decided, all that
needs only these computed, and the graph of the resources drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hearth.model.problem import (
    CircularDependencyException,
    InvalidTemplateReference,
    Problem,
    Rejected,
    RequestLimitExceeded,
    StackValidationFailed,
    UnknownUserParameter,
    UserParameterMissing,
    hint,
    nearest,
)
from hearth.model.span import Span
from hearth.model.state import DeletionPolicy
from hearth.model.unknown import Unknown
from hearth.schema import Lookup
from hearth.template.compile import check_references, check_resource, referred
from hearth.template.expr import Call, Const, Expr, If, ListOf, MapOf, calls_in, problems_in
from hearth.template.functions import EvaluationError
from hearth.template.functions.entry import Reads, Refers
from hearth.template.functions.read import CFN_REGION
from hearth.template.module import Module
from hearth.template.parameters import (
    MASK,
    ParameterSchema,
    ParameterType,
    ParameterValue,
    lookups,
    parse_value,
    unquoted,
    wrong,
)
from hearth.template.parse import EMPTY, OutputSource, ResourceSource
from hearth.template.program import (
    Evaluated,
    Output,
    Program,
    Read,
    ResourceDefinition,
    fingerprint_of,
)
from hearth.template.scope import Scope, hidden_texts
from hearth.template.types import Facade

FACADE_NAMES = ("resource_facade", "Fn::ResourceFacade")


@dataclass(frozen=True)
class Stack:
    """The stack that a program is for."""

    name: str
    id: str
    project_id: str


@dataclass(frozen=True)
class Reference:
    """A call that names a resource: the attribute is None for `get_resource`, the read () where
    all attributes, or computed ones, are read.
    """

    resource: str
    read: Read | None
    at: Span


class Core:
    """The part of a definition that programs of one module share while no parameter is in it."""

    __slots__ = (
        "_fingerprint",
        "deletion_policy",
        "dropped",
        "external_id",
        "has_policy",
        "hot",
        "metadata",
        "properties",
        "references",
        "source",
        "static",
        "update_policy",
    )

    def __init__(self, source: ResourceSource, scope: Scope | None, hot: bool) -> None:
        def narrowed(expr: Expr) -> Expr:
            return expr if scope is None or type(expr) is Const else expr.specialise(scope)

        self.source = source
        self.hot = hot
        self.properties = _by_entry(narrowed(source.properties), source.properties, scope)
        self.dropped = _names(source.properties) - _names(self.properties)
        self.metadata = narrowed(source.metadata)
        self.update_policy = narrowed(source.update_policy)
        self.has_policy = source.update_policy is not EMPTY
        self.deletion_policy = DeletionPolicy.DELETE.value
        self.external_id: str | None = None
        self.references = [
            *references_in(self.properties),
            *references_in(self.metadata),
        ]
        self.static: Evaluated | None = None
        self._fingerprint = ""

    def word(self, key: str) -> str:
        """A key of a resource in the words of its flavour."""
        return key if self.hot else key.title().replace("_", "")

    def fingerprint(self, type_name: str) -> str:
        """Equal for equal definitions."""
        if not self._fingerprint:
            parts = [
                type_name,
                self.properties,
                self.metadata,
                self.update_policy,
                self.deletion_policy,
                self.external_id,
                sorted(self.source.depends_on),
            ]
            self._fingerprint = fingerprint_of(parts)
        return self._fingerprint


def _by_entry(expr: Expr, source: Expr, scope: Scope | None) -> Expr:
    """The same map, entry by entry where one of them is secret: the others are not."""
    if not isinstance(expr, Const) or not expr.secret or not isinstance(source, MapOf):
        return expr
    assert scope is not None
    entries = {name: source.entries[name].specialise(scope) for name in expr.value}
    return MapOf(entries)


def _names(expr: Expr) -> frozenset[str]:
    match expr:
        case MapOf(entries=entries):
            return frozenset(entries)
        case Const(value=dict() as values):
            return frozenset(values)
        case _:
            return frozenset()


def references_in(expr: Expr) -> Iterator[Reference]:
    """All that an expression wants of resources."""
    if type(expr) is Const:
        return
    for call in calls_in(expr):
        refers = call.function.refers
        if refers is Refers.NOTHING:
            continue
        name = referred(refers, call.args)
        if name is not None:
            read = _read(call.args) if refers is Refers.ATTRIBUTE else None
            yield Reference(name, read, call.at)


def _read(args: Expr) -> Read:
    steps: list[Any] = []
    parts: Iterable[Expr] = ()
    if isinstance(args, Const):
        return tuple(args.value)[1:] if _flat(args.value) else ()
    if isinstance(args, ListOf):
        parts = args.items[1:]
    for part in parts:
        if not isinstance(part, Const) or isinstance(part.value, list | dict | Unknown):
            break
        steps.append(part.value)
    return tuple(steps)


def _flat(args: Any) -> bool:
    return not any(isinstance(part, list | dict | Unknown) for part in args)


def is_closed(expr: Expr | None) -> bool:
    """Whether no parameter, condition or name of a switched-off resource changes it."""
    if expr is None or type(expr) is Const:
        return True
    if isinstance(expr, If):
        return False
    if isinstance(expr, Call) and (
        expr.function.reads is Reads.PARAMETERS or expr.function.name in FACADE_NAMES
    ):
        return False
    return all(is_closed(part) for part in expr.parts())


class Specialiser:
    """One run over one module."""

    def __init__(self, module: Module, stack: Stack, facade: Facade | None, strict: bool) -> None:
        self.module = module
        self.syntax = module.syntax
        self.stack = stack
        self.facade = facade
        self.strict = strict
        self.problems: list[Problem] = []
        self.lookups: list[Lookup] = []
        self.missing: set[str] = set()

    def run(self, given: Mapping[str, Any]) -> Program:
        """The program; raises Rejected with everything that is wrong."""
        parameters = self.parameters(given)
        if self.problems:
            raise Rejected(self.problems)
        scope = Scope(
            parameters,
            self.module.files,
            self.module.limits,
            self.syntax.conditions,
            self.syntax.mappings,
            self.facade,
        )
        scope.missing = frozenset(self.missing)
        self.decide_conditions(scope)
        sources = self.enabled(scope)
        scope.resources = sources
        scope.attribute_names = self.attribute_names
        definitions = {name: self.definition(source, scope) for name, source in sources.items()}
        self.check_names(parameters, definitions)
        outputs = {name: self.output(source, scope) for name, source in self.syntax.outputs.items()}
        reads = self.reads(definitions, outputs)
        self.check_policies(definitions, reads)
        if self.problems:
            raise Rejected(self.problems)
        program = Program(
            module=self.module,
            parameters=parameters,
            resources=definitions,
            outputs=outputs,
            requires={name: one.requires for name, one in definitions.items()},
            order=(),
            reads=reads,
            scope=scope,
            lookups=tuple(self.lookups),
        )
        return self.ordered(program)

    # -- parameters -------------------------------------------------------------------------

    def parameters(self, given: Mapping[str, Any]) -> dict[str, ParameterValue]:
        schemas = self.syntax.parameters
        for name in given:
            if name not in schemas and self.strict:
                at = Span(self.syntax.file)
                self.problems.append(UnknownUserParameter(at, name, nearest(name, schemas)))
        values = {
            name: ParameterValue(_pseudo(name), value) for name, value in self.pseudo().items()
        }
        defaults = self.module.environment.parameter_defaults
        for name, schema in schemas.items():
            value = given.get(name)
            if value is None:
                value = defaults.get(name)
            provided = value is not None
            if value is None and schema.has_default:
                value = schema.default
            if value is None:
                self.missing.add(name)
                values.pop(name, None)
                if self.strict:
                    self.problems.append(UserParameterMissing(schema.at, name))
                continue
            parsed = self.parsed(schema, value, check=provided)
            values[name] = ParameterValue(schema, parsed, provided)
        return values

    def parsed(self, schema: ParameterSchema, value: Any, *, check: bool) -> Any:
        at = schema.at or Span(self.syntax.file)
        try:
            parsed = parse_value(schema.type, value)
        except ValueError as error:
            self.problems.append(_bad_value(schema, at, value, str(error)))
            return value
        if isinstance(parsed, Unknown):
            return parsed
        text = unquoted(schema, value) or wrong(schema, parsed) if check else None
        if text is not None:
            self.problems.append(_bad_value(schema, at, value, text))
        else:
            self.lookups.extend(
                Lookup(one.name, parsed, at, one.description) for one in lookups(schema)
            )
        return parsed

    def pseudo(self) -> dict[str, Any]:
        stack = self.stack
        if self.syntax.grammar.hot:
            return {
                "OS::stack_name": stack.name,
                "OS::stack_id": stack.id,
                "OS::project_id": stack.project_id,
            }
        arn = f"arn:openstack:heat::{stack.project_id}:stacks/{stack.name}/{stack.id}"
        return {
            "AWS::StackName": stack.name,
            "AWS::StackId": arn,
            "AWS::Region": CFN_REGION,
        }

    # -- conditions -------------------------------------------------------------------------

    def decide_conditions(self, scope: Scope) -> None:
        """Errors of conditions are told where they are used, or here if nowhere."""
        word = self.syntax.grammar.word("conditions")
        for name in self.syntax.conditions:
            try:
                scope.conditions.decide(name)
            except EvaluationError as error:
                used = names_of_conditions(self.syntax.resources, self.syntax.outputs)
                if name not in used:
                    at = error.at or Span(self.syntax.file)
                    place = Span(at.file, at.line, at.column, f"{word}.{name}")
                    self.problems.append(scope.condition_problem(error, place))

    def holds(self, condition: Expr | None, scope: Scope, at: Span) -> bool:
        if condition is None:
            return True
        try:
            return scope.truth(condition.evaluate(scope))
        except EvaluationError as error:
            place = at.under(self.syntax.grammar.word("condition"))
            self.problems.append(scope.condition_problem(error, place))
            return False

    def enabled(self, scope: Scope) -> dict[str, ResourceSource]:
        enabled = {
            name: source
            for name, source in self.syntax.resources.items()
            if self.holds(source.condition, scope, source.at)
        }
        allowed = self.module.limits.resources_max
        if -1 < allowed < len(enabled):
            words = f"{len(enabled)} resources are more than the {allowed} allowed"
            self.problems.append(RequestLimitExceeded(Span(self.syntax.file), words))
        return enabled

    # -- resources --------------------------------------------------------------------------

    def definition(self, source: ResourceSource, scope: Scope) -> ResourceDefinition:
        name = source.name
        binding = self.module.bindings[name]
        if source.condition is not None:
            self.problems.extend(source.problems)
            self.problems.extend(binding.problems)
            self.problems.extend(check_resource(source, binding.type_info, self.syntax))
            self.problems.extend(check_references(source, self.syntax.resources))
        core = self.core(source, scope)
        requires = {one.resource for one in core.references}
        requires.update(source.depends_on)
        assert binding.type_info is not None or self.problems
        return ResourceDefinition(
            name=name,
            type=source.type,
            type_info=binding.type_info,  # type: ignore[arg-type]
            child=binding.child,
            core=core,
            scope=scope,
            requires=frozenset(one for one in requires if one in scope.resources),
        )

    def core(self, source: ResourceSource, scope: Scope) -> Core:
        closed = self.module.closed.get(source.name)
        whole = len(scope.resources) == len(self.syntax.resources)
        if closed is not None and whole:
            return closed
        core = Core(source, scope, self.syntax.grammar.hot)
        before = len(self.problems)
        for expr in (core.properties, core.metadata, core.update_policy):
            if type(expr) is not Const:
                self.problems.extend(
                    problem for problem in problems_in(expr) if problem not in self.problems
                )
        self.check_targets(core, scope)
        self.policies(core, source, scope)
        if whole and len(self.problems) == before and source.name not in self.module.open:
            if _closed_source(source):
                self.module.closed[source.name] = core
            else:
                self.module.open.add(source.name)
        return core

    def check_targets(self, core: Core, scope: Scope) -> None:
        told = {problem.at for problem in self.problems}
        for one in core.references:
            if one.resource not in scope.resources:
                if one.at not in told:
                    near = nearest(one.resource, scope.resources)
                    self.problems.append(InvalidTemplateReference(one.at, one.resource, near))
            elif one.read:
                self.check_attribute(one)

    def check_attribute(self, one: Reference) -> None:
        type_info = self.module.bindings[one.resource].type_info
        attribute = one.read[0] if one.read else None
        if type_info is None or type_info.accepts_any_attribute or attribute == "show":
            return
        if attribute in type_info.attributes:
            return
        near = hint(nearest(str(attribute), type_info.attributes))
        words = f'resource "{one.resource}" has no attribute "{attribute}"{near}'
        self.problems.append(StackValidationFailed(one.at, words))

    def policies(self, core: Core, source: ResourceSource, scope: Scope) -> None:
        if source.external_id is not None:
            core.external_id = self.external_id(source, source.external_id, scope)
            core.deletion_policy = DeletionPolicy.RETAIN.value
            core.references = []
        if source.deletion_policy is None:
            return
        at = source.at.under(core.word("deletion_policy"))
        try:
            policy = source.deletion_policy.evaluate(scope)
        except EvaluationError as error:
            self.problems.append(StackValidationFailed(at, str(error)))
            return
        known = self.syntax.grammar.deletion_policies
        if not isinstance(policy, str) or policy not in known:
            near = hint(nearest(str(policy), known))
            words = f'there is no deletion policy "{policy}"{near}'
            self.problems.append(StackValidationFailed(at, words))
            return
        type_info = self.module.bindings[source.name].type_info
        policy = policy.capitalize()
        possible = type_info is None or type_info.snapshot_policy_allowed
        if policy == DeletionPolicy.SNAPSHOT and not possible:
            words = f'"{policy}" is not possible for {source.type}'
            self.problems.append(StackValidationFailed(at, words))
        if core.external_id is None:
            core.deletion_policy = policy

    def external_id(self, source: ResourceSource, expr: Expr, scope: Scope) -> str | None:
        at = source.at.under("external_id")
        try:
            value = expr.evaluate(scope)
        except EvaluationError as error:
            self.problems.append(StackValidationFailed(at, str(error)))
            return None
        if not isinstance(value, str | Unknown):
            words = f"external_id must be text, not {value!r}"
            self.problems.append(StackValidationFailed(at, words))
        return str(value)

    def attribute_names(self, resource: str) -> list[str]:
        type_info = self.module.bindings[resource].type_info
        return [name for name in type_info.attributes if name != "show"] if type_info else []

    def check_names(self, parameters: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        for name in self.syntax.parameters:
            if name in definitions:
                words = f'a parameter and a resource have the same name "{name}"'
                at = definitions[name].span
                self.problems.append(StackValidationFailed(at, words))

    # -- outputs ----------------------------------------------------------------------------

    def output(self, source: OutputSource, scope: Scope) -> Output:
        enabled = self.holds(source.condition, scope, source.at)
        value: Expr = Const(None)
        if enabled:
            value = source.value.specialise(scope)
            if type(value) is not Const:
                self.problems.extend(problems_in(value))
                self.check_output(value, scope)
        description = source.description
        text = "No description given" if description is None else description
        return Output(source.name, text, value, source.at, scope, enabled)

    def check_output(self, value: Expr, scope: Scope) -> None:
        for one in references_in(value):
            if one.read is None:
                continue
            if one.resource not in scope.resources:
                near = hint(nearest(one.resource, scope.resources))
                words = f'there is no resource "{one.resource}"{near}'
                self.problems.append(StackValidationFailed(one.at, words))
            elif one.read:
                self.check_attribute(one)

    # -- graph ------------------------------------------------------------------------------

    def reads(
        self, definitions: Mapping[str, ResourceDefinition], outputs: Mapping[str, Output]
    ) -> dict[str, frozenset[Read]]:
        found: dict[str, set[Read]] = {}
        for definition in definitions.values():
            for one in definition.core.references:
                if one.read is not None:
                    self.note(one, found)
        for output in outputs.values():
            for one in references_in(output.value):
                if one.read is not None:
                    self.note(one, found)
        return {name: frozenset(found.get(name, ())) for name in definitions}

    def note(self, one: Reference, found: dict[str, set[Read]]) -> None:
        reads = found.setdefault(one.resource, set())
        if one.read:
            reads.add(one.read)
        else:
            reads.update((name,) for name in self.attribute_names(one.resource))

    def check_policies(
        self,
        definitions: Mapping[str, ResourceDefinition],
        reads: Mapping[str, frozenset[Read]],
    ) -> None:
        """An attribute that only an update policy reads would never be recorded."""
        for definition in definitions.values():
            for one in references_in(definition.update_policy):
                known = {read[:1] for read in reads.get(one.resource, ())}
                if one.read is not None and one.read[:1] not in known:
                    words = f'the attribute of "{one.resource}" is read by an update policy only'
                    self.problems.append(StackValidationFailed(one.at, words))

    def ordered(self, program: Program) -> Program:
        """The program with the edges that types add, in order; raises Rejected on a cycle."""
        requires = dict(program.requires)
        for name, definition in program.resources.items():
            implied = definition.type_info.implicit_requires(name, definition, program)
            extra = frozenset(one for one in implied if one in requires and one != name)
            if extra - requires[name]:
                requires[name] = requires[name] | extra
                object.__setattr__(definition, "requires", requires[name])
        order = topological(requires)
        if len(order) < len(requires):
            cycle = cycle_in(requires, set(order))
            at = program.resources[cycle[0]].span
            raise Rejected([CircularDependencyException(at, cycle)])
        object.__setattr__(program, "requires", requires)
        object.__setattr__(program, "order", order)
        return program


def _bad_value(schema: ParameterSchema, at: Span, value: Any, text: str) -> Problem:
    if schema.hidden:
        for secret in hidden_texts([ParameterValue(schema, value)]):
            text = text.replace(secret, MASK)
    return StackValidationFailed(at, f'parameter "{schema.name}": {text}')


def _closed_source(source: ResourceSource) -> bool:
    expressions = (
        source.properties,
        source.metadata,
        source.update_policy,
        source.deletion_policy,
        source.external_id,
    )
    return source.condition is None and all(is_closed(expr) for expr in expressions)


def _pseudo(name: str) -> ParameterSchema:
    return ParameterSchema(name, ParameterType.STRING)


def names_of_conditions(
    resources: Mapping[str, ResourceSource], outputs: Mapping[str, OutputSource]
) -> set[str]:
    """The names of conditions that something outside the conditions uses."""
    used: set[str] = set()

    def look(expr: Expr | None) -> None:
        if expr is None or (type(expr) is Const and not isinstance(expr.value, str)):
            return
        if isinstance(expr, Const):
            used.add(expr.value)
            return
        if isinstance(expr, If):
            look(expr.condition)
            within(expr.then)
            within(expr.otherwise)
        for part in expr.parts():
            look(part)

    def within(expr: Expr | None) -> None:
        if expr is None or type(expr) is Const:
            return
        if isinstance(expr, If):
            look(expr)
        for part in expr.parts():
            within(part)

    for source in resources.values():
        look(source.condition)
        within(source.properties)
        within(source.metadata)
        within(source.update_policy)
    for output in outputs.values():
        look(output.condition)
        within(output.value)
    return used


def topological(requires: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Names after what they require; what is in or behind a cycle is left out."""
    waiting = {name: len(needs) for name, needs in requires.items()}
    dependents: dict[str, list[str]] = {}
    for name, needs in requires.items():
        for need in needs:
            dependents.setdefault(need, []).append(name)
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:
        for dependent in dependents.get(name, ()):
            waiting[dependent] -= 1
            if not waiting[dependent]:
                ready.append(dependent)
    return tuple(ready)


def cycle_in(requires: Mapping[str, frozenset[str]], done: set[str]) -> tuple[str, ...]:
    """One cycle among what is not done; it ends where it begins."""
    name = next(name for name in requires if name not in done)
    path: list[str] = []
    while name not in path:
        path.append(name)
        name = next(need for need in sorted(requires[name]) if need not in done)
    return (*path[path.index(name) :], name)
