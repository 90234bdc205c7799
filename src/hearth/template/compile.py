"""Compile text to a module: load it, parse it, find types and nested templates, check them.

A module does not depend on parameter values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import islice, pairwise
from typing import Any

from msgspec.structs import replace

from hearth.model.collector import collector_paused
from hearth.model.problem import (
    EntityNotFound,
    Problem,
    Rejected,
    RequestLimitExceeded,
    StackValidationFailed,
    TemplateMissing,
    hint,
    nearest,
    nearest_file,
)
from hearth.model.span import Span
from hearth.template.budget import current, spending
from hearth.template.child import ChildType, misfits
from hearth.template.declare import WRONG_DEFAULT
from hearth.template.environment import Environment, TemplateEntry, TypeEntry
from hearth.template.expr import Const, Expr, problems_in
from hearth.template.limits import Limits
from hearth.template.load import Node, load
from hearth.template.parameters import ParameterType
from hearth.template.parse import ResourceSource, Syntax, parse
from hearth.template.program import Binding, Module, Program
from hearth.template.specialise import Specialiser
from hearth.template.static import (
    UNKNOWN_PROPERTY,
    check_references,
    check_resource,
    problems_of,
    way_into,
)
from hearth.template.types import TypeCatalog
from hearth.template.values import Stack
from hearth.template.world import Facade

COMPILER_VERSION = 1
"""A part of the key of every module. Increase it if the compiler makes different modules of the
same text.
"""


PROBLEMS_MAX = 100
"""The maximum number of problems in a report."""

TREE_RESOURCES_MAX = 100_000
"""The maximum number of resources in a template and its nested templates. A nested template counts
once per environment.
"""

NOT_FETCHED = "Hearth fetches it only if [hearth] template_fetch_enabled is true"
TOO_DEEP = "too-deep"
"""The code of the rule that templates must not be nested too deeply."""

LEFT_TO_CREATE = frozenset({UNKNOWN_PROPERTY, WRONG_DEFAULT})
"""The codes of problems in nested templates that a validation accepts and a create refuses."""

NESTED_MAX = 64
"""The number of modules of generated group templates that a module caches."""

CHEAPER = 4
"""How many times cheaper it is to specialise a resource than to compile it."""

CLOSED_SHARE = 16
"""How many times cheaper it is if no parameter changes the resource, except for the first time."""


def compile_template(
    template: str | Mapping[str, Any],
    *,
    files: Mapping[str, str],
    environment: Environment,
    catalog: TypeCatalog,
    limits: Limits | None = None,
    file: str = "template",
) -> Module:
    """Return the module of a template.

    `file` is the name of the template in messages. Raises Rejected with all errors, at most
    PROBLEMS_MAX. An error because of which the text cannot be read as a template is reported alone,
    and so is an exceeded limit.
    """
    with collector_paused(), spending():
        compiler = _Compiler(files, catalog, limits or Limits())
        return _sound(compiler.compile(template, environment, file, depth=0))


def draft_template(
    template: Node,
    *,
    files: Mapping[str, str],
    parsed: Mapping[str, Node],
    environment: Environment,
    catalog: TypeCatalog,
    file: str = "template",
    limits: Limits | None = None,
) -> Module:
    """Return the module of a template even if it has problems, which the module contains.

    `parsed` are the templates among the files that are already loaded, by file name. Raises
    Rejected if `template` is not a template or exceeds a limit.
    """
    with collector_paused(), spending():
        compiler = _Compiler(files, catalog, limits or Limits(), parsed)
        return compiler.compile(template, environment, file, depth=0)


def _sound(module: Module, passed: Set[str] = frozenset()) -> Module:
    if any(problem.code not in passed for problem in module.problems):
        raise Rejected(module.problems)
    return module


def compile_nested(
    parent: Module,
    definition: Mapping[str, Any],
    resource: str,
    template_name: str,
    *,
    strict: bool = True,
) -> Module:
    """Return the module of the nested stack that a group generates from its properties.

    `definition` is the generated template, `resource` the name of the group, and `template_name`
    the name of the template in messages. The module is cached in `parent`. Raises Rejected; if
    `strict` is false, not for problems in LEFT_TO_CREATE.
    """
    key = f"{resource}\0{json.dumps(definition, sort_keys=True, default=str)}"
    module = parent.nested.get(key)
    if module is None:
        compiler = _Compiler(parent.files, parent.catalog, parent.limits)
        environment = parent.environment.for_child(resource, None)
        with spending():
            module = compiler.compile(definition, environment, template_name, parent.depth + 1)
        if len(parent.nested) >= NESTED_MAX:
            parent.nested.clear()
        parent.nested[key] = module
    return _sound(module, frozenset() if strict else LEFT_TO_CREATE)


def module_key(
    template: str | Mapping[str, Any],
    *,
    files: Mapping[str, str],
    environment: Environment,
    limits: Limits | None = None,
) -> str:
    """Return a cache key for a module.

    Requests with equal keys have equal modules if the resource types are the same.
    """
    digest = hashlib.blake2b(digest_size=20)
    text = template if isinstance(template, str) else json.dumps(template, default=str)
    for part in (str(COMPILER_VERSION), repr(limits or Limits()), environment.key, text):
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    for key in sorted(files):
        for part in (key, files[key] if isinstance(files[key], str) else repr(files[key])):
            digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class _Compiled(Module, frozen=True, eq=False):
    """A module that can create programs and the modules of nested stacks."""

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
        stack = Stack(stack_name, stack_id, project_id)
        with collector_paused(), spending() as budget:
            budget.widen(len(self.syntax.resources))
            resources_to_build = len(self.syntax.resources) - len(self.closed)
            budget.compiled((resources_to_build + len(self.closed) // CLOSED_SHARE) // CHEAPER)
            specialiser = Specialiser(self, stack, facade, strict, check)
            return specialiser.run(parameters, resources=resources)

    def compile_nested(
        self, definition: Mapping[str, Any], resource: str, *, strict: bool = True
    ) -> Module:
        return compile_nested(self, definition, resource, "nested_stack", strict=strict)


class _Compiler:
    """Compiles a template with its nested templates. A nested template is compiled once for each
    environment and depth.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        catalog: TypeCatalog,
        limits: Limits,
        parsed: Mapping[str, Node] | None = None,
    ) -> None:
        self.files = files
        self.parsed = parsed or {}
        self.drafting = parsed is not None
        self.catalog = catalog
        self.limits = limits
        self.children: dict[tuple[str, str, int], Module | tuple[Problem, ...]] = {}
        self.syntaxes: dict[str, Syntax] = {}
        self.resources_left = TREE_RESOURCES_MAX
        self.stock: list[str] | None = None
        self.hints_left = PROBLEMS_MAX

    def compile(
        self,
        template: str | Mapping[str, Any] | Node,
        environment: Environment,
        file: str,
        depth: int,
    ) -> Module:
        """Return a module that contains its problems.

        Raises Rejected only if `template` is not a template or exceeds a limit.
        """
        syntax = self.syntax(template, file, depth)
        self.resources_left -= len(syntax.resources)
        if (budget := current()) is not None:
            budget.compiled(len(syntax.resources))
        if self.resources_left < 0:
            message = f"all templates together have more than {TREE_RESOURCES_MAX} resources"
            raise Rejected([RequestLimitExceeded(Span(file), message)])
        bindings = self.bindings(syntax, environment, depth)
        members = self.members(syntax, bindings, environment, depth) if self.drafting else {}
        problems = (
            *syntax_problems(syntax, environment),
            *islice(_check(syntax, bindings), PROBLEMS_MAX),
        )
        return _Compiled(
            syntax=syntax,
            files=self.files,
            environment=environment,
            catalog=self.catalog,
            limits=self.limits,
            bindings=bindings,
            members=members,
            depth=depth,
            problems=problems[:PROBLEMS_MAX],
        )

    def syntax(self, template: str | Mapping[str, Any] | Node, file: str, depth: int) -> Syntax:
        """Parse a template and return its syntax tree.

        The tree of a nested template is cached, because it does not depend on the environment.
        """
        parsed = self.syntaxes.get(file) if depth else None
        if parsed is None:
            root = template if isinstance(template, Node) else load(template, file, self.limits)
            parsed = parse(root, file, child=depth > 0)
            if depth:
                self.syntaxes[file] = parsed
        return parsed

    # -- bind -------------------------------------------------------------------------------

    def bindings(self, syntax: Syntax, environment: Environment, depth: int) -> dict[str, Binding]:
        shared: dict[str, Binding] = {}
        bindings = {}
        by_name = environment.names_resources
        for name, source in syntax.resources.items():
            if not source.type:
                bindings[name] = Binding(None)
            elif by_name:
                bindings[name] = self.bind(source, environment, depth)
            else:
                if source.type not in shared:
                    shared[source.type] = self.bind(source, environment, depth)
                binding = shared[source.type]
                if binding.problems:  # they have a place
                    binding = self.bind(source, environment, depth)
                bindings[name] = binding
        return bindings

    def members(
        self,
        syntax: Syntax,
        bindings: Mapping[str, Binding],
        environment: Environment,
        depth: int,
    ) -> dict[str, Binding]:
        """Return the resource types of the members of groups, by the name of the group.

        Groups whose member type is not literal text are left out.
        """
        by_group = {}
        for name, source in syntax.resources.items():
            member = getattr(bindings[name].type_info, "member_property", None)
            word = syntax.grammar.word("properties")
            node = source.node.child(word, member) if member is not None else None
            kind = node.child("type") if node is not None else None
            if node is not None and kind is not None and kind.value and type(kind.value) is str:
                at = source.at.under(word, str(member))
                inner = ResourceSource(name=name, type=kind.value, node=node, at=at)
                by_group[name] = self.bind(inner, environment, depth)
        return by_group

    def bind(self, source: ResourceSource, environment: Environment, depth: int) -> Binding:
        entry = environment.find(source.type, source.name, self.catalog)
        match entry:
            case TypeEntry(name):
                return Binding(self.catalog.find(name))
            case TemplateEntry():
                return self.bind_child(source, entry, environment, depth)
            case None:
                return Binding(None, problems=(self.unknown_type(source, environment),))

    def unknown_type(self, source: ResourceSource, environment: Environment) -> Problem:
        if self.stock is None:
            self.stock = [*self.catalog.names(), *environment.resource_registry]
        at = place_of_type(source)
        text = EntityNotFound(None, "Resource Type", source.type).text
        names = environment.chain(source.type, source.name)
        last, mapped = names[-1], len(names) > 1
        if mapped:
            steps = (f"{a} to {b or 'an empty name'}" for a, b in pairwise(names))
            text = f"{text[:-1]}; the resource registry maps {', '.join(steps)}."
        self.hints_left -= 1
        candidates = [candidate for candidate in self.stock if candidate not in names]
        near = (
            nearest(last, candidates) if self.hints_left >= 0 and names.count(last) == 1 else None
        )
        message = f"{text[:-1]}{hint(near)}" if near else text
        return StackValidationFailed(
            at, message, code="unknown-type", suggestion=None if mapped else near
        )

    def bind_child(
        self, source: ResourceSource, entry: TemplateEntry, environment: Environment, depth: int
    ) -> Binding:
        at = place_of_type(source)
        if depth >= self.limits.max_nested_stack_depth:
            message = f"Recursion depth exceeds {self.limits.max_nested_stack_depth}."
            problem = StackValidationFailed(replace(at, path=way_into(source, entry)), message)
            return Binding(None, entry=entry, problems=(replace(problem, code=TOO_DEEP),))
        text: str | Node | None = self.parsed.get(entry.template) or self.files.get(entry.template)
        if text is None:
            candidates = (name for name in self.files if name != at.file)
            near = nearest_file(entry.template, candidates)
            message = f'the template "{entry.template}" was not found in the files{hint(near)}'
            if is_url(entry.template):
                message += f"; {NOT_FETCHED}"
            not_found = TemplateMissing(
                at, message, template=entry.template, code="missing-file", suggestion=near
            )
            return Binding(None, entry=entry, problems=(not_found,))
        child = self.child(text, entry, environment.for_child(source.name, entry), depth + 1)
        if not isinstance(child, Module):
            return Binding(None, entry=entry, inside=child)
        type_info = ChildType(
            name=source.type,
            parameters=child.syntax.parameters,
            outputs={
                name: str(output.description or "") for name, output in child.syntax.outputs.items()
            },
            defaults=frozenset(environment.parameter_defaults),
        )
        built_in = self.catalog.find(source.type)
        problems = tuple(misfits(type_info, built_in, source.at)) if built_in is not None else ()
        return Binding(type_info, child, entry, problems, child.problems)

    def child(
        self, text: str | Node, entry: TemplateEntry, environment: Environment, depth: int
    ) -> Module | tuple[Problem, ...]:
        key = (entry.template, environment.key, depth)
        module = self.children.get(key)
        if module is None:
            try:
                module = self.compile(text, environment, entry.template, depth)
            except Rejected as rejected:
                module = rejected.problems
            self.children[key] = module
        return module


