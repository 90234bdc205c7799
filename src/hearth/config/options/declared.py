"""Settings that are declared in structs: their options, their values, and their reload."""

from collections.abc import Iterator
from typing import Any, TypeVar, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo, fields, replace

from hearth.config.options.register import value_of
from hearth.config.wrong import WrongSetting
from hearth.model.option import Kind, Option

T = TypeVar("T", bound=Struct)


def parts(cls: type[Struct]) -> Iterator[tuple[str, Option | type[Struct]]]:
    """Yield (field, option) for each setting of a struct, and (field, struct) for each struct in
    it.
    """
    for part in fields(cls):
        if (option := _option(part)) is not None:
            yield part.name, option
        elif isinstance(part.type, type) and issubclass(part.type, Struct):
            yield part.name, part.type


def options_of(cls: type[Struct]) -> Iterator[Option]:
    """Yield the options that a struct and the structs in it declare."""
    for _, part in parts(cls):
        if isinstance(part, Option):
            yield part
        else:
            yield from options_of(part)


def read_struct(cls: type[T], conf: Any, **computed: Any) -> T:
    """Return a struct with the values in a loaded oslo.config.

    `computed` has the fields that are no settings. Raises WrongSetting.
    """
    values = computed
    for name, part in parts(cls):
        if name not in computed:
            values[name] = (
                _value(part, conf) if isinstance(part, Option) else read_struct(part, conf)
            )
    return cls(**values)


def reloaded(before: T, after: T) -> T:
    """Return `before` with the live settings of `after`."""
    changes = {}
    for name, part in parts(type(before)):
        old, new = getattr(before, name), getattr(after, name)
        if not isinstance(part, Option):
            changes[name] = reloaded(old, new)
        elif part.live:
            changes[name] = new
    return replace(before, **changes)


def _option(part: FieldInfo) -> Option | None:
    """Return the option of a field with the name, type and default of the field, if it has one."""
    for option in getattr(part.type, "__metadata__", ()):
        if isinstance(option, Option):
            is_list = isinstance(part.default, tuple)
            return replace(
                option,
                name=option.name or part.name,
                kind=_kind(part.type.__origin__),
                default=list(part.default) if is_list else part.default,
            )
    return None


def _kind(annotation: Any) -> Kind:
    if get_origin(annotation) is tuple:
        return list
    kind: Kind = (get_args(annotation) or [annotation])[0]  # of `int | None`: int
    return kind


def _value(option: Option, conf: Any) -> Any:
    value = value_of(conf, option)
    value = tuple(value) if isinstance(value, list) else value
    try:
        return value if option.convert is None else option.convert(value)
    except ValueError as problem:
        raise WrongSetting(f"{option.place}: {problem}") from None
