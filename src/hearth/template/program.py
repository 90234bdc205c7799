"""Modules and programs: a module is a template without parameter values, a program has them.

A module depends on its content only, so it can be cached and shared by equal stacks. A program has
the definitions of the resources, the graph of their dependencies, and the outputs. A module creates
programs, and a program needs the modules of nested stacks, so both are in this file.

Values come from a `World`. A value that the world does not know is Unknown, at any depth. Values
that are computed from secrets are marked as secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

from msgspec import Struct, field, structs

from hearth.model.collector import collector_paused
from hearth.model.problem import ParameterNotProvided, Problem, Rejected, StackValidationFailed
from hearth.model.span import Span
from hearth.model.unknown import UNKNOWN, Unknown, nulled, unknown_in
from hearth.schema import Findings, Lookup, Prop, Replace, Rule, coerce_all
from hearth.template import agents
from hearth.template.budget import spending
from hearth.template.child import inside, parameters_of
from hearth.template.core import Core
from hearth.template.deferred import deferrable
from hearth.template.environment import Environment, TemplateEntry
from hearth.template.errors import EvaluationError, ParameterError
from hearth.template.evaluated import METADATA, Evaluated
from hearth.template.expr import OMIT, Const, Expr, MapOf
from hearth.template.limits import Limits
from hearth.template.load import Node
from hearth.template.member_attributes import lacks, no_member_attribute
from hearth.template.output import Output
from hearth.template.parameters import ParameterValue
from hearth.template.parse import Syntax
from hearth.template.references import Read, Reference, references_in
from hearth.template.scope import Scope
from hearth.template.types import TypeCatalog, TypeInfo
from hearth.template.uses import Uses
from hearth.template.values import Stack, pseudo_parameters
from hearth.template.world import NOWHERE, Facade, NullWorld, Within, World

INDEX_DIGITS_MAX = 9  # a key of a map can have any number of digits


class TreeFindings(Findings):
    """The findings about a program and its nested stacks, with the number and the types of their
    resources.

    `types` also has the types of disabled resources. `used` has only those of enabled resources,
    each with the place of one of them.
    """

    resources: int = 0
    types: set[str] = field(default_factory=set)
    used: dict[str, Span] = field(default_factory=dict)


class Binding(Struct, frozen=True, eq=False):
    """The resource type to which a resource in the template resolves.

    `type_info` is None if the type was not found or is invalid. For a nested template, `child` is
    its module and `entry` the result of the lookup in the environment. `problems` belong to the
    resource; `inside` are problems of the nested template, with paths in that template. Both are
    reported only if the resource is enabled.
    """

    type_info: TypeInfo | None
    child: Module | None = None
    entry: TemplateEntry | None = None
    problems: tuple[Problem, ...] = ()
    inside: tuple[Problem, ...] = ()


class Module(Struct, frozen=True, eq=False, dict=True, weakref=True):
    """A template that is parsed and checked, with its resource types but without parameter values.

    The compiler creates instances of a subclass that can create programs.
    """

    syntax: Syntax
    files: Mapping[str, str]
    environment: Environment
    catalog: TypeCatalog
    limits: Limits
    bindings: Mapping[str, Binding]
    members: Mapping[str, Binding] = {}  # of a draft: types of group members
    depth: int = 0
    problems: tuple[Problem, ...] = ()  # of a draft; a usable module has none
    closed: dict[str, Core] = {}  # parts that no parameter changes
    open: set[str] = set()  # resources that depend on parameters or conditions
    nested: dict[str, Module] = {}  # of groups, by content

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle this module with copies of those parts that other threads may change.

        The cached modules of groups are left out.
        """
        copies = {"closed": dict(self.closed), "open": set(self.open), "nested": {}}
        return type(self), tuple({**structs.asdict(self), **copies}.values())

    @cached_property
    def impersonal(self) -> bool:
        """Whether the template does not use the name, id and project of its stack.

        If so, stacks that differ only in these three values can share a program.
        """
        uses = Uses()
        uses.add(self.syntax.root)
        pseudo = pseudo_parameters(self.syntax, Stack("", "", ""))
        return not uses.computed & {"get_param", "Ref"} and pseudo.keys().isdisjoint(
            uses.parameters
        )

    @cached_property
    def types(self) -> frozenset[str]:
        """The resource types of the template and of its nested templates."""
        names: set[str] = set()
        for binding in (*self.bindings.values(), *self.members.values()):
            if binding.type_info is not None:
                names.add(binding.type_info.name)
            if binding.child is not None:
                names |= binding.child.types
        return frozenset(names)

    @property
    def description(self) -> Any:
        """The description in the template, as `stack show` prints it."""
        text = self.syntax.description
        return "No description" if text is None else text

    @property
    def version(self) -> str:
        """The version of the template language."""
        return self.syntax.grammar.value

    def attribute_names(self, resource: str) -> list[str]:
        """Return the names of the attributes that the type of a resource declares, except `show`.

        The result is empty if the type is not known.
        """
        binding = self.bindings.get(resource)
        type_info = binding.type_info if binding is not None else None
        return [name for name in type_info.attributes if name != "show"] if type_info else []

    def within(self, resource: str) -> Within | None:
        """Return the function with which the type of a resource follows a path into an attribute.

        Return None if the path is followed in the value, as for most types.
        """
        return getattr(self.bindings[resource].type_info, "within", None)

    def specialise(
        self,
        parameters: Mapping[str, Any],
        *,
        stack_name: str,
        stack_id: str = "",
        project_id: str = "",
        facade: Facade | None = None,
        strict: bool = True,
        check: bool = True,
        resources: bool = True,
    ) -> Program:
        """Return the program for these parameter values. Raises Rejected.

        The environment's `parameter_defaults` are added. Its `parameters` are not, because the
        caller has already merged them into `parameters`. If `strict` is false, parameters may be
        missing; expressions that need them then fail. If `check` is false, values are not checked
        with constraints, and an unused condition that needs a missing parameter is not an error.
        If `resources` is false, the program has no resources: it is only good for its parameters
        and outputs, and costs much less.

        The name and the ids are the values of pseudo parameters. `facade` is the parent resource of
        a nested stack; None if the stack is not nested.
        """
        raise NotImplementedError

    def compile_nested(
        self, definition: Mapping[str, Any], resource: str, *, strict: bool = True
    ) -> Module:
        """Return the module of the nested stack that a group generates from its properties.

        `definition` is the generated template, and `resource` the name of the group. Raises
        Rejected; if `strict` is false, not for problems that are left to the create.
        """
        raise NotImplementedError


