"""Parse nodes into a syntax tree, which is the same for HOT and CFN.

An error in an expression is kept in the tree, because its branch may never be selected. All other
errors are collected in `Syntax.problems`. Source: docs/spec/hot.md, sections 3, 5, 6, 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hearth.model.problem import (
    HTTPBadRequest,
    InvalidExternalResourceDependency,
    InvalidTemplateSection,
    InvalidTemplateVersion,
    Problem,
    Rejected,
    StackValidationFailed,
    hint,
    nearest,
)
from hearth.model.span import Span, Step, dotted
from hearth.model.unknown import Unknown
from hearth.template.declare import Declarations
from hearth.template.expr import OMIT, Broken, Call, Const, Expr, If, list_of, map_of, shape
from hearth.template.functions import named
from hearth.template.load import Node
from hearth.template.parameters import ParameterSchema
from hearth.template.versions import BY_VERSION, VERSION_KEYS, Grammar, versions_of

EMPTY = Const({})
NAME_MAX = 255  # characters, as of all names in the database


class ResourceSource(Struct, frozen=True, eq=False):
    """A resource in the syntax tree."""

    name: str
    type: str
    node: Node
    at: Span
    properties: Expr = EMPTY
    metadata: Expr = EMPTY
    update_policy: Expr = EMPTY
    deletion_policy: Expr | None = None
    external_id: Expr | None = None
    depends_on: tuple[str, ...] = ()
    condition: Expr | None = None
    description: str = ""


class OutputSource(Struct, frozen=True, eq=False):
    """An output in the syntax tree."""

    name: str
    value: Expr
    at: Span
    description: Any = None
    condition: Expr | None = None


class ParameterGroup(Struct, frozen=True):
    """A group of parameters in the template, which user interfaces show together."""

    written: Mapping[str, Any]


class Syntax(Struct, frozen=True, eq=False):
    """The syntax tree of a template, without the resource types."""

    grammar: Grammar
    file: str
    root: Node
    description: Any
    parameters: Mapping[str, ParameterSchema]
    groups: tuple[ParameterGroup, ...] | None
    conditions: Mapping[str, Expr]
    mappings: Mapping[str, Any]
    resources: Mapping[str, ResourceSource]
    outputs: Mapping[str, OutputSource]
    problems: tuple[Problem, ...] = field(default=())


def parse(root: Node, file: str, *, child: bool = False) -> Syntax:
    """Parse a template and return its syntax tree.

    `child` is true for a nested template; an unknown section is then another kind of error.

    Raises Rejected if the root is not a map, or if its version cannot be determined. Other problems
    are in the tree.
    """
    if not isinstance(root.value, dict):
        raise Rejected([HTTPBadRequest(root.span(file), "a template must be a map")])
    return _Parser(_grammar(root, file), root, file, child).parse()


def _grammar(root: Node, file: str) -> Grammar:
    keys = [key for key in VERSION_KEYS if key in root.value]
    if not keys:
        near = nearest(next(iter(root.value), ""), VERSION_KEYS)
        message = f"the template has no version; heat_template_version is needed{hint(near)}"
        raise Rejected([HTTPBadRequest(root.span(file), message)])
    node = root.value[keys[0]]
    if len(keys) > 1:
        raise Rejected(
            [InvalidTemplateVersion(node.key_span(file), ", ".join(keys), ambiguous=True)]
        )
    grammar = BY_VERSION.get((keys[0], node.value)) if isinstance(node.value, str) else None
    if grammar is None:
        text = f"{keys[0]}: {node.plain()}"
        versions = versions_of(keys[0])
        raise Rejected(
            [
                InvalidTemplateVersion(
                    node.span(file),
                    text,
                    versions,
                    code="unknown-version",
                    suggestion=nearest(str(node.value), versions),
                )
            ]
        )
    return grammar


class _Parser:
    def __init__(self, grammar: Grammar, root: Node, file: str, child: bool) -> None:
        self.grammar = grammar
        self.root = root
        self.file = file
        self.child = child
        self.problems: list[Problem] = []
        self.steps: list[Step] = []
        self.in_condition = False

    # -- sections ---------------------------------------------------------------------------

    def parse(self) -> Syntax:
        sections: dict[str, Node] = {}
        for name, node in self.root.value.items():
            ours = self.grammar.sections.get(name)
            if ours is None:
                self.unknown_section(name, node)
            else:
                sections[ours] = node
        parameters = self.section(sections, "parameters")
        declared = Declarations(self.grammar, self.file, self.problems).read(parameters)
        conditions = self.conditions(sections)
        resources = self.resources(self.section(sections, "resources"))
        outputs = self.outputs(self.section(sections, "outputs"))
        description = sections.get("description")
        return Syntax(
            grammar=self.grammar,
            file=self.file,
            root=self.root,
            description=description.plain() if description is not None else None,
            parameters=declared,
            groups=self.groups(sections.get("parameter_groups"), parameters.value),
            conditions=conditions,
            mappings=self.section(sections, "mappings").plain(),
            resources=resources,
            outputs=outputs,
            problems=tuple(self.problems),
        )

    def unknown_section(self, name: str, node: Node) -> None:
        near = nearest(name, self.grammar.sections)
        at = node.key_span(self.file)
        problem: Problem = InvalidTemplateSection(
            at, name, near, code="unknown-section", suggestion=near
        )
        if not self.child:
            problem = StackValidationFailed(
                at, problem.text, code="unknown-section", suggestion=near
            )
        self.problems.append(problem)

    def section(self, sections: Mapping[str, Node], name: str) -> Node:
        node = sections.get(name)
        if node is None or node.value is None:
            return Node({})
        if not isinstance(node.value, dict):
            self.fail(node, f"{self.grammar.word(name)} must be a map", self.grammar.word(name))
            return Node({})
        return node

    def fail(
        self, node: Node, message: str, path: str | None = None, **details: str | None
    ) -> StackValidationFailed:
        problem_path = dotted(self.steps) if path is None else path
        problem = StackValidationFailed(node.span(self.file, problem_path), message, **details)  # type: ignore[arg-type]
        self.problems.append(problem)
        return problem

    # -- parameter groups -------------------------------------------------------------------

    def groups(
        self, node: Node | None, declared: Mapping[str, Any]
    ) -> tuple[ParameterGroup, ...] | None:
        if node is None or node.value is None:
            return None
        if not isinstance(node.value, list):
            self.fail(node, "parameter_groups must be a list", "parameter_groups")
            return None
        grouped: set[str] = set()
        groups = []
        for item in node.value:
            group = self.group(item, declared, grouped)
            if group is not None:
                groups.append(group)
        return tuple(groups)

    def group(
        self, node: Node, declared: Mapping[str, Any], grouped: set[str]
    ) -> ParameterGroup | None:
        if not isinstance(node.value, dict):
            self.fail(node, "a parameter group must be a map", "parameter_groups")
            return None
        fields = node.plain()
        label = fields.get("label")
        path = f"parameter_groups.{label}" if label is not None else "parameter_groups"
        names = fields.get("parameters")
        if not isinstance(names, list):
            self.fail(node, "a parameter group needs a list of parameters", path)
            return None
        for item in node.value["parameters"].value:
            name = item.value
            if not isinstance(name, str):
                self.fail(item, f"{_brief(item)} is not the name of a parameter", path)
            elif name in grouped:
                self.fail(item, f'parameter "{name}" occurs twice in the parameter groups', path)
            elif name not in declared and name not in self.grammar.pseudo_parameters:
                near = nearest(name, declared)
                message = f'there is no parameter "{name}"{hint(near)}'
                self.fail(item, message, path, code="unknown-parameter", suggestion=near)
            else:
                grouped.add(name)
        return ParameterGroup(fields)

    # -- conditions -------------------------------------------------------------------------

    def conditions(self, sections: Mapping[str, Node]) -> dict[str, Expr]:
        word = self.grammar.word("conditions")
        node = sections.get("conditions")
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            self.fail(node, f"{word} must be a map", word)
            return {}
        definitions: dict[str, Expr] = {}
        for name, definition in node.value.items():
            self.steps = [word, name]
            if definition.odd_key:
                self.fail(definition, f'the name of a condition must be a string, not "{name}"')
                continue
            definitions[name] = self.condition(definition, definition_only=True)
        self.steps = []
        return definitions

    def condition(self, node: Node, *, definition_only: bool = False) -> Expr:
        """Parse a condition: a boolean, a condition function, or the name of a condition.

        If `definition_only` is true, the condition is a definition, which cannot be only a name.
        """
        value = node.value
        if isinstance(value, bool):
            return Const(value)
        if isinstance(value, str) and not definition_only:
            return Const(value)
        expr: Expr = Const(None)
        if isinstance(value, dict):
            self.in_condition = True
            expr = self.expression(node)
            self.in_condition = False
        if isinstance(expr, Call):
            return expr
        if isinstance(expr, Broken):
            if definition_only:
                self.problems.extend(expr.problems)
            return expr
        problem = StackValidationFailed(
            node.span(self.file, dotted(self.steps)), f"{_brief(node)} is not a condition"
        )
        if definition_only:
            self.problems.append(problem)
        return Broken((problem,))

    # -- resources --------------------------------------------------------------------------

    def resources(self, section: Node) -> dict[str, ResourceSource]:
        word = self.grammar.word("resources")
        sources = {}
        for name, node in section.value.items():
            self.steps = [word, name]
            if node.odd_key:
                self.fail(node, f'the name of a resource must be a string, not "{name}"')
                continue
            if "/" in name:
                self.fail(node, f'the name of a resource must not contain a slash: "{name}"')
                continue
            if len(name) > NAME_MAX:
                message = f"the name of a resource must have at most {NAME_MAX} characters"
                self.fail(node, f'{message}: "{name[:40]}…"')
                continue
            if not isinstance(node.value, dict):
                self.fail(node, "a resource must be a map with a type")
                continue
            sources[name] = self.resource(name, node)
        self.steps = []
        return sources

    def resource(self, name: str, node: Node) -> ResourceSource:
        fields: dict[str, Node] = {}
        for key, inner in node.value.items():
            ours = self.grammar.resource_keys.get(key)
            if ours is not None:
                fields[ours] = inner
            elif self.grammar.hot:
                near = nearest(key, self.grammar.resource_keys)
                message = f'"{key}" is not a key of a resource{hint(near)}'
                at = inner.key_span(self.file, dotted(self.steps))
                self.problems.append(
                    StackValidationFailed(at, message, code="unknown-key", suggestion=near)
                )
        source = ResourceSource(
            name=name,
            type=self.type(fields.get("type"), node),
            node=node,
            at=node.key_span(self.file, dotted(self.steps)),
            properties=self.mapping(fields, "properties"),
            metadata=self.mapping(fields, "metadata"),
            update_policy=self.mapping(fields, "update_policy"),
            deletion_policy=self.optional(fields, "deletion_policy"),
            external_id=self.optional(fields, "external_id"),
            depends_on=self.depends_on(fields.get("depends_on")),
            condition=self.condition_of(fields),
            description=self.description(fields.get("description")),
        )
        if source.external_id is not None and "depends_on" in fields:
            message = (
                f"depends_on of {name} ({source.type}) cannot be combined with its external_id"
            )
            at = fields["depends_on"].span(self.file, dotted(self.steps))
            self.problems.append(InvalidExternalResourceDependency(at, message))
        return source

    def type(self, node: Node | None, owner: Node) -> str:
        if node is None:
            self.fail(owner, "a resource needs a type")
        elif not isinstance(node.value, str) or not node.value:
            self.fail(node, "the type of a resource must be a non-empty string")
        else:
            return node.value
        return ""

    def description(self, node: Node | None) -> str:
        if node is None:
            return ""
        if not isinstance(node.value, str):
            self.fail(node, "the description of a resource must be a string")
            return ""
        return node.value

    def mapping(self, fields: Mapping[str, Node], key: str) -> Expr:
        node = fields.get(key)
        if node is None:
            return EMPTY
        if not isinstance(node.value, dict | Unknown):
            self.fail(node, f"{self.grammar.word(key)} must be a map")
            return EMPTY
        return self.field(node, key)

    def optional(self, fields: Mapping[str, Node], key: str) -> Expr | None:
        node = fields.get(key)
        return None if node is None else self.field(node, key)

    def field(self, node: Node, key: str) -> Expr:
        self.steps.append(self.grammar.word(key))
        expr = self.expression(node)
        self.steps.pop()
        return expr

    def condition_of(self, fields: Mapping[str, Node]) -> Expr | None:
        node = fields.get("condition")
        if node is None or (node.value is None and self.steps[0] == self.grammar.word("outputs")):
            return None
        self.steps.append(self.grammar.word("condition"))
        expr = self.condition(node)
        self.steps.pop()
        return expr

    def depends_on(self, node: Node | None) -> tuple[str, ...]:
        if node is None:
            return ()
        entries = [node] if isinstance(node.value, str) else node.value
        if not isinstance(entries, list) or not all(
            isinstance(entry.value, str) for entry in entries
        ):
            word = self.grammar.word("depends_on")
            self.fail(node, f"{word} must be the name of a resource, or a list of names")
            return ()
        return tuple(dict.fromkeys(entry.value for entry in entries))

    # -- outputs ----------------------------------------------------------------------------

    def outputs(self, section: Node) -> dict[str, OutputSource]:
        word = self.grammar.word("outputs")
        sources = {}
        for name, node in section.value.items():
            self.steps = [word, name]
            if node.odd_key:
                self.fail(node, f'the name of an output must be a string, not "{name}"')
                continue
            keys = self.grammar.output_keys
            value = self.grammar.word("value")
            if not isinstance(node.value, dict) or value not in node.value:
                self.fail(node, f'an output must be a map with the key "{value}"')
                continue
            fields = {keys[key]: inner for key, inner in node.value.items() if key in keys}
            description = fields.get("description")
            sources[name] = OutputSource(
                name=name,
                value=self.field(fields["value"], "value"),
                at=node.key_span(self.file, dotted(self.steps)),
                description=description.plain() if description is not None else None,
                condition=self.condition_of(fields),
            )
        self.steps = []
        return sources

    # -- expressions ------------------------------------------------------------------------

    def expression(self, node: Node) -> Expr:
        value = node.value
        if isinstance(value, dict):
            if len(value) == 1:
                ((name, args),) = value.items()
                if name in self.grammar.functions or (
                    self.in_condition and name in self.grammar.condition_functions
                ):
                    return self.call(name, node, args)
            entries: dict[str, Expr] = {}
            for key, inner in value.items():
                self.steps.append(key)
                entries[key] = self.expression(inner)
                self.steps.pop()
            return map_of(entries)
        if isinstance(value, list):
            items = []
            for index, inner in enumerate(value):
                self.steps.append(index)
                items.append(self.expression(inner))
                self.steps.pop()
            return list_of(items)
        return Const(value)

    def call(self, name: str, node: Node, args: Node) -> Expr:
        self.steps.append(name)
        try:
            at = args.key_span(self.file, dotted(self.steps))
            if self.in_condition:
                function_name = self.grammar.condition_functions.get(name)
                if function_name is None:
                    message = f"{name} cannot be used in conditions"
                    if self.grammar.functions.get(name) is None:
                        message = f"{name} is not supported in this version, within {self.outer()}"
                        at = args.key_span(self.file, self.outer())
                    return Broken((StackValidationFailed(at, message),))
            else:
                function_name = self.grammar.functions[name]
                if function_name is None:
                    message = f"{name} is not supported in version {self.grammar.value}"
                    return Broken((StackValidationFailed(at, message, code="removed-function"),))
                if function_name == "if":
                    return self.choice(name, args, at)
            function = named(function_name)
            expr = self.expression(args)
            broken = [part for part in _direct(expr) if isinstance(part, Broken)]
            if broken:
                return Broken(tuple(problem for part in broken for problem in part.problems))
            if function.check is not None:
                wrong = function.check(shape(expr))
                if wrong is not None:
                    problem = StackValidationFailed(at, f"{name}: {wrong}", code="wrong-arguments")
                    return Broken((problem,))
            return Call(function, expr, at, args)
        finally:
            self.steps.pop()

    def outer(self) -> str:
        """Return the name of the condition function that contains the current one, or an empty
        text.

        The error about a removed function shows this name as the complete path, as in Heat
        (cond-removed-fn).
        """
        names = [step for step in self.steps[:-1] if isinstance(step, str)]
        return names[-1] if names else ""

    def choice(self, name: str, args: Node, at: Span) -> Expr:
        items = args.value
        lengths = (2, 3) if self.grammar.if_without_else else (3,)
        if not isinstance(items, list) or len(items) not in lengths:
            counts = " or ".join(str(count - 1) for count in lengths)
            message = f"{name} needs a list with a condition and {counts} values"
            return Broken((StackValidationFailed(at, message, code="wrong-arguments"),))
        branches: list[Expr] = []
        for index, item in enumerate(items[1:], 1):
            self.steps.append(index)
            branches.append(self.expression(item))
            self.steps.pop()
        if len(branches) == 1:
            branches.append(Const(OMIT))
        condition = self.condition(items[0])
        if isinstance(condition, Broken):
            return Broken(tuple(StackValidationFailed(at, p.text) for p in condition.problems))
        return If(condition, branches[0], branches[1], at)


def _direct(expr: Expr) -> list[Expr]:
    """Return an expression and all its subexpressions, except those inside an `if`."""
    exprs = [expr]
    if not isinstance(expr, If):
        for part in expr.parts():
            exprs.extend(_direct(part))
    return exprs


def _brief(node: Node) -> str:
    text = repr(node.plain())
    return text if len(text) < 80 else text[:77] + "..."
