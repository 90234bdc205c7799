"""Specialise a module to a program: parameter values, conditions, constants, the resource graph."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import structs

from hearth.model.physical_id import ID_MAX, can_be_stored
from hearth.model.problem import (
    CircularDependencyException,
    Problem,
    Rejected,
    RequestLimitExceeded,
    StackValidationFailed,
    hint,
    nearest,
)
from hearth.model.span import Span
from hearth.model.state import DeletionPolicy
from hearth.model.unknown import UNKNOWN, Unknown
from hearth.template.core import Core
from hearth.template.errors import EvaluationError
from hearth.template.expr import Const, Expr, problems_in
from hearth.template.graph import cycle_in, topological
from hearth.template.limits import too_many_resources
from hearth.template.output import Output
from hearth.template.parameters import ParameterValue
from hearth.template.parse import OutputSource, ResourceSource
from hearth.template.program import Module, Program, ResourceDefinition
from hearth.template.references import (
    Read,
    Reference,
    is_closed_source,
    names_of_conditions,
    references_in,
)
from hearth.template.scope import Scope
from hearth.template.static import (
    check_references,
    check_resource,
    no_attribute,
    no_target,
    problems_of,
)
from hearth.template.types import accepts_attribute, allows_snapshot
from hearth.template.values import ParameterReader, Stack
from hearth.template.world import Facade

__all__ = ["Specialiser", "references_in"]


class Specialiser:
    """Creates one program from a module."""

    def __init__(
        self, module: Module, stack: Stack, facade: Facade | None, strict: bool, check: bool = True
    ) -> None:
        self.module = module
        self.syntax = module.syntax
        self.stack = stack
        self.facade = facade
        self.strict = strict
        self.check = check
        self.problems: list[Problem] = []
        self.undecided: set[str] = set()  # resources whose conditions depend on unknown values

    def run(self, values: Mapping[str, Any], *, resources: bool = True) -> Program:
        """Return the program for the given parameter values; without resources if `resources` is
        false.

        Raises Rejected with all errors. Two kinds of errors are reported alone: invalid parameter
        values, and a dependency cycle.
        """
        defaults = self.module.environment.parameter_defaults
        reader = ParameterReader(self.syntax, defaults, self.stack, self.strict, self.check)
        parameters = reader.read(values)
        if reader.problems:
            raise Rejected(reader.problems)
        scope = Scope(
            parameters,
            self.module.files,
            self.module.limits,
            self.syntax.conditions,
            self.syntax.mappings,
            self.facade,
        )
        scope.missing = frozenset(reader.missing)
        self.decide_conditions(scope)
        if not self.check:  # a request for the declared parameters has no values yet
            schemas = self.syntax.parameters
            unknowns = {name: ParameterValue(schemas[name], UNKNOWN) for name in scope.missing}
            scope.parameters = {**parameters, **unknowns}
        sources = self.enabled(scope)
        scope.resources = sources
        scope.module = self.module
        specialised = sources.items() if resources else ()
        definitions = {name: self.definition(source, scope) for name, source in specialised}
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
            requires={name: definition.requires for name, definition in definitions.items()},
            order=(),
            reads=reads,
            scope=scope,
            stack=self.stack,
            lookups=tuple(reader.lookups),
        )
        return self.ordered(program)

    # -- conditions -------------------------------------------------------------------------

    def decide_conditions(self, scope: Scope) -> None:
        """Evaluate all conditions once.

        Errors are reported at the resource or output that uses the condition. As in Heat, a
        condition that nothing uses refuses nothing.
        """
        for name in self.syntax.conditions:
            with suppress(EvaluationError):
                scope.conditions.decide(name)

    def holds(self, condition: Expr | None, scope: Scope, at: Span) -> bool:
        if condition is None:
            return True
        try:
            truth = scope.truth(condition.evaluate(scope))
        except EvaluationError as error:
            span = at.under(self.syntax.grammar.word("condition"))
            self.problems.append(scope.condition_problem(error, span))
            return False
        if isinstance(truth, Unknown):
            self.undecided.add(at.path)
        return truth is True

    def check_conditions_within(self, source: ResourceSource, scope: Scope) -> None:
        """Report errors in the conditions that a resource uses whose own condition is false."""
        inside = names_of_conditions({source.name: structs.replace(source, condition=None)}, {})
        for name in sorted(inside & scope.conditions.failed.keys()):
            try:
                scope.conditions.decide(name)
            except EvaluationError as error:
                self.problems.append(scope.condition_problem(error, source.at))

    def enabled(self, scope: Scope) -> dict[str, ResourceSource]:
        enabled = {}
        for name, source in self.syntax.resources.items():
            before = len(self.problems)
            if self.holds(source.condition, scope, source.at):
                enabled[name] = source
            elif scope.conditions.failed and len(self.problems) == before:
                self.check_conditions_within(source, scope)
        maximum = self.module.limits.max_resources_per_stack
        if -1 < maximum < len(enabled):
            message = too_many_resources(len(enabled), maximum)
            self.problems.append(RequestLimitExceeded(Span(self.syntax.file), message))
        return enabled

    # -- resources --------------------------------------------------------------------------

    def definition(self, source: ResourceSource, scope: Scope) -> ResourceDefinition:
        name = source.name
        binding = self.module.bindings[name]
        if source.condition is not None:
            self.problems.extend(problems_of(binding, source))
            self.problems.extend(check_resource(source, binding.type_info, self.syntax))
            self.problems.extend(check_references(source, self.syntax.resources))
        core = self.core(source, scope)
        requires = {*source.depends_on, *(reference.resource for reference in core.references)}
        assert binding.type_info is not None or self.problems
        return ResourceDefinition(
            name=name,
            type=source.type,
            type_info=binding.type_info,  # type: ignore[arg-type]
            child=binding.child,
            core=core,
            scope=scope,
            requires=frozenset(required for required in requires if required in scope.resources),
        )

    def core(self, source: ResourceSource, scope: Scope) -> Core:
        closed = self.module.closed.get(source.name)
        complete = len(scope.resources) == len(self.syntax.resources)
        if closed is not None and complete:
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
        if complete and len(self.problems) == before and source.name not in self.module.open:
            if is_closed_source(source):
                self.module.closed[source.name] = core
            else:
                self.module.open.add(source.name)
        return core

    def check_targets(self, core: Core, scope: Scope) -> None:
        if not core.references:
            return
        reported = {problem.at for problem in self.problems}
        for reference in core.references:
            if reference.resource not in scope.resources:
                if reference.read is None and not (self.check or self.syntax.grammar.hot):  # a Ref
                    self.module.open.add(core.source.name)  # a create refuses it
                elif reference.at not in reported and not self.may_be(reference.resource):
                    self.problems.append(
                        no_target(reference.call, reference.resource, scope.resources)
                    )
            elif reference.read:
                self.check_attribute(reference)

    def may_be(self, resource: str) -> bool:
        """Return whether it is unknown if a resource exists, because its condition depends on
        unknown values.
        """
        source = self.syntax.resources.get(resource)
        return source is not None and source.at.path in self.undecided

    def check_attribute(self, reference: Reference) -> None:
        type_info = self.module.bindings[reference.resource].type_info
        attribute = reference.read[0] if reference.read else None
        if type_info is None or accepts_attribute(type_info, attribute):
            return
        self.problems.append(no_attribute(reference, type_info, self.syntax.resources))

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
        allowed_policies = self.syntax.grammar.deletion_policies
        if isinstance(policy, Unknown):
            return
        if not isinstance(policy, str) or policy not in allowed_policies:
            near = hint(nearest(str(policy), allowed_policies))
            message = f'there is no deletion policy "{policy}"{near}'
            self.problems.append(StackValidationFailed(at, message))
            return
        type_info = self.module.bindings[source.name].type_info
        policy = policy.capitalize()
        possible = type_info is None or allows_snapshot(type_info)
        if policy == DeletionPolicy.SNAPSHOT and not possible:
            message = f'the deletion policy "{policy}" is not possible for {source.type}'
            self.problems.append(StackValidationFailed(at, message))
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
            message = f"external_id must be a string, not {value!r}"
            self.problems.append(StackValidationFailed(at, message))
        elif isinstance(value, str) and not can_be_stored(value):
            message = f"external_id must have at most {ID_MAX} characters, and no NUL"
            self.problems.append(StackValidationFailed(at, message))
        return "" if isinstance(value, Unknown) else str(value)

    def check_names(self, parameters: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        for name in self.syntax.parameters:
            if name in definitions:
                message = f'a parameter and a resource have the same name "{name}"'
                at = definitions[name].span
                self.problems.append(StackValidationFailed(at, message))

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
        for reference in references_in(value):
            if reference.read is None:
                continue
            if self.may_be(reference.resource):
                continue
            if reference.resource not in scope.resources:
                message = no_target(reference.call, reference.resource, scope.resources).text
                self.problems.append(StackValidationFailed(reference.at, message))
            elif reference.read:
                self.check_attribute(reference)

    # -- graph ------------------------------------------------------------------------------

    def reads(
        self, definitions: Mapping[str, ResourceDefinition], outputs: Mapping[str, Output]
    ) -> dict[str, frozenset[Read]]:
        reads_by_name: dict[str, set[Read]] = {}
        for definition in definitions.values():
            for reference in definition.core.references:
                if reference.read is not None:
                    self.note(reference, reads_by_name)
        for output in outputs.values():
            for reference in references_in(output.value):
                if reference.read is not None:
                    self.note(reference, reads_by_name)
        return {name: frozenset(reads_by_name.get(name, ())) for name in definitions}

    def note(self, reference: Reference, reads_by_name: dict[str, set[Read]]) -> None:
        reads = reads_by_name.setdefault(reference.resource, set())
        if reference.read:
            reads.add(reference.read)
        else:
            reads.update((name,) for name in self.module.attribute_names(reference.resource))

    def check_policies(
        self,
        definitions: Mapping[str, ResourceDefinition],
        reads: Mapping[str, frozenset[Read]],
    ) -> None:
        """Report attributes that only an update policy reads, because such attributes are not
        recorded.
        """
        for definition in definitions.values():
            for reference in references_in(definition.update_policy):
                recorded = {path[:1] for path in reads.get(reference.resource, ())}
                if reference.read is not None and reference.read[:1] not in recorded:
                    message = (
                        f'an update policy reads an attribute of "{reference.resource}" that '
                        "nothing else reads, so its value is not recorded"
                    )
                    self.problems.append(StackValidationFailed(reference.at, message))

    def ordered(self, program: Program) -> Program:
        """Return the program with the dependencies that resource types imply, and with its order.

        Raises Rejected if the dependencies contain a cycle.
        """
        requires = dict(program.requires)
        for name, definition in program.resources.items():
            implied = definition.type_info.implicit_requires(name, definition, program)
            extra = frozenset(
                required for required in implied if required in requires and required != name
            )
            if extra - requires[name]:
                requires[name] = requires[name] | extra
                structs.force_setattr(definition, "requires", requires[name])
        order = topological(requires)
        if len(order) < len(requires):
            cycle = cycle_in(requires, set(order))
            at = program.resources[cycle[0]].span
            raise Rejected([CircularDependencyException(at, cycle)])
        structs.force_setattr(program, "requires", requires)
        structs.force_setattr(program, "order", order)
        return program