class ResourceDefinition(Struct, frozen=True, eq=False, weakref=True):
    """The definition of a resource whose condition is not false."""

    name: str
    type: str
    type_info: TypeInfo
    child: Module | None
    core: Core
    scope: Scope
    requires: frozenset[str] = frozenset()

    @property
    def properties(self) -> Expr:
        return self.core.properties

    @property
    def opaque(self) -> bool:
        """Whether the properties as a whole are Unknown, so that even their names are not known."""
        properties = self.core.properties
        return isinstance(properties, Const) and isinstance(properties.value, Unknown)

    @property
    def metadata(self) -> Expr:
        return self.core.metadata

    @property
    def update_policy(self) -> Expr:
        return self.core.update_policy

    @property
    def depends_on(self) -> tuple[str, ...]:
        return self.core.source.depends_on

    @property
    def deletion_policy(self) -> str:
        """The deletion policy: `Delete`, `Retain` or `Snapshot`.

        Resources with an external id are always retained.
        """
        return self.core.deletion_policy

    @property
    def external_id(self) -> str | None:
        return self.core.external_id

    @property
    def description(self) -> str:
        return self.core.source.description

    @property
    def condition(self) -> Expr | None:
        return self.core.source.condition

    @property
    def span(self) -> Span:
        return self.core.source.at

    @property
    def template(self) -> str:
        """The name of the nested template in the paths of problems."""
        if self.child is None:
            return "nested_stack"
        return self.child.syntax.file

    @property
    def way_in(self) -> str:
        """The path of the nested template, which is prepended to the paths of problems inside
        it.
        """
        return f"{self.span.path}<{self.template}>"

    @property
    def fingerprint(self) -> str:
        """A hash of the definition without its description; equal definitions have equal hashes.

        It includes the type to which the environment maps the type in the template.
        """
        return self.core.fingerprint(" ".join(dict.fromkeys((self.type, self.type_info.name))))

    @deferrable
    def evaluate(self, world: World) -> Evaluated:
        """Evaluate the properties, with defaults and converted to their types, and the metadata.

        Problems are collected in the result.
        """
        if self.core.static is not None:
            return self.core.static
        with spending():
            return self._evaluated(world)

    def _evaluated(self, world: World) -> Evaluated:
        core = self.core
        if core.static is not None:
            return core.static
        evaluated = self._evaluate(world)
        if isinstance(core.properties, Const) and isinstance(core.metadata, Const):
            core.static = evaluated
        return evaluated

    @deferrable
    def check(self, world: World) -> Evaluated:
        """Evaluate the definition and check it completely.

        In the checks, an unknown reference is replaced by the name of its resource, and any other
        unknown value by null. Problems are collected in the result.
        """
        with spending():
            return self.checked(world)

    def checked(self, world: World) -> Evaluated:
        """Return the result of `check`, within the budget and the evaluation that are open."""
        first = evaluated = self._evaluated(world)
        if evaluated.unknown and not evaluated.problems:
            evaluated = self._evaluate(world, nulls=True)
        if self.child is not None:
            return evaluated
        static = evaluated is self.core.static
        if static and self.core.sound:
            return evaluated
        conflicts = self.conflicts(first) if not (evaluated.problems or self.opaque) else []
        if not conflicts and not self.core.has_policy:
            self.core.sound = static and not evaluated.problems
            return evaluated
        problems = [*evaluated.problems, *conflicts]
        findings = Findings(problems, [*evaluated.findings.lookups], locate=self._locate)
        if self.core.has_policy:
            self.policy(NullWorld(world), findings=findings)
        return structs.replace(evaluated, findings=findings)

    def conflicts(self, evaluated: Evaluated) -> list[Problem]:
        """Return the problems of relations between properties, as far as their values are known.

        There are none for a resource with an external id, whose properties change nothing. Also
        return problems of keys that the metadata of this type must not contain.
        """
        reserved = [*self._reserved(evaluated)] if evaluated.metadata else []
        outside = self.external_id is not None
        broken = [] if outside else [*self.type_info.conflicts(evaluated.properties)]
        if not broken:  # nearly always; the place is searched only for a problem
            return reserved
        at = self._place("properties")
        spans = [
            self._locate(at.under(*conflict.path)) if conflict.path else at for conflict in broken
        ]
        return reserved + [
            conflict.error(span, conflict.message, "Property error")
            for span, conflict in zip(spans, broken, strict=True)
        ]

    def _reserved(self, evaluated: Evaluated) -> Iterator[Problem]:
        reserved_by = getattr(self.type_info, "reserved_metadata", None)
        if reserved_by is None or not isinstance(evaluated.metadata, Mapping):
            return
        at = self._place("metadata")
        for key in sorted(reserved_by(evaluated.properties) & evaluated.metadata.keys()):
            message = f'the metadata of this resource may not have the key "{key}"'
            yield StackValidationFailed(at.under(key), message)

    @deferrable
    def policy(self, world: World, *, findings: Findings | None = None) -> Mapping[str, Any]:
        """Return the evaluated update policy with its defaults; append problems to `findings`.

        The result is empty if the type has no update policy, or if it cannot be evaluated.
        """
        if not self.core.has_policy and not self.type_info.update_policy:  # nearly always
            return {}
        findings = findings or Findings(locate=self._locate)
        at = self._place("update_policy")
        try:
            with spending():
                values = self.update_policy.evaluate(self.scope.in_world(world))
        except EvaluationError as error:
            findings.problems.append(StackValidationFailed(error.at or at, str(error)))
            return {}
        if not isinstance(values, Mapping):
            findings.problems.append(StackValidationFailed(at, "the update policy must be a map"))
            return {}
        return coerce_all(self.type_info.update_policy, values, at, findings)

    def _evaluate(self, world: World, *, nulls: bool = False) -> Evaluated:
        opaque = self.opaque
        scope = self.scope.in_world(world)
        findings = Findings(locate=self._locate, require=not opaque)
        at = self._place("properties")
        raw: dict[str, Any] = {}
        secret, guarded = set[str](), set[str]()
        until = {""} if opaque else set[str]()
        open_names: set[str] = set()
        always = getattr(self.type_info, "hidden_properties", ())
        for name, expr in self._entries():
            scope.secret = scope.guarded = False
            value = self._value(name, expr, scope, findings, at)
            if scope.secret or name in always:
                secret.add(name)
            if scope.guarded:
                guarded.add(name)
            unknown = unknown_in(value)
            if unknown is not None:
                until |= unknown.until or {""}
                open_names.add(name)
                if nulls:
                    in_nulls = scope.in_world(NullWorld(world))
                    value = nulled(self._value(name, expr, in_nulls, findings, at))
            if value is not OMIT:
                raw[name] = value
        properties = self._coerced(raw, at, findings, open_names if nulls else frozenset())
        if self.external_id is not None:  # the properties change nothing, so they may be wrong
            findings.problems.clear()
            findings.lookups.clear()
        scope.secret = scope.guarded = False
        metadata = self._metadata(scope, findings)
        if scope.secret or scope.guarded:
            guarded.add(METADATA)
        unknown = unknown_in(metadata)
        if unknown is not None:
            until |= unknown.until
        if findings.problems:
            findings.problems[:] = map(scope.masked_problem, findings.problems)
        return Evaluated(
            properties,
            metadata,
            frozenset(until),
            frozenset(open_names),
            frozenset(secret),
            frozenset(guarded),
            findings,
        )

    def _coerced(
        self, raw: Mapping[str, Any], at: Span, findings: Findings, open_names: Set[str]
    ) -> dict[str, Any]:
        schema = self.type_info.properties
        if getattr(self.type_info, "accepts_any_property", False):
            return dict(raw)
        names = {name for name, value in raw.items() if value is not None or name in open_names}
        schema = without_replaced(schema, getattr(self.type_info, "translation", ()), names)
        for name in self.core.dropped:
            if name in schema and schema[name].required:
                findings.wrong(at.under(name), "the required property is left out by its condition")
                schema = {key: prop for key, prop in schema.items() if key != name}
        if not open_names:
            result = coerce_all(schema, raw, at, findings)
            if self.child is not None:  # which distinguishes null from a missing value
                result.update({name: None for name, value in raw.items() if value is None})
            return result
        closed = {name: value for name, value in raw.items() if name not in open_names}
        open_values = {name: value for name, value in raw.items() if name in open_names}
        lax = Findings(constrain=False, require=False, locate=self._locate)
        result = {
            **coerce_all(
                {k: v for k, v in schema.items() if k in open_values}, open_values, at, lax
            ),
            **coerce_all(
                {k: v for k, v in schema.items() if k not in open_values}, closed, at, findings
            ),
        }
        findings.problems.extend(lax.problems)
        return result

    def _entries(self) -> Iterable[tuple[str, Expr]]:
        properties = self.core.properties
        if isinstance(properties, MapOf):
            return properties.entries.items()
        if isinstance(properties, Const) and isinstance(properties.value, Mapping):
            secret = properties.secret
            return [(name, Const(value, secret)) for name, value in properties.value.items()]
        return ()

    def _value(self, name: str, expr: Expr, scope: Scope, findings: Findings, at: Span) -> Any:
        try:
            return expr.evaluate(scope)
        except EvaluationError as error:
            span = at.under(name)
            if error.at is not None:
                span = structs.replace(error.at, path=span.path)
            no_value = isinstance(error, ParameterError)
            problem = (
                ParameterNotProvided(span, error.reason, "Property error")
                if no_value
                else StackValidationFailed(span, str(error), "Property error")
            )
            findings.problems.append(problem)
            return None

    def _metadata(self, scope: Scope, findings: Findings) -> Mapping[str, Any]:
        try:
            return self.metadata.evaluate(scope) or {}
        except EvaluationError as error:
            span = error.at or self._place("metadata")
            findings.problems.append(StackValidationFailed(span, str(error)))
            return {}

    def _place(self, key: str) -> Span:
        word, source = self.core.word(key), self.core.source
        node: Node = source.node.nearest_to([word])
        return Span(source.at.file, node.line, node.column, f"{source.at.path}.{word}")

    def place_of(self, path: str) -> Span:
        """Return the place of the property at a path, such as "networks.port"."""
        return self._locate(self._place("properties").under(path))

    def _locate(self, at: Span) -> Span:
        """Return the place with the line and column of its path, or of the nearest part that
        exists.
        """
        base = f"{self.span.path}."
        relative = at.path.removeprefix(base).replace("[", ".").replace("]", "")
        node = self.core.source.node.nearest_to([_step(step) for step in relative.split(".")])
        return Span(at.file, node.line, node.column, at.path)


