"""Answers language vectors: one request per line in, one answer per line out.

Stacks are evaluated in memory, resource by resource, with the types of `catalog`. With `--api` a
running server is asked instead; see `hot_api`.
"""

from __future__ import annotations

import json
import secrets
import string
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import force_setattr

from hearth.model.problem import Problem, Rejected
from hearth.model.span import Span
from hearth.model.unknown import Unknown, nulled
from hearth.schema import BOOLEAN, LIST, MAP, NUMBER, STRING, Findings, Prop, coerce
from hearth.template import (
    NOWHERE,
    Environment,
    EvaluationError,
    Facade,
    Limits,
    Module,
    Program,
    ResourceDefinition,
    compile_template,
    parameter_types,
    walk,
)
from hearth.template.child import parameters_of
from hearth.template.compile import compile_nested
from hearth.template.describe import parameter_texts, validated
from hearth.template.environment import TemplateEntry, TypeEntry
from tests.adapters.catalog import GROUPS, Catalog, group_template

CATALOG = Catalog()
PROJECT = "0123456789abcdef0123456789abcdef"
ZONES = ["nova"]
LETTERS = string.ascii_lowercase + string.digits
VALUE_KINDS = {
    "string": STRING,
    "number": NUMBER,
    "comma_delimited_list": LIST,
    "json": MAP,
    "boolean": BOOLEAN,
}


class Refused(Exception):
    """The vector's answer is an error."""

    def __init__(self, phase: str, problem: Problem) -> None:
        super().__init__(problem.message)
        self.phase = phase
        self.problem = problem

    def answer(self) -> dict[str, Any]:
        kind = self.problem.kind
        if kind == "HTTPBadRequest":
            kind = "ValueError"
        error = {"phase": self.phase, "kind": kind, "message": self.problem.message}
        if self.problem.at is not None and self.problem.at.path:
            path = self.problem.at.path
            error["path"] = (
                path if self.phase == "validate" and "(" in path else as_path(self.problem)
            )
        return error


def as_path(problem: Problem) -> str:
    """Positions in properties as plain numbers, in sections as they are."""
    assert problem.at is not None
    path = problem.at.path
    if ".properties." in path or ".Properties." in path:
        head, _, tail = path.partition("roperties.")
        return f"{head}roperties.{tail.replace('[', '.').replace(']', '')}"
    return path


@dataclass
class Made:
    """A resource that exists."""

    definition: ResourceDefinition
    id: str
    properties: Mapping[str, Any]
    metadata: Mapping[str, Any]
    child: Stack | None = None
    random: str = ""


