"""The intrinsic functions. An entry has a name, a check of the arguments, and a pure function.

A new function needs an entry here, a description in `texts`, and a line in `versions`. A name with
a dot is an older variant of a function.
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
