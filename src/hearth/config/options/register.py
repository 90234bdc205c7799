"""Registers the options with oslo.config and reads their values."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from hearth.model.option import Option


def register(conf: Any, options: Iterable[Option], group: str | None = None) -> None:
    """Register options with oslo.config, each in its own section, or all in the section `group`.

    Options with `library` set are left out, because their libraries register them.
    """
    for option in options:
        if not option.library:
            in_group = option if group is None else replace(option, group=group)
            conf.register_opt(
                _oslo(in_group), None if in_group.group == "DEFAULT" else in_group.group
            )


def values(conf: Any, options: Iterable[Option]) -> list[tuple[Option, Any]]:
    """Return (option, value) for each option whose `library` is false.

    Raises the errors of oslo.config, and ValueError for an empty number (oslo.config returns None)
    and for `nan` (no minimum or maximum excludes it).
    """
    pairs = []
    for option in options:
        if not option.library:
            value = value_of(conf, option)
            if (value is None and option.default is not None) or value != value:
                got = "nothing" if value is None else value
                message = (
                    f"{option.place}: expected a number, got {got}; set one or remove the line"
                )
                raise ValueError(message)
            pairs.append((option, value))
    return pairs


def value_of(conf: Any, option: Option) -> Any:
    """Return the value of an option in a loaded oslo.config."""
    return (conf if option.group == "DEFAULT" else conf[option.group])[option.name]


def _oslo(option: Option) -> Any:
    from oslo_config import cfg

    arguments: dict[str, Any] = {"default": option.default, "secret": option.secret}
    if option.kind in (int, float):
        arguments |= {"min": option.minimum, "max": option.maximum}
    if option.choices:
        arguments["choices"] = list(option.choices)
    if option.formerly:
        arguments["deprecated_opts"] = [
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
    return kinds[option.kind](option.name, **arguments)