@dataclass
class Stack:
    """A stack in memory; the world of its own program."""

    name: str
    id: str
    program: Program
    facade: Facade | None = None
    made: dict[str, Made] = field(default_factory=dict)

    def create(self) -> None:
        for name in self.program.order:
            definition = self.program.resources[name]
            evaluated = definition.evaluate(self)
            if evaluated.problems:
                raise Refused("create", as_failure(definition, evaluated.problems[0]))
            made = Made(
                definition,
                physical(self.name, name),
                nulled(evaluated.properties),
                nulled(evaluated.metadata),
            )
            if definition.type_info.name == "OS::Heat::RandomString":
                made.random = "".join(
                    secrets.choice(LETTERS) for _ in range(made.properties.get("length", 32))
                )
            module = child_module(self.program, definition, made.properties)
            if module is not None:
                made.child = self.nested(made, module)
            self.made[name] = made

    def nested(self, made: Made, module: Module) -> Stack:
        definition = made.definition
        values = {}
        if definition.child is not None:
            values = parameters_of(made.properties, module.syntax.parameters)
        stack_id = str(uuid.uuid4())
        policy = definition.update_policy.evaluate(definition.scope.in_world(self))
        facade = Facade(made.metadata, definition.deletion_policy, policy)
        program = module.specialise(
            values, stack_name=made.id, stack_id=stack_id, project_id=PROJECT, facade=facade
        )
        stack = Stack(made.id, stack_id, program, facade)
        stack.create()
        return stack

    def reference(self, name: str) -> Any:
        made = self.made.get(name)
        if made is None:
            return Unknown(frozenset({name}))
        if made.child is not None and made.definition.child is not None:
            if "OS::stack_id" in made.child.program.outputs:
                return made.child.output("OS::stack_id")
            return f"arn:openstack:heat::{PROJECT}:stacks/{made.child.name}/{made.child.id}"
        return made.id

    def output(self, name: str) -> Any:
        value, error = self.program.outputs[name].evaluate(self)
        if error is not None:
            raise EvaluationError(error)
        return nulled(value)

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        made = self.made.get(name)
        if made is None:
            return Unknown(frozenset({name}))
        if made.child is not None:
            if made.definition.child is not None:
                return made.child.as_template(attribute, path)
            return made.child.as_group(attribute, path)
        match made.definition.type_info.name, attribute:
            case "OS::Heat::Value", "value":
                return walk(made.properties.get("value"), path)
            case "OS::Heat::TestResource", "output":
                return walk(made.properties.get("value"), path)
            case "OS::Heat::RandomString", "value":
                return walk(made.random, path)
            case _:
                return None

    def availability_zones(self) -> Any:
        return ZONES

    def as_template(self, attribute: str, path: tuple[Any, ...]) -> Any:
        if attribute in self.program.outputs:
            return walk(self.output(attribute), path)
        if attribute.startswith("resource."):
            return self.member(attribute.split(".", 2)[1:], path)
        if attribute == "show":
            return None
        raise EvaluationError(f'no attribute "{attribute}"')

    def member(self, names: list[str], path: tuple[Any, ...]) -> Any:
        if names[0] not in self.made:
            raise EvaluationError(f'no resource "{names[0]}"')
        steps = (*names[1:], *path)
        if not steps:
            return self.reference(names[0])
        return self.attribute(names[0], str(steps[0]), steps[1:])

    def by_attribute(self) -> dict[str, dict[str, Any]]:
        """What a group tells of its members: {attribute: {member: value}}."""
        found: dict[str, dict[str, Any]] = {}
        for name, made in self.made.items():
            below = made.child.program.outputs if made.child is not None else None
            for attribute in made.definition.type_info.attributes if below is None else below:
                found.setdefault(attribute, {})[name] = self.attribute(name, attribute, ())
        return found

    def as_group(self, attribute: str, path: tuple[Any, ...]) -> Any:
        if attribute.startswith("resource."):
            return self.member(attribute.split(".", 2)[1:], path)
        if attribute in self.made:
            return self.member([attribute], path)
        if attribute == "refs":
            return walk([self.reference(name) for name in self.made], path)
        if attribute == "refs_map":
            return walk({name: self.reference(name) for name in self.made}, path)
        if attribute in ("attributes", "outputs", "outputs_list"):
            found = self.by_attribute()
            if attribute == "outputs_list":
                return walk({name: list(one.values()) for name, one in found.items()}, path)
            return walk(found, path)
        return [self.attribute(name, attribute, path) for name in self.made]


def child_module(
    program: Program, definition: ResourceDefinition, properties: Mapping[str, Any]
) -> Module | None:
    """The module of a resource's child with all members that a creation makes."""
    if definition.child is not None or definition.type not in GROUPS:
        return program.child(definition, properties)
    made = group_template(definition.type_info, properties)
    if made is None:
        return None
    return compile_nested(program.module, made, definition.name, "nested_stack")


def as_failure(definition: ResourceDefinition, problem: Problem) -> Problem:
    """A failed creation names the resource, not the property."""
    force_setattr(problem, "at", Span(path=definition.span.path))
    return problem


def physical(stack: str, resource: str) -> str:
    return f"{stack}-{resource}-{''.join(secrets.choice(LETTERS) for _ in range(12))}"


def limits_of(vector: Mapping[str, Any]) -> Limits:
    given = vector.get("limits") or {}
    names = {name: name.replace(".", "_") for name in given}
    known = Limits.__struct_fields__
    return Limits(**{names[name]: given[name] for name in given if names[name] in known})


