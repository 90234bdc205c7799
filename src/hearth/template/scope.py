"""The scope in which expressions are evaluated: parameters, conditions, files and the world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Protocol

from msgspec.structs import replace

from hearth.model.problem import (
    Problem,
    StackValidationFailed,
    UserParameterMissing,
    Worded,
    hint,
    nearest,
)
from hearth.model.span import Span
from hearth.model.unknown import Unknown
from hearth.model.value import ValueKind
from hearth.template.errors import EvaluationError, ParameterError
from hearth.template.hidden import masked, texts_in
from hearth.template.limits import Limits
from hearth.template.members import MEMBER
from hearth.template.parameters import ParameterValue
from hearth.template.signature import Signature, spoken
from hearth.template.world import NOWHERE, Facade, Within, World

CONDITIONS_DEEP_MAX = 50
"""The maximum depth of conditions that refer to other conditions. Each condition is evaluated
once.
"""


class Evaluable(Protocol):
    """The part of an expression that a scope uses."""

    def evaluate(self, scope: Scope) -> object:
        """Return the value of the expression in a scope. Raises EvaluationError."""


class Choice(Protocol):
    """The part of an `if` expression that a scope uses."""

    @property
    def condition(self) -> Evaluable: ...
    @property
    def then(self) -> Evaluable: ...
    @property
    def otherwise(self) -> Evaluable: ...


class Attributes(Protocol):
    """The attributes of a template's resources, as their types declare them."""

    def attribute_names(self, resource: str) -> list[str]:
        """Return the names of the attributes that the type of a resource declares."""

    def within(self, resource: str) -> Within | None:
        """Return the function with which the type of a resource follows a path into an attribute,
        or None.
        """


