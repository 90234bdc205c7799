"""Evaluations that take too long for the event loop, and their answers from elsewhere.

On the loop, an evaluation has a budget of a few milliseconds (`budget.inlined`). One that overruns
it is given up as `Deferred`: it says what was asked of which world. Whoever can wait has it
computed elsewhere, keeps the answer, and evaluates again. An answer counts as long as the world
still gives the replies that it was computed from.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar, cast

from hearth.schema.patterns import Overrun
from hearth.template.budget import inlined

F = TypeVar("F", bound=Callable[..., Any])

ANSWERS_MAX = 256
"""Evaluations whose answers are kept, and how many answers of each (`SAME_MAX`)."""

SAME_MAX = 4

Question = tuple[str, tuple[Any, ...]]
"""A method of a world (`facade` is an attribute) and its arguments."""


class Deferred(BaseException):
    """An evaluation that has to be done elsewhere: `method` of `target` in a world."""

    def __init__(self, target: Any, method: str, world: Any, options: dict[str, Any]) -> None:
        super().__init__(method)
        self.target = target
        self.method = method
        self.world = world
        self.options = options

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for the same evaluation, in whatever world."""
        return id(self.target), self.method, *sorted(self.options.items())


@dataclass(frozen=True)
class Answer:
    """What an evaluation came to, or how it failed, and the replies of the world it is made of.

    `target` is kept so that its identity stays its own.
    """

    target: Any
    replies: Sequence[tuple[Question, Any]]
    value: Any = None
    error: BaseException | None = None

    def holds(self, world: Any) -> bool:
        """Whether the world still replies as it did."""
        return all(same(reply_of(world, asked), reply) for asked, reply in self.replies)


def reply_of(world: Any, question: Question) -> Any:
    """What a world says; an error that it raises is its reply."""
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


def same(one: Any, other: Any) -> bool:
    """Whether two replies are equal; errors are, if they say the same."""
    if isinstance(one, Exception):
        return type(one) is type(other) and str(one) == str(other)
    return bool(one == other)


@dataclass
class Answers:
    """The answers that are known, by evaluation; the oldest go."""

    known: OrderedDict[tuple[Any, ...], list[Answer]] = field(default_factory=OrderedDict)
    inside: bool = False

    def keep(self, deferred: Deferred, answer: Answer) -> None:
        """Remember an answer."""
        found = self.known.setdefault(deferred.key, [])
        found[:] = [*found[-SAME_MAX + 1 :], answer]
        self.known.move_to_end(deferred.key)
        if len(self.known) > ANSWERS_MAX:
            self.known.popitem(last=False)

    def find(self, deferred: Deferred) -> Answer | None:
        """The answer that holds in the world of this evaluation."""
        for answer in reversed(self.known.get(deferred.key, ())):
            if answer.holds(deferred.world):
                return answer
        return None


_answers: ContextVar[Answers | None] = ContextVar("answers", default=None)


@contextmanager
def deferring(answers: Answers) -> Iterator[None]:
    """Inside, evaluations have a few milliseconds together; raises Deferred for one that needs
    more and has no answer yet."""
    token = _answers.set(answers)
    try:
        with inlined():
            yield
    finally:
        _answers.reset(token)


def deferrable(method: F) -> F:
    """A method of a definition, an output or a program that evaluates in a world."""
    name = getattr(method, "__name__", "")

    @wraps(method)
    def evaluate(self: Any, world: Any, **options: Any) -> Any:
        answers = _answers.get()
        if answers is None or answers.inside:
            return method(self, world, **options)
        if answers.known and (answer := answers.find(Deferred(self, name, world, options))):
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
