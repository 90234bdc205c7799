"""All that a configuration may say, as tables: registration, checks and docs/options.md follow."""

from collections.abc import Iterable

from hearth.cli.options import cloud, edge, main, no_effect
from hearth.cli.options.option import Option
from hearth.model.problem import nearest

OPTIONS: tuple[Option, ...] = (*main.OPTIONS, *cloud.OPTIONS, *edge.OPTIONS)
NESTED = "ec2authtoken."
"""Sections whose names go on, with the options of the one they are named after."""


def reason(group: str, name: str) -> str | None:
    """Why an option that is known does nothing here; None for one that does, or is not known."""
    if group in no_effect.GROUPS:
        return no_effect.GROUPS[group]
    return no_effect.OPTIONS.get(_base(group), {}).get(name)


def known(group: str, name: str) -> bool:
    """Whether an option does something here."""
    return (_base(group), name) in _PLACES


def names(group: str) -> list[str]:
    """All names that a section may hold, those without a meaning too."""
    base = _base(group)
    mine = [name for place, name in _PLACES if place == base]
    return sorted({*mine, *no_effect.OPTIONS.get(base, ())})


def groups() -> list[str]:
    """All sections there may be."""
    found = {option.group for option in OPTIONS}
    return sorted(found | no_effect.OPTIONS.keys() | no_effect.GROUPS.keys())


def suggestion(group: str, name: str) -> str | None:
    """What may be meant by an option that is not known, as a message names it."""
    if group not in groups() and not group.startswith(NESTED):
        near = nearest(group, groups())
        return None if near is None else f"[{near}]"
    if (near := nearest(name, names(group))) is not None:
        return near
    elsewhere = [option.group for option in OPTIONS if option.name == name]
    return f"[{elsewhere[0]}] {name}" if elsewhere else None


def of_group(group: str) -> Iterable[Option]:
    """The options of a section that do something."""
    return (option for option in OPTIONS if option.group == _base(group))


def _base(group: str) -> str:
    return NESTED[:-1] if group.startswith(NESTED) else group


_PLACES = {(option.group, option.name) for option in OPTIONS}
_PLACES |= {place for option in OPTIONS for place in option.formerly}