class Conditions:
    """The conditions of a template. Each is evaluated only once."""

    def __init__(self, definitions: Mapping[str, Evaluable], scope: Scope) -> None:
        self.definitions = definitions
        self.scope = scope
        self.known: dict[str, bool | Unknown] = {}
        self.failed: dict[str, EvaluationError] = {}
        self.reported: set[str] = set()
        self.deciding: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with copies of those parts that other threads may
        change.
        """
        return {
            **vars(self),
            "known": dict(self.known),
            "failed": {},
            "reported": set(self.reported),
            "deciding": set(),
        }

    def decide(self, name: str) -> bool | Unknown:
        """Return whether the condition with this name is true; Unknown if it depends on unknown
        values.

        Raises EvaluationError if there is no such condition, or if it cannot be evaluated to a
        boolean.
        """
        if name in self.known:
            return self.known[name]
        if name in self.failed:
            self.reported.add(name)
            raise self.failed[name]
        if name not in self.definitions:
            near = hint(nearest(name, self.definitions))
            raise EvaluationError(f'there is no condition "{name}"{near}')
        if name in self.deciding:
            raise EvaluationError(f'the condition "{name}" depends on itself')
        self.deciding.add(name)
        try:
            if len(self.deciding) > CONDITIONS_DEEP_MAX:
                message = (
                    f"conditions refer to each other more than {CONDITIONS_DEEP_MAX} levels deep"
                )
                raise EvaluationError(message)
            value = self.definitions[name].evaluate(self.scope)
            if isinstance(value, Unknown) and value.kinds - {ValueKind.BOOLEAN}:
                message = f'the condition "{name}" is not a boolean but {spoken(value.kinds)}'
                raise EvaluationError(message)
            if not isinstance(value, bool | Unknown):
                raise EvaluationError(f'the condition "{name}" is not a boolean but {value!r}')
            self.known[name] = value
            return value
        except EvaluationError as error:
            self.failed[name] = error
            self.reported.add(name)
            raise
        finally:
            self.deciding.discard(name)


class Scope:
    """The scope of one evaluation.

    `secret` becomes true as soon as a hidden value is read, and `guarded` as soon as a secret of
    another resource is, such as its private key.
    """

    def __init__(
        self,
        parameters: Mapping[str, ParameterValue],
        files: Mapping[str, str],
        limits: Limits,
        conditions: Mapping[str, Evaluable],
        mappings: Mapping[str, Any],
        facade: Facade | None = None,
    ) -> None:
        self.parameters = parameters
        self.files = files
        self.limits = limits
        self.mappings = mappings
        self.missing: frozenset[str] = frozenset()
        self.facade = facade
        self.world: World = NOWHERE
        self.resources: Mapping[str, Any] = {}
        self.module: Attributes | None = None  # until the resources are known
        self.conditions = Conditions(conditions, self)
        self.secret = self.guarded = False
        self.hidden = hidden_texts(parameters.values())

    def attribute_names(self, resource: str) -> list[str]:
        """Return the names of the attributes that the type of a resource declares."""
        return [] if self.module is None else self.module.attribute_names(resource)

    def within(self, resource: str) -> Within | None:
        """Return the function with which the type of a resource follows a path into an attribute,
        or None.
        """
        return None if self.module is None else self.module.within(resource)

    def in_world(self, world: World) -> Scope:
        """Return a copy of the scope for a separate evaluation in a world."""
        copy = Scope.__new__(Scope)
        copy.__dict__.update(self.__dict__)
        copy.world = world
        copy.secret = copy.guarded = False
        if getattr(world, "facade", None) is not None:
            copy.facade = world.facade
        return copy

    def masked(self, text: str) -> str:
        """Return the text of a message with the values of hidden parameters masked."""
        return masked(text, self.hidden)

    def masked_problem(self, problem: Problem) -> Problem:
        """Return the problem with the values of hidden parameters masked."""
        if self.hidden and isinstance(problem, Worded):
            return replace(problem, words=self.masked(problem.words))
        return problem

    def parameter(self, name: Any) -> Any:
        """Return the value of the parameter with this name.

        Raises ParameterError if there is no such parameter, or if it has no value.
        """
        if not isinstance(name, str):
            raise EvaluationError(f"the name of a parameter must be a string, not {name!r}")
        value = self.parameters.get(name)
        if value is None:
            near = nearest(name, self.parameters)
            raise ParameterError(
                f"The Parameter ({name}) was not provided{hint(near) or '.'}",
                problem=partial(UserParameterMissing, name=name) if name in self.missing else None,
                steps=(0,),
            )
        if value.hidden:
            self.secret = True
        return value.value

    def reference(self, name: str) -> Any:
        """Return the result of `get_resource` for a resource; if it is a secret, `guarded` becomes
        true.
        """
        guarded = getattr(self.world, "guarded_reference", None)
        if guarded is not None and guarded(name):
            self.guarded = True
        return self.world.reference(name)

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        """Return the result of `get_attr` for a resource; if it may be hidden, `secret` becomes
        true, and if it is a secret, `guarded` does.
        """
        secret = getattr(self.world, "secret", None)
        if secret is not None and secret(name, attribute):
            self.secret = True
        guarded = getattr(self.world, "guarded", None)
        if guarded is not None and guarded(name, attribute):
            self.guarded = True
        within = self.within(name) if path and not attribute.startswith(MEMBER) else None
        if within is None:
            return self.world.attribute(name, attribute, path)
        value = self.world.attribute(name, attribute, ())
        return value if isinstance(value, Unknown) else within(attribute, value, path)

    def truth(self, value: Any) -> bool | Unknown:
        """Return a boolean unchanged; for a text, return the value of the condition with that name.

        Raises EvaluationError.
        """
        match value:
            case bool() | Unknown():
                return value
            case str():
                return self.conditions.decide(value)
            case _:
                raise EvaluationError(f"{value!r} is neither a boolean nor the name of a condition")

    def undecided(self, choice: Choice) -> Any:
        """Return the value of an `if` whose condition is Unknown: it is evaluated as false."""
        return choice.otherwise.evaluate(self)

    def typed(self, function: Signature, args: Any, value: Unknown) -> Unknown:
        """Return the Unknown that stands for the result of a function.

        Here it is `value` unchanged; a subclass adds the type of the result.
        """
        return value

    def condition_problem(self, error: EvaluationError, at: Span) -> Problem:
        """Return the problem to report at `at` for `error`, the failure of a condition."""
        if error.problem is not None:
            return error.problem(at)
        return StackValidationFailed(at, self.masked(str(error)))


def hidden_texts(values: Iterable[ParameterValue]) -> tuple[str, ...]:
    """Return the texts in the values of hidden parameters, the longest first."""
    return texts_in((value.value for value in values if value.hidden), characters_min=1)
