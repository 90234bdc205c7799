"""What must be true of the compiler, whatever it is given. Each check raises where it is not."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hearth.authoring.lint import lint_with_texts
from hearth.authoring.rules import RULES
from hearth.model.problem import Notice, Problem, Rejected, RequestLimitExceeded
from hearth.model.span import Span
from hearth.model.unknown import UNKNOWN, Unknown
from hearth.template import (
    NOWHERE,
    Environment,
    EvaluationError,
    Limits,
    Module,
    Node,
    Program,
    compile_template,
    load,
    parameter_types,
)
from hearth.template.check import examine
from hearth.template.check.scope import StaticScope
from hearth.template.compile import draft_template, module_key
from hearth.template.describe import parameter_texts, validated
from hearth.template.expr import Call, Const, Expr, list_of, map_of
from hearth.template.function import REGISTRY
from hearth.template.load import from_plain
from hearth.template.parameters import ParameterSchema, ParameterType, ParameterValue
from hearth.template.scope import Scope
from hearth.template.world import Facade
from tests.adapters.catalog import Catalog
from tests.fuzz.oracle import Refused, comparable, expected

LIMITS = Limits(max_template_size=100_000)
CATALOG = Catalog()
CHILD = "heat_template_version: 2018-08-31\nparameters: {p: {type: json, default: {}}}\n"
SEVERAL_DEEP = 30
"""How deep values are that a check follows without help: far less than the limit."""


# -- loading ------------------------------------------------------------------------------------


def text_is_loaded(text: str) -> None:
    """A text is plain data that knows where it stands, or rejected; PyYAML says the same."""
    try:
        node = load(text, "t", LIMITS)
    except Rejected as rejected:
        told(rejected.problems)
        if comparable(text) and not isinstance(rejected.problems[0], RequestLimitExceeded):
            _refused_by_the_oracle(text, rejected)
        return
    value = node.plain()
    is_plain(value)
    placed(node, text)
    assert same(from_plain(value, "t", LIMITS).plain(), value)
    if comparable(text):
        assert same(expected(text), value)


def _refused_by_the_oracle(text: str, rejected: Rejected) -> None:
    try:
        value = expected(text)
    except Refused:
        return
    raise AssertionError(f"{value!r} is refused: {rejected}")


def is_plain(value: Any, *, unknown: bool = False) -> None:
    """JSON only, with text as keys; maybe with unknowns inside."""
    waiting = [value]
    for one in waiting:
        match one:
            case dict():
                assert all(type(key) is str for key in one), one
                waiting.extend(one.values())
            case list():
                waiting.extend(one)
            case None | bool() | int() | float() | str():
                pass
            case Unknown():
                assert unknown, one
            case _:
                raise AssertionError(f"{one!r} is no plain value")


def placed(root: Node, text: str) -> None:
    """Every node of a text has a line of it."""
    # to libyaml a BOM is a line; nothing at all stands behind the end
    lines = 2 + sum(map(text.count, "\n\r\x85\u2028\u2029\ufeff"))
    waiting = [root]
    for node in waiting[:1000]:
        assert 0 <= node.line <= lines
        assert 0 <= node.key_line <= lines
        if isinstance(node.value, dict | list):
            inner = node.value.values() if isinstance(node.value, dict) else node.value
            waiting.extend(inner)


def same(one: Any, other: Any) -> bool:
    """Equality in which nan is itself and 1 is not true."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def told(problems: tuple[Problem, ...]) -> None:
    """Every problem has words."""
    assert problems
    for problem in problems:
        assert problem.message
        assert problem.kind


# -- compiling ----------------------------------------------------------------------------------


def template_is_compiled(case: Mapping[str, Any]) -> Program | str:
    """A template is a program, or rejected; whatever can be asked of a program has an answer.

    Keys: template, environment, parameters, files; all but the first may be missing.
    """
    files = {"c.yaml": CHILD, **case.get("files", {})}
    try:
        environment = Environment.parse(case.get("environment"))
        module_key(case["template"], files=files, environment=environment)
        module = compile_template(
            case["template"],
            files=files,
            environment=environment,
            catalog=CATALOG,
            limits=LIMITS,
        )
        lenient = module.specialise({}, stack_name="s", strict=False)
        validated(lenient, {"a": 1}, show_nested=True)
        parameters = case.get("parameters") or {}
        program = module.specialise(parameters, stack_name="s", stack_id="i")
    except Rejected as rejected:
        told(rejected.problems)
        first = rejected.problems[0]
        return f"{first.kind}: {first.message}"
    assert all(isinstance(text, str) for text in parameter_texts(program).values())
    for problem in program.check_values(NOWHERE).problems:
        assert problem.message
    for definition in program.resources.values():
        assert definition.fingerprint
        is_plain(definition.evaluate(NOWHERE).properties, unknown=True)
    for output in program.outputs.values():
        value, error = output.evaluate(NOWHERE)
        assert error is None or value is None
        is_plain(value, unknown=True)
    return program


