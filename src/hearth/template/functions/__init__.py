"""The intrinsic functions, as entries: a name, a check of the arguments, a pure function.

A new function needs one entry here, a text in `texts` and a line in `versions`. Names with a dot
are older variants.
"""

from hearth.template.functions import data, logic, query, read, strings
from hearth.template.functions.entry import (
    BelowError,
    EvaluationError,
    Function,
    ParameterError,
    named,
    pure,
)

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