def _step(text: str) -> str | int:
    """Return a step of a path: an index of a list, or a key of a map."""
    return int(text) if text.isdecimal() and len(text) <= INDEX_DIGITS_MAX else text


WHOLE = 100  # parts; as many as it takes to evaluate and check a resource
CONSTANT, CHECKED = 10, 1  # the parts of one without functions, and of one that was checked before


def _parts_to_check(definition: ResourceDefinition) -> int:
    """Return about how much work it is to check a resource, in parts of WHOLE."""
    core = definition.core
    if core.static is not None:
        return CHECKED
    is_constant = isinstance(core.properties, Const) and isinstance(core.metadata, Const)
    return CONSTANT if is_constant else WHOLE


class Program(Struct, frozen=True, eq=False, weakref=True):
    """A template with parameter values: the desired state of a stack."""

    module: Module
    parameters: Mapping[str, ParameterValue]  # pseudo parameters too
    resources: Mapping[str, ResourceDefinition]  # enabled ones, in the order of the template
    outputs: Mapping[str, Output]
    requires: Mapping[str, frozenset[str]]
    order: tuple[str, ...]  # each after its requirements
    reads: Mapping[str, frozenset[Read]]  # by resource: the attributes that others and outputs read
    scope: Scope
    stack: Stack
    lookups: tuple[Lookup, ...] = ()  # questions about parameter values, for the cloud

    def of_stack(self, stack: Stack) -> Program:
        """Return the same program for another stack.

        The template must not use the name, id and project of its stack; see `Module.impersonal`.
        """
        pseudo = pseudo_parameters(self.module.syntax, stack)
        return structs.replace(self, stack=stack, parameters={**self.parameters, **pseudo})

    @property
    def description(self) -> Any:
        return self.module.description

    @property
    def version(self) -> str:
        return self.module.version

    @deferrable
    def check_values(self, world: World) -> TreeFindings:
        """Check everything for a create or an update, including nested stacks; return all
        findings.

        Checks that need the cloud are not made but listed in the findings.
        """
        findings = TreeFindings(resources=len(self.resources), types=set(self.module.types))
        with collector_paused(), spending() as budget:
            budget.widen(len(self.resources))
            budget.compiled(sum(_parts_to_check(one) for one in self.resources.values()) // WHOLE)
            for definition in self.resources.values():
                if definition.type_info.name not in findings.used:
                    findings.used[definition.type_info.name] = definition.span
                evaluated = definition.checked(world)
                findings.problems.extend(evaluated.findings.problems)
                findings.lookups.extend(evaluated.findings.lookups)
                if not evaluated.problems:
                    findings.problems.extend(self._without_agent(definition, world))
                    self._check_child(definition, evaluated, world, findings)
        return findings

    def _without_agent(self, definition: ResourceDefinition, world: World) -> Iterator[Problem]:
        """Yield a problem for each server on which the resource would wait for ever."""
        for path, name in agents.servers_of(definition.type_info, definition.properties):
            server = self.resources.get(name)
            if server is None or server.external_id is not None:
                continue
            values = server.checked(world).properties
            if (message := agents.refusal(name, server.type_info, values)) is not None:
                at = definition.place_of(path)
                yield StackValidationFailed(at, message, code=agents.NO_AGENT)

    def child(
        self,
        definition: ResourceDefinition,
        properties: Mapping[str, Any],
        *,
        strict: bool = True,
    ) -> Module | None:
        """Return the module of a resource's nested stack, or None if it has none. Raises
        Rejected; `strict` is passed to `Module.compile_nested`.
        """
        if definition.child is not None:
            return definition.child
        generated = getattr(definition.type_info, "nested_definition", None)
        nested = None if generated is None else generated(properties)
        if nested is None:
            return None
        return self.module.compile_nested(nested, definition.name, strict=strict)

    def _check_child(
        self,
        definition: ResourceDefinition,
        evaluated: Evaluated,
        world: World,
        findings: TreeFindings,
    ) -> None:
        if evaluated.open_properties:  # a nested stack gets unknown values, never null instead
            evaluated = definition.evaluate(world)
        try:
            program = self.inside(definition, evaluated)
            if program is None:
                findings.types |= self._types_of_no_members(definition, evaluated.properties)
                return
        except Rejected as rejected:
            path = definition.way_in
            findings.problems.extend(
                reported_by_parent(problem, path) for problem in rejected.problems
            )
            return
        except ValueError as error:
            at = structs.replace(definition.span, path=definition.way_in)
            findings.problems.append(StackValidationFailed(at, str(error), "Property error"))
            return
        findings.problems.extend(self._unknown_of_members(definition, program))
        path, inner = definition.way_in, program.check_values(NOWHERE)
        copies = getattr(definition.type_info, "nested_copies", None)
        times = copies(evaluated.properties) if copies is not None else 1
        findings.resources += inner.resources * times
        findings.types |= inner.types
        for name, at in inner.used.items():
            findings.used.setdefault(name, structs.replace(at, path=f"{path}.{at.path}"))
        findings.problems.extend(reported_by_parent(problem, path) for problem in inner.problems)
        findings.lookups.extend(
            structs.replace(look, at=structs.replace(look.at, path=f"{path}.{look.at.path}"))
            for look in inner.lookups
        )

    def _unknown_of_members(
        self, definition: ResourceDefinition, members: Program
    ) -> Iterator[Problem]:
        """Yield a problem for each reference to a group that needs an attribute which a member does
        not have.
        """
        of_members = getattr(definition.type_info, "of_members", None)
        if of_members is None:
            return
        types = {member.type_info.name: member.type_info for member in members.resources.values()}
        wrong: dict[Read, tuple[str, TypeInfo]] = {}
        for path in self.reads.get(definition.name, ()):
            attribute = of_members(path)
            lacking = (
                [] if attribute is None else [t for t in types.values() if lacks(t, attribute)]
            )
            if lacking:
                wrong[path] = attribute, lacking[0]
        for reference in self._references(definition.name) if wrong else ():
            if reference.read in wrong:
                yield no_member_attribute(reference, *wrong[reference.read])

    def _references(self, name: str) -> Iterator[Reference]:
        """Yield the references to a resource in other resources and in outputs."""
        for definition in self.resources.values():
            yield from (
                reference for reference in definition.core.references if reference.resource == name
            )
        for output in self.outputs.values():
            yield from (
                reference for reference in references_in(output.value) if reference.resource == name
            )

    def inside(
        self, definition: ResourceDefinition, evaluated: Evaluated, *, check: bool = True
    ) -> Program | None:
        """Return the program of a resource's nested stack as it would be created; None if it has
        none.

        Unknown properties and metadata are also Unknown in the nested stack; `check` is passed to
        `Module.specialise`, and as `strict` to `Module.compile_nested`. A group whose properties
        have the wrong types has no nested stack. Raises Rejected, and ValueError if a value cannot
        be a parameter.
        """
        if evaluated.problems and definition.child is None:
            return None
        module = self.child(definition, evaluated.properties, strict=check)
        if module is None:
            return None
        values: dict[str, Any] = {}
        if definition.opaque:
            values = dict.fromkeys(module.syntax.parameters, UNKNOWN)
        elif definition.child is not None:
            values = parameters_of(evaluated.properties, module.syntax.parameters)
        return module.specialise(
            values,
            stack_name=f"{self.text('stack_name')}-{definition.name}",
            project_id=self.text("project_id"),
            facade=Facade(evaluated.metadata, definition.deletion_policy, {}),
            strict=False,
            check=check,
        )

    def _types_of_no_members(
        self, definition: ResourceDefinition, properties: Mapping[str, Any]
    ) -> Set[str]:
        """Return the resource types that the members of a group would have if it had members.

        Raises Rejected.
        """
        member_property = getattr(definition.type_info, "member_property", None)
        if member_property is None:
            return frozenset()
        member = properties.get(member_property)
        name = member.get("type") if isinstance(member, Mapping) else None
        if not isinstance(name, str) or isinstance(name, Unknown):
            return set()
        text = {"heat_template_version": "2015-10-15", "resources": {"member": {"type": name}}}
        return self.module.compile_nested(text, definition.name).types

    def text(self, pseudo: str) -> str:
        """Return the value of a pseudo parameter as text; `pseudo` is its name without `OS::`.

        The text is empty if the template is CFN, which has no such parameters.
        """
        value = self.parameters.get(f"OS::{pseudo}")
        return str(value.value) if value is not None else ""


def without_replaced(
    schema: Mapping[str, Prop], rules: Sequence[Rule], names: Set[str]
) -> Mapping[str, Prop]:
    """Return the schema in which a property is optional if its deprecated name has a value.

    `rules` is the translation of the type; it contains the deprecated names.
    """
    excused = {
        rule.path[0]
        for rule in rules
        if isinstance(rule, Replace) and rule.value_path and rule.value_path[0] in names
    }
    if not excused:
        return schema
    return {n: structs.replace(p, required=False) if n in excused else p for n, p in schema.items()}


def reported_by_parent(problem: Problem, path: str) -> Problem:
    """Return the problem that a parent stack reports for a problem of its nested stack.

    `path` leads to the nested stack. A problem of another kind becomes a failed validation.
    """
    moved = inside(problem, path)
    if type(problem) is StackValidationFailed:
        return moved
    return StackValidationFailed(moved.at, problem.text, problem.kind, code=problem.code)