# -- environments -------------------------------------------------------------------------------


def environments_are_merged(case: Mapping[str, Any]) -> None:
    """Environments are read and merged, or rejected; a merged one can be asked everything.

    Keys: start, files (texts, in their order), template, type and resource (what is looked for).
    """
    try:
        start = Environment.parse(case["start"], limits=LIMITS)
        types = parameter_types(case["template"], case["files"], LIMITS)
        merged = start.merge(list(case["files"]), case["files"], types)
    except Rejected as rejected:
        told(rejected.problems)
        return
    for environment in (start, merged, Environment(**merged.as_map(), base=start)):
        assert isinstance(environment.key, str)
        is_plain(environment.as_map())
        found = environment.find(case["type"], case["resource"], CATALOG)
        child = environment.for_child(case["resource"], None)
        child.find(case["type"], case["resource"], CATALOG)
        assert found is None or environment.find(case["type"], case["resource"], CATALOG) == found
        environment.hooks(case["resource"])
        environment.restricted_actions(case["resource"])
    again = Environment.parse(json.loads(json.dumps(merged.as_map())))
    assert same(again.as_map(), merged.as_map())


# -- functions ----------------------------------------------------------------------------------


class Given(Expr):
    """An argument that another function computes."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def specialise(self, scope: Scope) -> Expr:
        return self

    def evaluate(self, scope: Scope) -> Any:
        return self.value


class Odd:
    """A world in which attributes are anything."""

    facade = Facade({"a": [1]}, "Retain", {})

    def reference(self, name: str) -> Any:
        return f"id of {name}"

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        return {"a": [1, {"b": UNKNOWN}], "b": None}.get(attribute, Unknown(frozenset({name})))

    def availability_zones(self) -> Any:
        return ["nova"]

    def secret(self, name: str, attribute: str) -> bool:
        return attribute == "b"


TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  a: {type: json, default: {x: [1, "y"]}, hidden: true}
  b: {type: string}
  c: {type: comma_delimited_list}
  d: {type: boolean}
  e: {type: number}
conditions:
  a: {equals: [{get_param: b}, x]}
  b: {not: a}
resources:
  r: {type: OS::Heat::Value, properties: {value: 1}}
  g: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: OS::Heat::None}}}
"""
NODE = Node("", 1, 1)
AT = Span("t", 1, 1)


def scopes() -> list[Scope]:
    """A scope with values, one in which nothing is there, and the one of the static check."""
    node = load(TEMPLATE)
    module = draft(node, {})
    values = {
        "a": ParameterValue(_schema("a", ParameterType.JSON, hidden=True), {"x": [1, {"y": "z"}]}),
        "b": ParameterValue(_schema("b", ParameterType.STRING), "x"),
        "c": ParameterValue(_schema("c", ParameterType.LIST), ["a", "b"]),
        "d": ParameterValue(_schema("d", ParameterType.BOOLEAN), True),
        "e": ParameterValue(_schema("e", ParameterType.NUMBER), Unknown()),
    }
    mappings = {"m": {"a": {"b": [1]}}}
    scope = Scope(values, {"f": "text"}, LIMITS, module.syntax.conditions, mappings)
    scope.resources = module.syntax.resources
    scope.attribute_names = lambda name: ["a", "b"]
    return [scope, scope.in_world(Odd()), StaticScope(module)]  # type: ignore[arg-type]


def _schema(name: str, kind: ParameterType, *, hidden: bool = False) -> ParameterSchema:
    return ParameterSchema(name, kind, hidden=hidden)


def function_is_applied(case: Mapping[str, Any]) -> None:
    """A function gives a plain value, unknowns inside allowed, or an EvaluationError.

    Keys: function, args. In the arguments {"$computed": VALUE} stands for what a function gives,
    {"$unknown": [NAME, …]} for what is not known yet.
    """
    function = REGISTRY[case["function"]]
    args, shown = _expression(case["args"])
    if function.check is not None and function.check(shown) is not None:
        return
    call = Call(function, args, AT, NODE)
    for scope in scopes():
        for compute in (call.evaluate, _narrowed(call)):
            try:
                value = compute(scope)
            except EvaluationError as error:
                ours = "NameError" in str(error)  # `yaql` tells whatever its library raises
                if ours and "NameError" not in json.dumps(case):
                    raise
                continue
            is_plain(value, unknown=True)


