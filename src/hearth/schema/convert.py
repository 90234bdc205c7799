"""Conversion of values to the declared type of a property."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from hearth.model.value import ValueKind


class Convertible(Protocol):
    """The part of a property declaration that converters use."""

    @property
    def allow_conversion(self) -> bool: ...


class Bad:
    """The class of BAD, which a converter returns if it cannot convert a value."""


BAD = Bad()


def _string(prop: Convertible, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int):
        return str(value)
    if prop.allow_conversion and isinstance(value, float | list | Mapping):
        return str(value)
    return BAD


def _integer(_prop: Convertible, value: Any) -> Any:
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float | str):
        try:
            return int(value)
        except (ValueError, OverflowError):
            return BAD
    return BAD


def _number(_prop: Convertible, value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return BAD
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return BAD


def _boolean(_prop: Convertible, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), BAD)
    return BAD


def _list(prop: Convertible, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return list(value)
    if prop.allow_conversion and isinstance(value, str):
        return value.split(",") if value else []
    return BAD


def _map(prop: Convertible, value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if prop.allow_conversion and isinstance(value, str | list):
        return value
    return BAD


def _any(_prop: Convertible, value: Any) -> Any:
    return value


CONVERT: dict[ValueKind, Callable[[Convertible, Any], Any]] = {
    ValueKind.STRING: _string,
    ValueKind.INTEGER: _integer,
    ValueKind.NUMBER: _number,
    ValueKind.BOOLEAN: _boolean,
    ValueKind.LIST: _list,
    ValueKind.MAP: _map,
    ValueKind.ANY: _any,
}