def environment_of(vector: Mapping[str, Any]) -> Environment:
    try:
        environment = Environment.parse(vector.get("environment") or {})
    except Rejected as rejected:
        problem = rejected.problems[0]
        phase = "parse" if problem.kind == "HTTPBadRequest" else "environment"
        raise Refused(phase, problem) from None
    environment = environment.with_parameters(vector.get("parameters") or {})
    keys = vector.get("environment_files") or []
    files = vector.get("files") or {}
    if not keys:
        return environment
    try:
        types = parameter_types(vector["template"], files, limits_of(vector))
        return environment.merge(keys, files, types)
    except Rejected as rejected:
        problem = rejected.problems[0]
        early = ("InvalidBreakPointHook", "InvalidRestrictedAction")
        phase = "environment" if problem.kind in early else "merge"
        raise Refused(phase, problem) from None


def module_of(vector: Mapping[str, Any], environment: Environment) -> Module:
    files = vector.get("files") or {}
    limits = limits_of(vector)
    try:
        return compile_template(
            vector["template"],
            files=files,
            environment=environment,
            catalog=CATALOG,
            limits=limits,
        )
    except Rejected as rejected:
        problem = rejected.problems[0]
        early = problem.kind == "HTTPBadRequest" or (
            problem.kind == "RequestLimitExceeded" and "characters" in problem.message
        )
        raise Refused("parse" if early else "validate", problem) from None


def program_of(
    vector: Mapping[str, Any], environment: Environment, name: str, stack_id: str
) -> Program:
    module = module_of(vector, environment)
    try:
        return module.specialise(
            environment.parameters, stack_name=name, stack_id=stack_id, project_id=PROJECT
        )
    except Rejected as rejected:
        raise Refused("validate", rejected.problems[0]) from None


def check(program: Program) -> None:
    findings = program.check_values(NOWHERE)
    problems = [*findings.problems, *value_problems(program)]
    if problems:
        raise Refused("validate", problems[0])
    for look in program.lookups:
        if look.name not in KNOWN_LOOKUPS:
            from hearth.model.problem import StackValidationFailed

            text = f'"{look.value}" does not satisfy {look.name}'
            raise Refused("validate", StackValidationFailed(look.at, text))


KNOWN_LOOKUPS = ("test_constr",)


def value_problems(program: Program) -> list[Problem]:
    """OS::Heat::Value checks its value against its type, without converting it."""
    found = Findings()
    for definition in program.resources.values():
        if definition.type_info.name != "OS::Heat::Value":
            continue
        properties = definition.check(NOWHERE).properties
        kind = VALUE_KINDS.get(properties.get("type", ""))
        if kind is not None and properties.get("value") is not None:
            at = definition.span.under("properties", "value")
            coerce(Prop(kind), properties["value"], at, found)
    return found.problems


def answer_stack(vector: Mapping[str, Any]) -> dict[str, Any]:
    stack_id = str(uuid.uuid4())
    shown = {"id": stack_id, "name": "stack", "project_id": PROJECT}
    program = program_of(vector, environment_of(vector), "stack", "")
    check(program)
    program = program_of(vector, environment_of(vector), "stack", stack_id)
    stack = Stack("stack", stack_id, program)
    try:
        stack.create()
    except Rejected as rejected:
        raise Refused("create", rejected.problems[0]) from None
    except ValueError as error:
        from hearth.model.problem import StackValidationFailed

        raise Refused("create", StackValidationFailed(None, str(error))) from None
    outputs: dict[str, Any] = {}
    errors: dict[str, Any] = {}
    for name, output in program.outputs.items():
        try:
            value, error = output.evaluate(stack)
        except EvaluationError as failed:
            value, error = None, str(failed)
        if error is None:
            outputs[name] = nulled(value)
        else:
            errors[name] = {
                "phase": "output",
                "kind": "ValueError",
                "path": f"outputs.{name}",
                "message": error,
            }
    if errors and len(program.outputs) == 1:
        return {"error": next(iter(errors.values())), "stack": shown}
    resolved: dict[str, Any] = {"outputs": outputs}
    if errors:
        resolved["output_errors"] = errors
    for what in vector.get("also") or []:
        resolved[what] = also(what, stack)
    return {"resolved": resolved, "stack": shown}