def _narrowed(call: Call) -> Any:
    return lambda scope: call.specialise(scope).evaluate(scope)


def _expression(args: Any) -> tuple[Expr, Any]:
    """Arguments as an expression, and as a check of their shape sees them."""
    from hearth.template.expr import shape

    expr = _expr(args)
    return expr, shape(expr)


def _expr(args: Any) -> Expr:
    match args:
        case {"$computed": value}:
            return Given(_decoded(value))
        case dict():
            return map_of({key: _expr(one) for key, one in args.items()})
        case list():
            return list_of([_expr(one) for one in args])
        case _:
            return Const(args)


def _decoded(value: Any) -> Any:
    match value:
        case {"$unknown": list(names)}:
            return Unknown(frozenset(map(str, names)))
        case dict():
            return {key: _decoded(one) for key, one in value.items()}
        case list():
            return [_decoded(one) for one in value]
        case _:
            return value


# -- examining ----------------------------------------------------------------------------------


class Soon:
    """A world in which every reference is a text, and attributes are not known. A child stack has
    no attributes but its outputs: that is noticed when one is read.
    """

    facade: Facade | None = None

    def __init__(self, program: Program) -> None:
        self.program = program

    def reference(self, name: str) -> Any:
        return name

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        child = self.program.resources[name].child
        known = {"show", *child.syntax.outputs} if child is not None else {attribute}
        if attribute not in known and not attribute.startswith("resource."):
            raise EvaluationError(f"no attribute {attribute}")
        return Unknown(frozenset({name}))

    def availability_zones(self) -> Any:
        return ["nova"]


def draft(node: Node, files: Mapping[str, str]) -> Module:
    """A template as the author's tools see it, with all its problems."""
    parsed = {}
    for name, text in files.items():
        try:
            parsed[name] = load(text, name, LIMITS)
        except Rejected:
            continue
    return draft_template(
        node, files=files, parsed=parsed, environment=Environment(), catalog=CATALOG, file="t"
    )


def template_is_examined(case: Mapping[str, Any]) -> None:
    """A template can be examined, and what is fine without parameters has no errors.

    A condition on a pseudo parameter, such as the project, may be true for somebody else, so both
    branches count: such a template has parameters. Keys: template (text or map), files.
    """
    files = {"c.yaml": CHILD, **case.get("files", {})}
    try:
        node = load(case["template"], "t", LIMITS)
        found = examine(draft(node, files))
    except Rejected as rejected:
        told(rejected.problems)
        return
    errors = [problem for problem in found if not isinstance(problem, Notice)]
    for problem in found:
        assert problem.message
    if (
        errors
        and not {"parameters", "Parameters"} & set(node.value)
        and not _asks_who(node.plain())
    ):
        assert not _fine(case["template"], files), [problem.message for problem in errors]


def _asks_who(value: Any, *, decides: bool = False) -> bool:
    """Whether a condition in data of a template reads a pseudo parameter."""
    if isinstance(value, str):
        return decides and value.startswith(("OS::", "AWS::"))
    if isinstance(value, list):
        return any(_asks_who(one, decides=decides) for one in value)
    if not isinstance(value, dict):
        return False
    for name, inner in value.items():
        if name in ("if", "Fn::If") and isinstance(inner, list) and inner:
            if _asks_who(inner[0], decides=True) or _asks_who(inner[1:], decides=decides):
                return True
        elif _asks_who(inner, decides=decides or name.lower() in ("conditions", "condition")):
            return True
    return False


def _fine(template: str | Mapping[str, Any], files: Mapping[str, str]) -> bool:
    """Whether a stack of a template can be made, and all its outputs be read, as far as known."""
    try:
        module = compile_template(
            template, files=files, environment=Environment(), catalog=CATALOG, limits=LIMITS
        )
        program = module.specialise({}, stack_name="s")
    except Rejected:
        return False
    world: Any = Soon(program)
    problems = [*program.check_values(NOWHERE).problems, *program.check_values(world).problems]
    return not problems and not any(one.evaluate(world)[1] for one in program.outputs.values())


# -- linting ------------------------------------------------------------------------------------

FOLDER = Path("/no-such-folder")


def files_are_linted(case: Mapping[str, str]) -> None:
    """Files can be linted: root.yaml with the environment env.yaml, if there is one.

    Every finding has a place that is there, and a rule.
    """
    texts = {FOLDER / name: text for name, text in case.items()}
    environments = [FOLDER / "env.yaml"] if "env.yaml" in case else []
    found, read = lint_with_texts(FOLDER / "root.yaml", environments, open_texts=texts)
    for one in found:
        assert one.code in RULES, one
        assert one.message
        assert min(one.line, one.column, one.length) >= 1
        assert one.file in read, one
