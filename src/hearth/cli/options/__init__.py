"""All options of a configuration, as tables: for registration, checks and docs/options.md."""

from collections.abc import Iterable

from hearth.cli.options import cloud, clusters, edge, main, no_effect
from hearth.cli.options.option import Option
from hearth.model.problem import nearest

OPTIONS: tuple[Option, ...] = (
    *main.OPTIONS,
    *cloud.OPTIONS,
    *edge.OPTIONS,
    *clusters.OPTIONS,
)
NESTED = "ec2authtoken."
"""Sections whose names have a suffix, with the options of the section without it."""


def reason(group: str, name: str) -> str | None:
    """Return why a known option has no effect; None if it has an effect or is unknown."""
    if group in no_effect.GROUPS:
        return no_effect.GROUPS[group]
    return no_effect.OPTIONS.get(_base(group), {}).get(name)


def known(group: str, name: str) -> bool:
    """Return whether an option has an effect."""
    return (_base(group), name) in _PLACES


def names(group: str) -> list[str]:
    """Return all names in a section, including those without effect."""
    base = _base(group)
    mine = [name for place, name in _PLACES if place == base]
    return sorted({*mine, *no_effect.OPTIONS.get(base, ())})


def groups() -> list[str]:
    """Return all sections."""
    found = {option.group for option in OPTIONS}
    return sorted(found | no_effect.OPTIONS.keys() | no_effect.GROUPS.keys())


def suggestion(group: str, name: str) -> str | None:
    """Return a suggestion for an unknown option, as text for a message; None without a similar
    name.
    """
    if group not in groups() and not group.startswith(NESTED):
        near = nearest(group, groups())
        return None if near is None else f"[{near}]"
    if (near := nearest(name, names(group))) is not None:
        return near
    elsewhere = [option.group for option in OPTIONS if option.name == name]
    return f"[{elsewhere[0]}] {name}" if elsewhere else None


def of_group(group: str) -> Iterable[Option]:
    """Return the options of a section that have an effect."""
    return (option for option in OPTIONS if option.group == _base(group))


def _base(group: str) -> str:
    return NESTED[:-1] if group.startswith(NESTED) else group


_PLACES = {(option.group, option.name) for option in OPTIONS}
_PLACES |= {place for option in OPTIONS for place in option.formerly}