def also(what: str, stack: Stack) -> Any:
    program = stack.program
    match what:
        case "resources":
            return sorted(program.resources)
        case "dependencies":
            return {name: sorted(needs) for name, needs in program.requires.items()}
        case "deletion_policy":
            return {name: one.deletion_policy for name, one in program.resources.items()}
        case "metadata":
            return {name: made.metadata for name, made in stack.made.items()}
        case "parameters":
            return parameter_texts(program)
        case "refs":
            return {name: stack.reference(name) for name in program.resources}
        case "description":
            return program.description
    raise ValueError(what)


def answer_parameters(vector: Mapping[str, Any]) -> dict[str, Any]:
    program = program_of(vector, environment_of(vector), "stack", "")
    check(program)
    mine = program.module.syntax.parameters
    values = {name: program.parameters[name].value for name in mine}
    texts = {name: program.parameters[name].text for name in mine}
    return {"resolved": {"values": values, "text": texts}}


def answer_environment(vector: Mapping[str, Any]) -> dict[str, Any]:
    merged = environment_of(vector).as_map()
    strategies = merged.pop("parameter_merge_strategies")
    if strategies:
        merged["parameter_merge_strategies"] = strategies
    return {"resolved": {"environment": merged}}


def answer_registry(vector: Mapping[str, Any]) -> dict[str, Any]:
    environment = environment_of(vector)
    lookups = []
    for lookup in vector["lookups"]:
        entry = dict(lookup)
        name = lookup.get("name", "")
        if "hook" in lookup:
            entry["matches"] = lookup["hook"] in environment.hooks(name)
        elif "restricted" in lookup:
            entry["actions"] = sorted(environment.restricted_actions(name))
        else:
            match environment.find(lookup["type"], name, CATALOG):
                case TypeEntry(found):
                    entry["class_of"] = found
                case TemplateEntry(template):
                    entry["template"] = template
                case None:
                    entry["error"] = "EntityNotFound"
        lookups.append(entry)
    return {"resolved": {"lookups": lookups}}


def answer_preview(vector: Mapping[str, Any]) -> dict[str, Any]:
    program = program_of(vector, environment_of(vector), "stack", "")
    check(program)
    return {
        "resolved": {
            "properties": {name: shown_properties(one) for name, one in program.resources.items()}
        }
    }


def shown_properties(definition: ResourceDefinition) -> dict[str, Any]:
    properties = definition.check(NOWHERE).properties
    return {name: properties.get(name) for name in definition.type_info.properties}


def answer_validate(vector: Mapping[str, Any]) -> dict[str, Any]:
    environment = environment_of(vector)
    try:
        module = module_of(vector, environment)
        given = environment.parameters
        program = module.specialise(given, stack_name="dummy", strict=False, check=False)
        shown = validated(program, given, show_nested=bool(vector.get("show_nested")))
    except (Refused, Rejected) as error:
        problem = error.problem if isinstance(error, Refused) else error.problems[0]
        refused = Refused("validate", problem)
        answer = refused.answer()
        if answer["kind"] == "StackValidationFailed":
            answer["kind"] = "Error"
        return {"error": answer}
    sections = environment.as_map()
    registry = {"resources": {}, **sections["resource_registry"]}
    for name in program.resources:
        entry = module.bindings[name].entry
        if entry is not None:
            registry.setdefault(entry.entry, entry.template)
    shown["Environment"] = {
        "resource_registry": registry,
        "parameters": sections["parameters"],
        "parameter_defaults": sections["parameter_defaults"],
        "event_sinks": sections["event_sinks"],
    }
    return {"resolved": shown}


MODES = {
    "stack": answer_stack,
    "parameters": answer_parameters,
    "environment": answer_environment,
    "registry": answer_registry,
    "preview": answer_preview,
    "validate": answer_validate,
}


def answer(vector: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one vector."""
    try:
        return MODES[vector.get("mode") or "stack"](vector)
    except Refused as refused:
        return {"error": refused.answer()}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply: dict[str, Any] = {"answer": answer(request["vector"])}
        except Exception as error:
            import traceback

            traceback.print_exc()
            reply = {"failure": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--api"]:
        from tests.adapters.hot_api.main import main
    elif sys.argv[1:]:
        raise SystemExit("usage: python -m tests.adapters.hot [--api]")
    main()
