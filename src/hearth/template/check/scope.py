"""A scope in which no values are known, only the types of parameters, resources and files.

Source: the types of parameters from docs/spec/hot.md, section 4.2.
"""

from __future__ import annotations

from typing import Any

from hearth.model.unknown import UNKNOWN, Unknown, unknown_in, unknown_reference
from hearth.model.value import ValueKind
from hearth.template.errors import EvaluationError
from hearth.template.expr import OMIT, frozen
from hearth.template.parameters import ParameterSchema, ParameterType, ParameterValue
from hearth.template.program import Module
from hearth.template.scope import Choice, Scope
from hearth.template.signature import Signature, misfit
from hearth.template.world import Facade

PARAMETER_KINDS: dict[ParameterType, frozenset[ValueKind]] = {
    ParameterType.STRING: frozenset({ValueKind.STRING}),
    ParameterType.NUMBER: frozenset({ValueKind.NUMBER, ValueKind.INTEGER}),
    ParameterType.LIST: frozenset({ValueKind.LIST}),
    ParameterType.JSON: frozenset(),  # any JSON value
    ParameterType.BOOLEAN: frozenset({ValueKind.BOOLEAN}),
}
OUTPUTS_DEEP_MAX = 20
"""The maximum depth of nested templates to which the type of an output is determined."""


class StaticWorld:
    """A World that knows only what resource types and nested templates declare."""

    facade: Facade | None = None

    def __init__(self, module: Module) -> None:
        self.module = module
        self.children: dict[str, StaticScope] = {}
        self.following = 0

    def reference(self, name: str) -> Any:
        return unknown_reference(name)

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        """Return an Unknown for an attribute.

        It has a type only if the attribute is an output of a nested template and is read without a
        path: the type of the output's expression.
        """
        until = frozenset({name})
        binding = self.module.bindings.get(name)
        child = binding.child if binding is not None else None
        output = child.syntax.outputs.get(attribute) if child is not None else None
        if child is None or output is None or path or self.following > OUTPUTS_DEEP_MAX:
            return Unknown(until)
        scope = self.children.setdefault(name, StaticScope(child))
        self.following += 1
        try:
            value = output.value.evaluate(scope)
        except EvaluationError:
            return Unknown(until)
        finally:
            self.following -= 1
        return Unknown(until, kinds_of(value))

    def availability_zones(self) -> Any:
        return UNKNOWN


class StaticScope(Scope):
    """The scope of one template in which parameters and resources have unknown values."""

    def __init__(self, module: Module) -> None:
        syntax = module.syntax
        parameters = {
            name: ParameterValue(schema, Unknown(kinds=PARAMETER_KINDS[schema.type]))
            for name, schema in syntax.parameters.items()
        }
        for name in declared(module) - parameters.keys():  # invalid, which is reported at its place
            parameters[name] = ParameterValue(ParameterSchema(name, ParameterType.JSON), UNKNOWN)
        for name in syntax.grammar.pseudo_parameters - parameters.keys():
            schema = ParameterSchema(name, ParameterType.STRING)
            parameters[name] = ParameterValue(schema, Unknown(kinds=frozenset({ValueKind.STRING})))
        facade = Facade(metadata=UNKNOWN, deletion_policy=UNKNOWN, update_policy=UNKNOWN)  # type: ignore[arg-type]
        super().__init__(
            parameters, module.files, module.limits, syntax.conditions, syntax.mappings, facade
        )
        self.world = StaticWorld(module)
        self.resources = syntax.resources
        self.module = module
        self.assumed: tuple[Any, bool] | None = None  # a condition and its possible values

    def within(self, resource: str) -> None:
        """Return None, so that no path is followed: the values of attributes are unknown."""

    def undecided(self, choice: Choice) -> Any:
        """Evaluate both branches of an `if`, and return an Unknown with all possible types.

        If `assumed` contains the condition of the `if`, return the value of the branch for the
        assumed truth instead.
        """
        if self.assumed is not None and self.assumed[0] == frozen(choice.condition):
            return (choice.then if self.assumed[1] else choice.otherwise).evaluate(self)
        values = [choice.then.evaluate(self), choice.otherwise.evaluate(self)]
        kinds = [kinds_of(value) for value in values if value is not OMIT]
        return Unknown(kinds=frozenset().union(*kinds) if all(kinds) else frozenset())

    def typed(self, function: Signature, args: Any, value: Unknown) -> Unknown:
        """Return an Unknown with the type of a function's result.

        Raises EvaluationError if the type of an argument is certainly wrong.
        """
        wrong = misfit(function.takes, args) if function.takes is not None else None
        if wrong is not None:
            raise EvaluationError(wrong[1], steps=wrong[0])
        kinds = function.kinds(args)
        if not kinds and unknown_in(args) is None:
            kinds = value.kinds
        return Unknown(value.until, kinds, value.present)


def declared(module: Module) -> set[str]:
    """Return the names of all parameters in the template, including those whose declaration is
    invalid.
    """
    section = module.syntax.root.child(module.syntax.grammar.word("parameters"))
    return set(section.value) if section is not None and isinstance(section.value, dict) else set()


def kinds_of(value: Any) -> frozenset[ValueKind]:
    """Return the possible types of a value; the result is empty if they are unknown."""
    match value:
        case Unknown():
            return value.kinds
        case bool():
            return frozenset({ValueKind.BOOLEAN})
        case int():
            return frozenset({ValueKind.INTEGER})
        case float():
            return frozenset({ValueKind.NUMBER})
        case str():
            return frozenset({ValueKind.STRING})
        case list():
            return frozenset({ValueKind.LIST})
        case dict():
            return frozenset({ValueKind.MAP})
        case _:
            return frozenset()
