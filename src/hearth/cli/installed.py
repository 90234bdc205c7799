"""Types and functions of installed packages, loaded and checked before anything starts.

Resource types are entry points of the group `hearth.types`, functions of the template language of
the group `hearth.functions`. Source: rule R8.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from hearth.cli.process import WrongSetting
from hearth.resources.registry import BadPackage, installed_types
from hearth.template.functions import Function
from hearth.template.versions import add_function

GROUP = "hearth.functions"


@cache
def use_installed() -> None:
    """Add functions of packages to the language, and load their types. Raises WrongSetting.

    An invalid package is reported when Hearth starts, not when a stack needs it.
    """
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            _add(entry)
        except Exception as problem:
            package = entry.dist.name if entry.dist else entry.value
            words = f"the function {entry.name} of {package} cannot be used: {problem}"
            raise WrongSetting(words) from problem
    types = installed_types()
    try:
        for name in types:
            types[name]
    except BadPackage as problem:
        raise WrongSetting(str(problem)) from problem


def _add(entry: EntryPoint) -> None:
    function = entry.load()
    if not isinstance(function, Function):
        raise TypeError(f"{entry.value} is {function!r}, not a Function")
    add_function(entry.name, function)
