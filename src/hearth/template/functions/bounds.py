"""YAQL with limits: on steps, on the size of numbers and lists in each step, and on pattern
matching.

The library itself limits sequences and memory, but it checks a value only after creating it: `pow`
may take minutes and all memory before the check. Such functions are replaced by versions that check
first. The run time of an expression is measured in calls, so it is the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from yaql.language import specs, yaqltypes
from yaql.standard_library import collections as std_collections
from yaql.standard_library import math as std_math
from yaql.standard_library import regex as std_regex

from hearth.schema.patterns import TIMEOUT_S, Overrun, in_time, time_left_s, timed
from hearth.template.budget import current

T = TypeVar("T")

STEPS_MAX = 5_000_000
"""The maximum number of Python calls of one expression; they take one or two seconds."""

DIGITS_MAX = 10_000
"""The maximum size in bits of a number that one operation creates."""

ITEMS_MAX = 10_000
"""The maximum number of items of a list that a multiplication creates."""


class TooExpensive(Exception):
    """An expression would need too much time or memory."""


class _Stop(BaseException):
    """Raised to stop an evaluation. It is a BaseException so that the library does not catch it."""


def bounded(work: Callable[[], T]) -> T:
    """Call `work` and return its result.

    Raises TooExpensive if it takes too many steps, or if a regular expression takes too long. If
    it takes too many steps on the event loop, Overrun is raised instead.
    """
    budget = current()
    steps_max = remaining = STEPS_MAX if budget is None else min(STEPS_MAX, budget.steps)

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            sys.setprofile(None)
            raise _Stop

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return work()
    except _Stop:
        if budget is not None and budget.inline:
            raise Overrun from None
        message = f"more than {STEPS_MAX} steps"
        if steps_max < STEPS_MAX:
            message = "more steps than the request has left for its expressions"
        raise TooExpensive(f"the expression takes {message}") from None
    except TimeoutError:
        message = f"a regular expression needs more than {TIMEOUT_S} s"
        raise TooExpensive(message) from None
    finally:
        sys.setprofile(before)
        if budget is not None:
            budget.steps -= steps_max - remaining


# -- numbers and lists --------------------------------------------------------------------------


def _power(a: Any, b: Any, c: Any = None) -> Any:
    if c is None and isinstance(a, int) and isinstance(b, int) and b > 1:
        _number_of(a.bit_length() * b)
    return pow(a, b, c)


def _shift_bits_left(value: int, bits_number: int) -> int:
    _number_of(value.bit_length() + bits_number)
    return value << bits_number


def _list_by_int(left: Any, right: int, engine: Any) -> Any:
    if len(left) * right > ITEMS_MAX:
        raise TooExpensive(
            f"a list of {len(left) * right} items is too long; the maximum is {ITEMS_MAX} items"
        )
    return left * right


def _int_by_list(left: int, right: Any, engine: Any) -> Any:
    return _list_by_int(right, left, engine)


def _number_of(bits: int) -> None:
    if bits > DIGITS_MAX:
        raise TooExpensive(
            f"a number of {bits} bits is too large; the maximum is {DIGITS_MAX} bits"
        )


# -- regular expressions ------------------------------------------------------------------------


class Pattern:
    """A regular expression with a time limit, with the interface that the library's functions
    use.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.timed = timed(pattern, flags)

    def search(self, text: str) -> Any:
        return in_time(lambda timeout: self.timed.search(text, timeout=timeout))

    def finditer(self, text: str) -> Iterator[Any]:
        matches = self.timed.finditer(text, timeout=time_left_s())
        while (match := in_time(lambda timeout: next(matches, None))) is not None:
            yield match

    def split(self, text: str, splits_max: int) -> Any:
        return in_time(lambda timeout: self.timed.split(text, splits_max, timeout=timeout))

    def sub(self, by: Any, text: str, count: int) -> Any:
        return in_time(lambda timeout: self.timed.sub(by, text, count, timeout=timeout))


def _regex(
    pattern: str, ignore_case: Any = False, multi_line: Any = False, dot_all: Any = False
) -> Pattern:
    import regex

    flags = regex.UNICODE
    flags |= regex.IGNORECASE if ignore_case else 0
    flags |= regex.MULTILINE if multi_line else 0
    flags |= regex.DOTALL if dot_all else 0
    return Pattern(pattern, flags)


def _matches(string: str, regexp: str) -> bool:
    return Pattern(regexp).search(string) is not None


def _matches_operator(string: str, pattern: str) -> bool:
    return _matches(string, pattern)


def _not_matches_operator(string: str, pattern: str) -> bool:
    return not _matches(string, pattern)


def _is_regex(value: Any) -> bool:
    return isinstance(value, Pattern)


OURS: dict[str, Callable[..., Any]] = {
    "pow_": _power,
    "shift_bits_left": _shift_bits_left,
    "list_by_int": _list_by_int,
    "int_by_list": _int_by_list,
    "regex": _regex,
    "matches_": _matches,
    "matches_operator_string": _matches_operator,
    "not_matches_operator_string": _not_matches_operator,
    "is_regex": _is_regex,
}
"""The replacements for functions of the library that would exceed the limits, by the name of the
function.
"""


class _Exchange:
    """A registry of functions that replaces some of the functions that the library registers."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def register_function(self, function: Any, /, **options: Any) -> None:
        convention = self.context.convention
        definition = specs.get_function_definition(function, convention=convention, **options)
        definition.payload = OURS.get(function.__name__, definition.payload)
        for parameter in definition.parameters.values():
            if getattr(parameter.value_type, "python_type", None) is std_regex.REGEX_TYPE:
                parameter.value_type = yaqltypes.PythonType(Pattern, False)
        self.context.register_function(definition)


def library() -> Any:
    """Return a YAQL context with the functions of the language, including those of OURS."""
    import yaql

    context = yaql.create_context(math=False, collections=False, regex=False)
    exchange = _Exchange(context)
    for module in (std_math, std_regex):
        module.register(exchange)
    std_collections.register(exchange, no_sets=False)
    return context
