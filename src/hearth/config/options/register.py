"""Registers the options with oslo.config and reads their values."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from hearth.config.options.option import Option


def register(conf: Any, options: Iterable[Option], group: str | None = None) -> None:
    """Register options with oslo.config, each in its own section, or all in the section `group`.

    Options with `library` set are left out, because their libraries register them.
    """
    for option in options:
        if not option.library:
            mine = option if group is None else replace(option, group=group)
            conf.register_opt(_oslo(mine), None if mine.group == "DEFAULT" else mine.group)


def values(conf: Any, options: Iterable[Option]) -> list[tuple[Option, Any]]:
    """Return (option, value) for each option whose `library` is false.

    Raises the errors of oslo.config, and ValueError for an empty number (oslo.config returns None)
    and for `nan` (no minimum or maximum excludes it).
    """
    found = []
    for option in options:
        if not option.library:
            place = conf if option.group == "DEFAULT" else conf[option.group]
            value = place[option.name]
            if (value is None and option.default is not None) or value != value:
                got = "nothing" if value is None else value
                words = f"{option.place}: expected a number, got {got}; set one or remove the line"
                raise ValueError(words)
            found.append((option, value))
    return found


def _oslo(option: Option) -> Any:
    from oslo_config import cfg

    more: dict[str, Any] = {"default": option.default, "secret": option.secret}
    if option.kind in (int, float):
        more |= {"min": option.least, "max": option.most}
    if option.choices:
        more["choices"] = list(option.choices)
    if option.formerly:
        more["deprecated_opts"] = [
            cfg.DeprecatedOpt(name, group) for group, name in option.formerly
        ]
    kinds = {
        str: cfg.StrOpt,
        int: cfg.IntOpt,
        float: cfg.FloatOpt,
        bool: cfg.BoolOpt,
        list: cfg.ListOpt,
        tuple: cfg.MultiStrOpt,
    }
    return kinds[option.kind](option.name, **more)