def syntax_problems(syntax: Syntax, environment: Environment) -> Iterator[Problem]:
    """Yield the problems found while a template was parsed.

    Problems of defaults are left out in a nested template if the environment's `parameter_defaults`
    replace these defaults.
    """
    word = syntax.grammar.word("parameters")
    covered = {f"{word}.{name}" for name in environment.parameter_defaults}
    for problem in syntax.problems:
        unused = (
            environment.of_child
            and problem.code == WRONG_DEFAULT
            and problem.at is not None
            and problem.at.path in covered
        )
        if not unused:
            yield problem


def is_url(template: str) -> bool:
    """Return whether the name of a nested template is an address on the web."""
    return template.startswith(("http://", "https://"))


def place_of_type(source: ResourceSource) -> Span:
    """Return the place in the template at which the type of a resource is given."""
    node = source.node.value.get("type") or source.node.value.get("Type") or source.node
    return Span(source.at.file, node.line, node.column, source.at.path)


# -- check --------------------------------------------------------------------------------------


def _check(syntax: Syntax, bindings: Mapping[str, Binding]) -> Iterator[Problem]:
    for name, source in syntax.resources.items():
        yield from _broken(source)
        if source.condition is not None:
            continue
        yield from problems_of(bindings[name], source)
        yield from check_resource(source, bindings[name].type_info, syntax)
        yield from check_references(source, syntax.resources)
    for output in syntax.outputs.values():
        if output.condition is None:
            yield from problems_in(output.value)


def _broken(source: ResourceSource) -> Iterator[Problem]:
    """Yield the problems of invalid function calls in a resource.

    As in Heat, these problems are reported even if the condition of the resource is false.
    """
    expressions: Iterable[Expr | None] = (
        source.properties,
        source.metadata,
        source.update_policy,
        source.deletion_policy,
        source.external_id,
    )
    for expr in expressions:
        if expr is not None and type(expr) is not Const:
            yield from problems_in(expr)


def parameter_types(
    template: str | Mapping[str, Any], files: Mapping[str, str], limits: Limits | None = None
) -> dict[str, ParameterType]:
    """Return the types of all parameters in a template and in the files, by parameter name.

    If several declare a parameter, the template and then the earlier file takes precedence. Texts
    that are not valid templates are ignored. `Environment.merge` needs the types.
    """
    types: dict[str, ParameterType] = {}
    for text in (template, *files.values()):
        try:
            root = load(text, limits=limits)
            syntax = parse(root, "template") if isinstance(root.value, dict) else None
        except (Rejected, TypeError):
            continue
        if syntax is not None:
            for name, schema in syntax.parameters.items():
                types.setdefault(name, schema.type)
    return types
