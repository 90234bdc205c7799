"""All configuration options. They are used for registration, checks and docs/options.md."""

from collections.abc import Iterable, Sequence

from hearth.bus.notification import Notifications
from hearth.config.options import cloud, no_effect, process
from hearth.config.options.declared import options_of
from hearth.config.settings import Settings
from hearth.model.option import Option
from hearth.model.problem import nearest

OPTIONS: Sequence[Option] = sorted(
    (*options_of(Settings), *options_of(Notifications), *process.OPTIONS, *cloud.OPTIONS),
    key=lambda option: (option.group != "DEFAULT", option.group, option.name),
)
"""All options that have an effect, by section and name; [DEFAULT] comes first."""
NESTED = "ec2authtoken."
"""The prefix of section names such as [ec2authtoken.NAME], which have the options of
[ec2authtoken].
"""


def reason(group: str, name: str) -> str | None:
    """Return why an option has no effect; None if it has an effect or is unknown.

    `group` is the section and `name` the name of the option.
    """
    if group in no_effect.GROUPS:
        return no_effect.GROUPS[group]
    return no_effect.OPTIONS.get(_base(group), {}).get(name)


def is_known(group: str, name: str) -> bool:
    """Return whether the option exists and has an effect."""
    return (_base(group), name) in _KEYS


def names(group: str) -> list[str]:
    """Return the names of all options in a section, including those without effect, sorted."""
    base = _base(group)
    registered = [name for section, name in _KEYS if section == base]
    return sorted({*registered, *no_effect.OPTIONS.get(base, ())})


def groups() -> list[str]:
    """Return the names of all sections, sorted."""
    sections = {option.group for option in OPTIONS}
    return sorted(sections | no_effect.OPTIONS.keys() | no_effect.GROUPS.keys())


def suggestion(group: str, name: str) -> str | None:
    """Return the most similar known option for an unknown one, as text for a message, or None.

    The text is a section, if the section `group` is unknown, or the name of an option.
    """
    if group not in groups() and not group.startswith(NESTED):
        near = nearest(group, groups())
        return None if near is None else f"[{near}]"
    if (near := nearest(name, names(group))) is not None:
        return near
    elsewhere = [option.group for option in OPTIONS if option.name == name]
    return f"[{elsewhere[0]}] {name}" if elsewhere else None


def of_group(group: str) -> Iterable[Option]:
    """Return the options of a section, without those that have no effect."""
    return (option for option in OPTIONS if option.group == _base(group))


def _base(group: str) -> str:
    return NESTED[:-1] if group.startswith(NESTED) else group


_KEYS = {(option.group, option.name) for option in OPTIONS}
_KEYS |= {key for option in OPTIONS for key in option.formerly}
