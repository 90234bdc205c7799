"""Evaluations that take too long for the event loop, and their results from another process.

On the event loop, an evaluation has a budget of a few milliseconds (`budget.inlined`). If it
exceeds the budget, `Deferred` is raised, with the evaluation and its world. A caller that can wait
computes the result in another process, stores it as an `Answer`, and evaluates again. An answer is
valid as long as the world returns the same values as during its computation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast
from weakref import ReferenceType

from msgspec import Struct, field

from hearth.schema.patterns import Overrun
from hearth.template.budget import inlined

F = TypeVar("F", bound=Callable[..., Any])

ANSWERS_MAX = 256
"""The maximum number of evaluations with cached answers."""

SAME_MAX = 4
"""The maximum number of cached answers for one evaluation; the oldest one is dropped first."""

Question = tuple[str, tuple[Any, ...]]
"""A value that is requested from a world: the name of a method (or the attribute `facade`), and its
arguments.
"""


class Deferred(BaseException):
    """Raised if an evaluation must run in another process.

    The evaluation is a call of the method with the name `method` on the object `target`, with the
    arguments `world` and `options`.
    """

    def __init__(self, target: Any, method: str, world: Any, options: dict[str, Any]) -> None:
        super().__init__(method)
        self.target = target
        self.method = method
        self.world = world
        self.options = options

    @property
    def key(self) -> tuple[Any, ...]:
        """Return a key that identifies the evaluation regardless of its world."""
        return id(self.target), self.method, *sorted(self.options.items())


class Answer(Struct, frozen=True):
    """The result or the error of an evaluation, and the values of the world on which it depends.

    The reference to the target is weak: a target may be a whole program. Another object that gets
    its id later has no answers.
    """

    target: ReferenceType[Any]
    replies: Sequence[tuple[Question, Any]]
    value: Any = None
    error: BaseException | None = None

    def holds(self, world: Any) -> bool:
        """Return whether the world still returns the same values."""
        return all(same(reply_of(world, question), reply) for question, reply in self.replies)


def reply_of(world: Any, question: Question) -> Any:
    """Return the value that a world returns for a question.

    If the world raises an exception, return the exception. Return None if the world does not have
    the method.
    """
    name, arguments = question
    if name == "facade":
        return world.facade
    method = getattr(world, name, None)
    if method is None:
        return None
    try:
        return method(*arguments)
    except Exception as error:
        return error


def same(first: Any, second: Any) -> bool:
    """Return whether two values of worlds are equal; exceptions are compared by their message."""
    if isinstance(first, Exception):
        return type(first) is type(second) and str(first) == str(second)
    return bool(first == second)


class Answers(Struct):
    """The cached answers by evaluation; the oldest ones are dropped first.

    `inside` is true while an evaluation runs, so that evaluations inside it are not deferred.
    """

    by_key: OrderedDict[tuple[Any, ...], list[Answer]] = field(default_factory=OrderedDict)
    inside: bool = False

    def keep(self, deferred: Deferred, answer: Answer) -> None:
        """Store the answer for an evaluation; drop the oldest answers beyond the maximum number."""
        answers = self.by_key.setdefault(deferred.key, [])
        answers[:] = [*answers[-SAME_MAX + 1 :], answer]
        self.by_key.move_to_end(deferred.key)
        if len(self.by_key) > ANSWERS_MAX:
            self.by_key.popitem(last=False)

    def find(self, deferred: Deferred) -> Answer | None:
        """Return the answer for an evaluation that is valid in its world, or None."""
        for answer in reversed(self.by_key.get(deferred.key, ())):
            if answer.target() is deferred.target and answer.holds(deferred.world):
                return answer
        return None


_answers: ContextVar[Answers | None] = ContextVar("answers", default=None)


@contextmanager
def deferring(answers: Answers) -> Iterator[None]:
    """Limit each evaluation in the block to a few milliseconds.

    Deferred is raised for an evaluation that needs more time, unless `answers` has its result.
    """
    token = _answers.set(answers)
    try:
        with inlined():
            yield
    finally:
        _answers.reset(token)


def deferrable(method: F) -> F:
    """Decorate a method that evaluates in a world, so that its evaluation can be deferred.

    Inside a `deferring` block, the method returns a stored answer if a valid one exists, and raises
    Deferred if it takes too long.
    """
    name = getattr(method, "__name__", "")

    @wraps(method)
    def evaluate(self: Any, world: Any, **options: Any) -> Any:
        answers = _answers.get()
        if answers is None or answers.inside:
            return method(self, world, **options)
        if answers.by_key and (answer := answers.find(Deferred(self, name, world, options))):
            if answer.error is not None:
                raise answer.error
            return answer.value
        answers.inside = True
        try:
            return method(self, world, **options)
        except Overrun:
            raise Deferred(self, name, world, options) from None
        finally:
            answers.inside = False

    return cast("F", evaluate)
