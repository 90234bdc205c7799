"""Prepared statements: built once, with their SQL text cached per type of database.

Building and hashing a statement takes many times longer than running it. A query that depends on a
request, such as a list with filters, has no cached text; SQLAlchemy runs it.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class _Now(FunctionElement[float]):
    """The current time of the database's clock as an SQL expression, in seconds since 1970."""

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


class SqlText(Struct, frozen=True):
    """The SQL text of a statement for one database driver.

    `values` returns the parameters in the form that the driver expects; `row` makes a named tuple
    of a result row. `row` is None if the statement returns no rows.
    """

    sql: str
    values: Callable[[Mapping[str, Any]], Any]
    row: Any


class Prepared:
    """A statement that is always the same except for the values of its parameters.

    Values pass to and from the driver unchanged, so columns must have plain types; rows are named
    tuples. Keep the object in a constant, because it caches its texts. `statement` can be a
    function that returns it, which is called at the first use: a short command uses only a few.
    """

    def __init__(self, statement: sa.Executable | Callable[[], sa.Executable]) -> None:
        self._statement = statement
        self._texts: dict[tuple[str, tuple[str, ...]], SqlText] = {}

    def text(self, dialect: sa.Dialect, names: tuple[str, ...]) -> SqlText:
        """Return the SQL text for a type of database and for parameters with these names."""
        key = (dialect.name, names)
        cached = self._texts.get(key)
        if cached is None:
            source = self._statement
            statement = source if isinstance(source, sa.Executable) else source()
            cached = self._texts[key] = _text(statement, dialect, names)
        return cached


class Listed:
    """A statement with a list of ids as parameters.

    `build` gets the parameters for the ids and returns the statement. It is called once for each
    power of two; a shorter list is filled up with its last id. `type_` is the SQL type of the ids,
    by default String.
    """

    def __init__(
        self,
        build: Callable[[list[sa.BindParameter[Any]]], sa.Executable],
        type_: sa.types.TypeEngine[Any] | None = None,
    ) -> None:
        self._build = build
        self._type = type_ or sa.String()
        self._by_size: dict[int, Prepared] = {}

    def of(self, ids: Sequence[Any]) -> tuple[Prepared, dict[str, Any]]:
        """Return the statement for these ids and the values of its parameters; `ids` must not be
        empty.
        """
        size = 1 << (len(ids) - 1).bit_length()
        prepared = self._by_size.get(size)
        if prepared is None:
            parameters = [sa.bindparam(f"id_{i}", type_=self._type) for i in range(size)]
            prepared = self._by_size[size] = Prepared(self._build(parameters))
        padded = [*ids, *[ids[-1]] * (size - len(ids))]
        return prepared, {f"id_{i}": value for i, value in enumerate(padded)}


_PLAIN = (sa.String, sa.Double, sa.Integer, sa.Boolean, sa.LargeBinary)


def _text(statement: Any, dialect: sa.Dialect, names: tuple[str, ...]) -> SqlText:
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    constants = {}
    for name, bind in compiled.binds.items():
        assert isinstance(bind.type, _PLAIN), bind
        if name not in names:
            assert not bind.required, f"no value for {bind}"
            constants[name] = bind.value
    columns = [column.key for column in getattr(statement, "exported_columns", ())]
    row: Any = namedtuple("Row", columns) if columns else None
    return SqlText(str(compiled), _arranged(compiled.positiontup, constants), row and row._make)


def _arranged(
    order: Sequence[str] | None, constants: Mapping[str, Any]
) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that converts a map of parameters to the form of the driver.

    That is a tuple in the given order, or a map if `order` is None. `constants` are values that
    belong to the statement itself.
    """
    match order:
        case None:
            pick: Callable[[Mapping[str, Any]], Any] = dict
        case []:
            return lambda _values: ()
        case [name]:
            pick = lambda values: (values[name],)  # noqa: E731
        case _:
            pick = itemgetter(*order)
    return (lambda values: pick({**constants, **values})) if constants else pick
