"""Statements of a module: built once, with their text cached for each kind of database.

Building and hashing a statement takes many times longer than the database needs for it. A query
that a request composes (lists with filters) has no cached text and goes through SQLAlchemy.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class _Now(FunctionElement[float]):
    """The database's clock, seconds since 1970."""

    type = sa.Double()
    inherit_cache = True


@compiles(_Now, "sqlite")
def _sqlite_now(_now: _Now, _compiler: Any, **_: Any) -> str:
    return "hearth_now()"


@compiles(_Now, "postgresql")
def _postgresql_now(_now: _Now, _compiler: Any, **_: Any) -> str:
    return "date_part('epoch', clock_timestamp())"


@compiles(_Now, "mysql", "mariadb")
def _mysql_now(_now: _Now, _compiler: Any, **_: Any) -> str:
    return "UNIX_TIMESTAMP(NOW(6))"


NOW: sa.ColumnElement[float] = _Now()


@dataclass(frozen=True, slots=True)
class Text:
    """A statement as the driver takes it.

    `values` puts parameters in the driver's order; `row` builds a row from the result.
    """

    sql: str
    values: Callable[[Mapping[str, Any]], Any]
    row: Any


class Prepared:
    """A statement that changes only in the values of its parameters.

    Values pass to and from the driver unchanged, so columns need plain types; rows are named
    tuples. Keep the statement in a constant: it caches its texts.
    """

    def __init__(self, statement: sa.Executable) -> None:
        self._statement: Any = statement
        self._texts: dict[tuple[str, tuple[str, ...]], Text] = {}

    def text(self, dialect: sa.Dialect, names: tuple[str, ...]) -> Text:
        """Return the text for a database and these names of parameters."""
        key = (dialect.name, names)
        known = self._texts.get(key)
        if known is None:
            known = self._texts[key] = _text(self._statement, dialect, names)
        return known


class Listed:
    """A statement over a list of ids.

    `build` makes it from their parameters, once for each power of two; a list of another length
    repeats its last id.
    """

    def __init__(
        self,
        build: Callable[[list[sa.BindParameter[Any]]], sa.Executable],
        type_: sa.types.TypeEngine[Any] | None = None,
    ) -> None:
        self._build = build
        self._type = type_ or sa.String()
        self._known: dict[int, Prepared] = {}

    def of(self, ids: Sequence[Any]) -> tuple[Prepared, dict[str, Any]]:
        """Return the statement for these ids, at least one, and its parameters."""
        size = 1 << (len(ids) - 1).bit_length()
        known = self._known.get(size)
        if known is None:
            parameters = [sa.bindparam(f"id_{i}", type_=self._type) for i in range(size)]
            known = self._known[size] = Prepared(self._build(parameters))
        padded = [*ids, *[ids[-1]] * (size - len(ids))]
        return known, {f"id_{i}": value for i, value in enumerate(padded)}


_PLAIN = (sa.String, sa.Double, sa.Integer, sa.Boolean, sa.LargeBinary)


def _text(statement: Any, dialect: sa.Dialect, names: tuple[str, ...]) -> Text:
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    own = {}
    for name, bind in compiled.binds.items():
        assert isinstance(bind.type, _PLAIN), bind
        if name not in names:
            assert not bind.required, f"no value for {bind}"
            own[name] = bind.value
    columns = [column.key for column in getattr(statement, "exported_columns", ())]
    row: Any = namedtuple("Row", columns) if columns else None
    return Text(str(compiled), _arranged(compiled.positiontup, own), row and row._make)


def _arranged(
    order: Sequence[str] | None, own: Mapping[str, Any]
) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that orders parameters (None: by name) and adds the statement's own."""
    match order:
        case None:
            pick: Callable[[Mapping[str, Any]], Any] = dict
        case []:
            return lambda _given: ()
        case [name]:
            pick = lambda given: (given[name],)  # noqa: E731
        case _:
            pick = itemgetter(*order)
    return (lambda given: pick({**own, **given})) if own else pick
