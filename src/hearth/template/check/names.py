"""Checks of the names in expressions: resources, attributes, parameters, conditions, files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from hearth.model.problem import hint, nearest, nearest_file
from hearth.model.span import Span
from hearth.model.unknown import Unknown
from hearth.model.value import ValueKind
from hearth.template.check.report import Report
from hearth.template.check.scope import StaticScope
from hearth.template.errors import EvaluationError
from hearth.template.expr import Broken, Call, Const, Expr, If
from hearth.template.function import Refers
from hearth.template.load import Node
from hearth.template.member_attributes import lacks, no_member_attribute
from hearth.template.program import Module
from hearth.template.references import Read, Reference, references_in, referred
from hearth.template.static import no_attribute, no_target

LOGIC = ("not", "and", "or", "Fn::Not", "Fn::And", "Fn::Or")
PARAMETER_CALLS = ("get_param", "Ref.parameter")


class NameChecks:
    """Checks the names that occur in the expressions of one template."""

    def __init__(self, module: Module, scope: StaticScope, report: Report) -> None:
        self.module = module
        self.syntax = module.syntax
        self.report = report
        self.scope = scope
        self.parameters: Collection[str] = scope.parameters
        word = self.syntax.grammar.word("resources")
        section = self.syntax.root.child(word)
        self.resources: Collection[str] = self.syntax.resources
        if section is not None and isinstance(section.value, dict):
            self.resources = section.value.keys()

    def within(self, expr: Expr) -> None:
        """Check all names in an expression, including those in branches that may be selected."""
        if isinstance(expr, Const):
            return
        if isinstance(expr, Broken):
            for problem in expr.problems:
                self.report.add(problem)
            return
        if isinstance(expr, Call):
            self.call(expr)
        if isinstance(expr, If):
            if isinstance(expr.condition, Const):
                self.condition_name(expr.condition.value, expr.at)
            else:
                self.within(expr.condition)
            truth = self.truth(expr.condition)
            if truth is not False:
                self.within(expr.then)
            if truth is not True:
                self.within(expr.otherwise)
            return
        for part in expr.parts():
            self.within(part)

    def truth(self, condition: Expr) -> bool | Unknown:
        """Return whether a condition is true; Unknown if that is not known or it is invalid."""
        try:
            return self.scope.truth(condition.evaluate(self.scope))
        except EvaluationError:
            return Unknown()

    def call(self, call: Call) -> None:
        name = call.function.name
        if name in LOGIC:
            for index, item in enumerate(call.node.value if _listed(call.node) else [call.node]):
                if isinstance(item.value, str):
                    steps = (index,) if _listed(call.node) else ()
                    self.condition_name(item.value, call.place_of(*steps))
        elif name in PARAMETER_CALLS:
            self.parameter(call)
        elif name == "get_file":
            self.file(call)
        elif call.function.refers is not Refers.NOTHING:
            self.resource(call)

    # -- each kind of name ------------------------------------------------------------------

    def parameter(self, call: Call) -> None:
        value = call.args.value if isinstance(call.args, Const) else None
        name = value[0] if isinstance(value, list) and value else value
        if not isinstance(name, str):
            name = referred(Refers.ATTRIBUTE, call.args)  # literal, followed by computed steps
        if isinstance(name, str) and name not in self.parameters:
            near = nearest(name, self.parameters)
            message = f'there is no parameter "{name}"{hint(near)}'
            self.report.wrong(call.place_of(0), "unknown-parameter", message, near)

    def file(self, call: Call) -> None:
        name = call.args.value if isinstance(call.args, Const) else None
        if isinstance(name, str) and name not in self.module.files:
            near = nearest_file(name, self.module.files)
            message = f'there is no file "{name}"{hint(near)}'
            self.report.wrong(call.place_of(), "missing-file", message, near)

    def resource(self, call: Call) -> None:
        name = referred(call.function.refers, call.args)
        if name is None:
            return
        if call.function.name == "Ref" and name in self.parameters:
            return
        if name not in self.resources:
            names = self.resources
            if call.function.name == "Ref":
                names = {*names, *self.parameters}
            self.report.add(no_target(call, name, names))
        elif call.function.refers is Refers.ATTRIBUTE:
            for reference in references_in(call):
                if reference.call is call and reference.read:
                    self.attribute(reference)

    def attribute(self, reference: Reference) -> None:
        binding = self.module.bindings.get(reference.resource)
        type_info = binding.type_info if binding is not None else None
        name = reference.read[0] if reference.read else None
        if isinstance(name, int):  # members of a group may be given as numbers
            name = str(name)
        if binding is None or type_info is None or not isinstance(name, str) or name == "show":
            return
        if binding.child is not None:
            if name.startswith("resource.") or name in binding.child.syntax.outputs:
                return
        elif getattr(type_info, "accepts_any_attribute", False):
            of_members = getattr(type_info, "of_members", None)
            if of_members is not None:
                self.member_attribute(reference, of_members)
            return
        if name not in type_info.attributes:
            self.report.add(no_attribute(reference, type_info, self.resources))

    def member_attribute(
        self, reference: Reference, of_members: Callable[[Read], str | None]
    ) -> None:
        """Check the attribute of a group's members that a reference to the group needs."""
        member = self.module.members.get(reference.resource)
        attribute = of_members(reference.read or ())
        if member is None or member.type_info is None or attribute is None:
            return
        if lacks(member.type_info, attribute):
            self.report.add(no_member_attribute(reference, attribute, member.type_info))

    def kind_of_attribute(self, call: Call) -> ValueKind | None:
        """Return the declared type of the attribute that a call reads.

        Return None if the call also has a path into the attribute, or if no type is declared.
        """
        for reference in references_in(call):
            if (
                reference.call is call
                and reference.read
                and len(reference.read) == 1
                and reference.whole
            ):
                binding = self.module.bindings.get(reference.resource)
                if binding is not None and binding.type_info is not None:
                    attribute = binding.type_info.attributes.get(str(reference.read[0]))
                    return attribute.kind if attribute is not None else None
        return None

    # -- conditions -------------------------------------------------------------------------

    def condition(self, expr: Expr, node: Node, at: Span) -> None:
        """Check a condition of a resource, output or `if`: a name, a boolean or a function call."""
        if isinstance(expr, Const):
            self.condition_name(expr.value, node.span(at.file, at.path))
        else:
            self.within(expr)

    def condition_name(self, name: Any, at: Span) -> None:
        parsed = self.syntax.conditions
        section = self.syntax.root.value.get(self.syntax.grammar.word("conditions"))
        declared = section.value if section is not None and _mapped(section) else parsed
        if isinstance(name, str) and name not in declared:
            near = nearest(name, declared)
            message = f'there is no condition "{name}"{hint(near)}'
            self.report.wrong(at, "unknown-condition", message, near)


def _listed(node: Node) -> bool:
    return isinstance(node.value, list)


def _mapped(node: Node) -> bool:
    return isinstance(node.value, dict)
