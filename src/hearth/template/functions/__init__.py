"""The intrinsic functions, as entries: a name, a check of the arguments, a pure function.

A new function needs one entry here, a text in `texts` and a line in `versions`. Names with a dot
are older variants.
"""

from hearth.template.errors import BelowError, EvaluationError, ParameterError
from hearth.template.function import Function, named, pure
from hearth.template.functions import data, logic, query, read, strings

__all__ = [
    "BelowError",
    "EvaluationError",
    "Function",
    "ParameterError",
    "data",
    "logic",
    "named",
    "pure",
    "query",
    "read",
    "strings",
]
