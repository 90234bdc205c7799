"""Loads and checks the resource types and functions of installed packages.

Resource types are entry points of the group `hearth.types`, template functions of the group
`hearth.functions`.
"""

from functools import cache
from typing import TYPE_CHECKING

from hearth.config.wrong import WrongSetting
from hearth.resources.entry_points import entry_points
from hearth.resources.registry import BadPackage, installed_types
from hearth.template.functions import Function
from hearth.template.versions import add_function

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "hearth.functions"


@cache
def use_installed() -> None:
    """Add the functions of installed packages to the template language, and load their types.

    Raises WrongSetting for an invalid package, so that the process does not start with it.
    """
    for entry in sorted(entry_points(GROUP), key=lambda entry: entry.name):
        try:
            _add(entry)
        except Exception as problem:
            package = entry.dist.name if entry.dist else entry.value
            message = f"the function {entry.name} of {package} cannot be used: {problem}"
            raise WrongSetting(message) from problem
    types = installed_types()
    try:
        for name in types:
            types[name]
    except BadPackage as problem:
        raise WrongSetting(str(problem)) from problem


def _add(entry: "EntryPoint") -> None:
    function = entry.load()
    if not isinstance(function, Function):
        raise TypeError(f"{entry.value}: expected a Function, got {function!r}")
    add_function(entry.name, function)
