"""The database: `await store.run(fn)` runs one transaction.

`fn(tx) → result` is a plain function. It may run more than once (after serialisation failures,
deadlocks, or a locked file). Therefore it changes nothing but rows, and gets ids and times as
arguments. It runs in threads of the store: one writer and a few readers on SQLite, a small pool on
PostgreSQL and MariaDB.

If the response to a COMMIT is lost, the transaction may or may not be committed. `run` then raises
Unanswered, and its caller reads the rows to find out. `run_once` instead checks a receipt, which
the transaction writes together with its rows.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import (
    DatabaseError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from sqlalchemy.pool import PoolProxiedConnection, StaticPool

from hearth.store.config import StoreConfig
from hearth.store.idle import bound, watch
from hearth.store.prepared import NOW, Listed, Prepared, SqlText
from hearth.store.schema import all_tables
from hearth.store.seal import Sealer
from hearth.store.silence import limit_silence, postgresql_defaults
from hearth.store.tables import receipt

T = TypeVar("T")
Statement = sa.Executable | Prepared

ATTEMPTS_MAX = 12
PAUSE_S = 0.02
SERVER_CONNECTIONS = 4
SQLITE_READERS = 3
SQLITE_BUSY_MS = 10_000
SQLITE_CACHE_KIB = 32 * 1024  # per connection, when used; ids are random, so inserts touch it all
SQLITE_CHECKPOINT_PAGES = 4000
READ_ONLY = "25006"  # the SQLSTATE of a write in a read-only transaction
LISTED_MAX = 128  # ids per statement; longer statements take long to build and to parse
RECEIPTS_KEPT_S = 3600.0  # far longer than a transaction can last after its connection was lost
_RECEIPT = Prepared(
    lambda: receipt.insert().values(id=sa.bindparam("id", type_=sa.String()), at=NOW)
)
_OLD_RECEIPTS = Prepared(lambda: receipt.delete().where(receipt.c.at < NOW - RECEIPTS_KEPT_S))
_NONE: Mapping[str, Any] = {}


class Account(Protocol):
    """The project for which transactions run."""

    def in_turn(self, threads: int, start: Callable[[], asyncio.Future[T]]) -> Awaitable[T]:
        """Call `start` when one of its transactions may run; return what it results in.

        `threads` is the number of threads for all transactions of its kind, those of the service
        itself included.
        """
        ...

    def spent(self, seconds: float) -> None:
        """Count processor time of a transaction."""
        ...


account: ContextVar[Account | None] = ContextVar("account", default=None)
"""The project for which the current task works; None for the service itself."""


class _Timed(Generic[T]):
    """A transaction, and the processor time that it has used in its thread."""

    def __init__(self, transaction: Callable[[], T]) -> None:
        self._transaction = transaction
        self.seconds = 0.0

    def __call__(self) -> T:
        began = time.thread_time()
        try:
            return self._transaction()
        finally:
            self.seconds = time.thread_time() - began


class Tx:
    """One transaction, on its own connection.

    `statements` counts the statements so far. `sealer`, `config` and `notifies` are
    those of the store.
    """

    def __init__(
        self,
        engine: sa.Engine,
        link: PoolProxiedConnection,
        raw: Any,
        sealer: Sealer,
        config: StoreConfig,
        notifies: bool,
    ) -> None:
        self.sealer = sealer
        self.notifies = notifies
        self.config = config
        self.statements = 0
        self.stored: set[str] = set()  # hashes of texts that are known to be stored
        self._hashes: dict[str, str] = {}  # hashes of the texts used so far
        self._engine = engine
        self._dialect = engine.dialect
        self._link = link
        self._cursor: DBAPICursor = raw.cursor()
        self._whole: sa.Connection | None = None

    def rows(self, statement: Statement, values: Mapping[str, Any] = _NONE) -> list[Any]:
        """Return all rows of a query."""
        if not isinstance(statement, Prepared):
            return list(self.execute(statement, values or None))
        text = self._execute(statement, values)
        return list(map(text.row, self._cursor.fetchall()))

    def listed(self, statement: Listed, ids: Sequence[Any]) -> list[Any]:
        """Return all rows of a query over a list of ids; for a long list, it runs several
        statements.
        """
        rows: list[Any] = []
        for start in range(0, len(ids), LISTED_MAX):
            rows += self.rows(*statement.of(ids[start : start + LISTED_MAX]))
        return rows

    def first(self, statement: Statement, values: Mapping[str, Any] = _NONE) -> Any:
        """Return the first row of a query, or None."""
        if not isinstance(statement, Prepared):
            return self.execute(statement, values or None).first()
        text = self._execute(statement, values)
        rows = self._cursor.fetchall()  # all rows, so that the cursor keeps nothing open
        return text.row(rows[0]) if rows else None

    def value(self, statement: Statement, values: Mapping[str, Any] = _NONE) -> Any:
        """Return the first column of the first row of a query, or None."""
        row = self.first(statement, values)
        return row[0] if row is not None else None

    def do(self, statement: Prepared, values: Mapping[str, Any] = _NONE) -> int:
        """Run a statement that changes rows; return the number of rows that it matched."""
        self._execute(statement, values)
        return self._cursor.rowcount

    def many(self, statement: Prepared, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each of the rows, of which there is at least one.

        Each row maps the names of the parameters to their values; all rows have the same names.
        """
        self.statements += 1
        text = statement.text(self._dialect, tuple(rows[0]))
        try:
            self._cursor.executemany(text.sql, [text.values(row) for row in rows])
        except self._dialect.loaded_dbapi.Error as problem:
            raise fault(self._dialect, self._link, problem, text.sql) from problem

    def execute(self, statement: sa.Executable, rows: Any = None) -> sa.CursorResult[Any]:
        """Run a statement that is built for one use; it is not cached."""
        self.statements += 1
        if self._whole is None:
            self._whole = sa.Connection(self._engine, self._link)
        return self._whole.execute(statement, rows)

    def _execute(self, statement: Prepared, values: Mapping[str, Any]) -> SqlText:
        self.statements += 1
        text = statement.text(self._dialect, tuple(values))
        try:
            self._cursor.execute(text.sql, text.values(values))
        except self._dialect.loaded_dbapi.Error as problem:
            raise fault(self._dialect, self._link, problem, text.sql) from problem
        return text

    def hash_of(self, text: str) -> str:
        """Return the keyed hash of a text; a cache avoids computing it again."""
        cached = self._hashes.get(text)
        if cached is None:
            cached = self._hashes[text] = self.sealer.fingerprint(text)
        return cached

    def seal(self, value: Any, column: str, *key: object) -> bytes:
        """Encrypt a value for the column (`table.column`) of the row with this key; see
        `tables.key_of`.
        """
        return self.sealer.seal(value, column, *key)

    def unseal(self, sealed: bytes | None, column: str, *key: object) -> Any:
        """Decrypt a value that `seal` has encrypted; None stays None."""
        return None if sealed is None else self.sealer.unseal(sealed, column, *key)

    def seal_text(self, text: str | None, column: str, *key: object) -> str | None:
        """Encrypt a text for a text column, as `seal` does for other columns; None stays None."""
        return None if text is None else self.sealer.seal_text(text, column, *key)

    def unseal_text(self, sealed: str | None, column: str, *key: object) -> Any:
        """Decrypt a text that `seal_text` has encrypted; None stays None."""
        return None if sealed is None else self.sealer.unseal_text(sealed, column, *key)

    @property
    def dialect(self) -> str:
        """The type of database: sqlite, postgresql or mysql."""
        return "mysql" if self._dialect.name == "mariadb" else self._dialect.name

    @property
    def returning(self) -> bool:
        """Whether RETURNING may be used: not on MariaDB, and not in an old SQLite."""
        return self.dialect != "mysql" and self._dialect.update_returning


def fault(
    dialect: sa.Dialect, link: PoolProxiedConnection | None, problem: Exception, sql: str | None
) -> DBAPIError:
    """Convert the exception of a database driver to the exception of SQLAlchemy.

    If the connection is broken, it is removed from the pool.
    """
    error = dialect.loaded_dbapi.Error
    raw: Any = link.dbapi_connection if link is not None else None
    lost = dialect.is_disconnect(problem, raw, None)  # type: ignore[arg-type]
    if lost and link is not None:
        link.invalidate(problem)
    wrapped = DBAPIError.instance(
        sql, None, problem, error, connection_invalidated=lost, dialect=dialect
    )
    assert isinstance(wrapped, DBAPIError)
    return wrapped


class Unanswered(OperationalError):
    """The response to a COMMIT was lost: the transaction may or may not be committed."""

    def __init__(self, orig: BaseException) -> None:
        super().__init__("COMMIT", None, orig, connection_invalidated=True)


class _CarriedOut(Exception):
    """The receipt of the transaction exists, so an earlier attempt was committed."""


def is_outage(problem: BaseException) -> bool:
    """Return whether the error means that the database cannot be used now.

    It may be unreachable, full, locked or read-only, or the client has no memory for its answer.
    """
    if type(problem) is DatabaseError:  # of the client library, without a code
        return "out of memory" in str(problem.orig)
    if isinstance(problem, InternalError):  # PostgreSQL as a replica, or set to read-only
        return getattr(problem.orig, "sqlstate", None) == READ_ONLY
    return isinstance(problem, OperationalError | InterfaceError)


class Store:
    """A database, with the threads that access it.

    `url` has SQLAlchemy's format: `sqlite:///path`, `sqlite://` (in memory, inline), or a
    `postgresql+psycopg://` or `mariadb+pymysql://` address. On SQLite, `clock` replaces the clock
    of a database server. If `notifies` is true, each new state of a stack or cluster is added to
    the outbox. `config` may be changed at any time. If `inline` is true,
    transactions run at once in the calling thread, for simulations. If `durable` is false, a loss
    of power can destroy an SQLite file, but writes are faster. If `receipts` is true, `run_once`
    writes receipts; this is the default except on SQLite.
    """

    def __init__(
        self,
        url: str,
        sealer: Sealer,
        *,
        clock: Callable[[], float] = time.time,
        inline: bool = False,
        durable: bool = True,
        config: StoreConfig | None = None,
        notifies: bool = False,
        receipts: bool | None = None,
    ) -> None:
        self.sealer = sealer
        self.config = config or StoreConfig()
        self.notifies = notifies
        self.url = _with_driver(url)
        self.dialect = (
            "mysql"
            if self.url.get_backend_name() in ("mysql", "mariadb")
            else (self.url.get_backend_name())
        )
        self.inline = inline
        self.receipts = self.dialect != "sqlite" if receipts is None else receipts
        self._clock = clock
        self.statements = 0
        self._memory = self.dialect == "sqlite" and self.url.database in (None, "", ":memory:")
        self._engine = self._connect(durable)
        self._kept = self._engine.raw_connection() if self._memory else None
        self._writers: ThreadPoolExecutor | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._write_threads = 1 if self.dialect == "sqlite" else SERVER_CONNECTIONS
        if not inline:
            self._writers = ThreadPoolExecutor(self._write_threads, "store-write")
            if self.dialect == "sqlite" and not self._memory:
                self._readers = ThreadPoolExecutor(SQLITE_READERS, "store-read")
            else:
                self._readers = self._writers

    def _connect(self, durable: bool) -> sa.Engine:
        if self.dialect != "sqlite":
            settings: dict[str, Any] = postgresql_defaults(self.url)
            if self.dialect == "mysql":
                settings = {
                    "charset": "utf8mb4",
                    "client_flag": 2,  # FOUND_ROWS: updates that change nothing count, too
                    "init_command": "SET SESSION sql_mode='STRICT_ALL_TABLES', "
                    "time_zone='+00:00', innodb_lock_wait_timeout=10",
                }
            engine = sa.create_engine(
                self.url,
                isolation_level="READ COMMITTED",
                pool_size=SERVER_CONNECTIONS,
                max_overflow=SERVER_CONNECTIONS,
                pool_recycle=1800,
                hide_parameters=True,  # errors stand in the log
                connect_args=settings,
            )
            if self.dialect == "mysql":
                sa.event.listen(engine, "connect", lambda raw, _: limit_silence(raw))
            sa.event.listen(engine, "connect", lambda raw, _: bound(raw, self.dialect))
            watch(engine)
            return engine
        engine = sa.create_engine(
            self.url,
            hide_parameters=True,
            connect_args={"check_same_thread": False, "timeout": SQLITE_BUSY_MS / 1000},
            **({"poolclass": StaticPool} if self._memory else {"pool_size": SQLITE_READERS + 1}),
        )

        @sa.event.listens_for(engine, "connect")
        def _prepare(raw: Any, _record: Any) -> None:
            raw.isolation_level = None  # this module sends BEGIN itself
            raw.create_function("hearth_now", 0, self._clock)
            raw.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_MS}")
            raw.execute("PRAGMA foreign_keys=ON")
            if not self._memory:
                raw.execute("PRAGMA journal_mode=WAL")
                raw.execute(f"PRAGMA cache_size={-SQLITE_CACHE_KIB}")
                raw.execute(f"PRAGMA wal_autocheckpoint={SQLITE_CHECKPOINT_PAGES}")
                raw.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")

        return engine

    async def run(self, fn: Callable[[Tx], T]) -> T:
        """Run one transaction that may write, and return its result.

        Raises Unanswered if it may or may not be committed. Then the caller must read the rows
        before it repeats anything.
        """
        return await self._in(self._writers, lambda: self.transact(fn))

    async def run_once(self, fn: Callable[[Tx], T]) -> T:
        """Run a transaction and return its result; commit it at most once, even if the response to
        its COMMIT is lost.

        The receipt costs an additional row, so only requests use it. Commits of an engine check the
        epoch instead. Raises Unanswered if the database cannot be reached again soon enough to find
        out whether the transaction was committed.
        """
        return await self._in(self._writers, lambda: self.transact(fn, once=True))

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Run one transaction that only reads, and return its result."""
        return await self._in(self._readers, lambda: self.transact(fn, write=False))

    async def _in(self, pool: ThreadPoolExecutor | None, transaction: Callable[[], T]) -> T:
        if pool is None:
            await asyncio.sleep(0)
            return transaction()
        loop, payer = asyncio.get_running_loop(), account.get()
        if payer is None:
            return await loop.run_in_executor(pool, transaction)
        timed = _Timed(transaction)
        threads = self._write_threads if pool is self._writers else SQLITE_READERS
        try:
            return await payer.in_turn(threads, partial(loop.run_in_executor, pool, timed))
        finally:
            payer.spent(timed.seconds)

    def transact(self, fn: Callable[[Tx], T], *, write: bool = True, once: bool = False) -> T:
        """Run a transaction in this thread and return its result.

        If `write` is false, it only reads. It is repeated after a deadlock, a conflict or a lost
        connection. If `once` is true, it is committed at most once; see `run_once`.
        """
        # the attempt for whose COMMIT there was no response
        unknown: list[tuple[Unanswered, T]] = []
        note = secrets.token_hex(16) if once and self.receipts else None
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                return self._attempt(fn, write, note, unknown)
            except _CarriedOut:
                return unknown[-1][1]
            except DBAPIError as problem:
                lost = note is None and isinstance(problem, Unanswered)
                if lost or attempt == ATTEMPTS_MAX or not self._passing(problem):
                    raise (unknown[-1][0] if unknown else problem) from None
                if not self.inline:
                    time.sleep(PAUSE_S * attempt)
        raise AssertionError("unreachable")

    def _attempt(
        self,
        fn: Callable[[Tx], T],
        write: bool,
        note: str | None,
        unknown: list[tuple[Unanswered, T]],
    ) -> T:
        """Make one attempt to run a transaction. `note` is the key of its receipt, or None.

        Raises _CarriedOut if the receipt exists, because an earlier attempt was committed.
        """
        dialect, link = self._engine.dialect, None
        try:
            link = self._kept or self._engine.raw_connection()
            raw: Any = link.dbapi_connection
            if self.dialect == "sqlite" and (write or not self._memory):
                raw.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            elif self.dialect == "postgresql" and raw.autocommit is write:
                # a read has a snapshot for each statement, so BEGIN and COMMIT add only round trips
                raw.autocommit = not write
            tx = Tx(self._engine, link, raw, self.sealer, self.config, self.notifies)
            try:
                if note is not None:
                    _leave(tx, note, again=bool(unknown))
                result = fn(tx)
            except BaseException:
                if link.is_valid:
                    raw.rollback()
                raise
            try:
                self._commit(link, write=write)
            except Unanswered as problem:
                unknown.append((problem, result))
                raise
        except dialect.loaded_dbapi.Error as problem:
            raise fault(dialect, link, problem, None) from problem
        finally:
            if link is not None and link is not self._kept:
                link.close()
        self.statements += tx.statements
        return result

    def _commit(self, link: PoolProxiedConnection, *, write: bool) -> None:
        """Commit the transaction. Raises Unanswered if the connection breaks before the response to
        a write.
        """
        raw: Any = link.dbapi_connection
        try:
            raw.commit()
        except self._engine.dialect.loaded_dbapi.Error as problem:
            error = fault(self._engine.dialect, link, problem, None)
            if write and error.connection_invalidated:
                raise Unanswered(problem) from problem
            raise error from problem

    def _passing(self, problem: DBAPIError) -> bool:
        """Return whether the transaction may succeed if it is repeated."""
        if problem.connection_invalidated:
            return True
        code = getattr(problem.orig, "sqlstate", None)
        if code in ("40001", "40P01", "55P03"):
            return True
        if self.dialect == "mysql" and problem.orig is not None:
            return bool(problem.orig.args) and problem.orig.args[0] in (1020, 1205, 1213)
        return isinstance(problem, OperationalError) and "locked" in str(problem.orig)

    def create_tables(self) -> None:
        """Create the tables of this release in an empty database, for tests.

        Other databases are created by migrations.
        """
        with self._engine.begin() as connection:
            all_tables().create_all(connection)

    @property
    def sync_engine(self) -> sa.Engine:
        """The SQLAlchemy engine, for migrations."""
        return self._engine

    def close(self) -> None:
        """Wait for the running transactions, then close all connections."""
        for pool in {id(p): p for p in (self._writers, self._readers) if p}.values():
            pool.shutdown(wait=True)
        if self._kept is not None:
            self._kept.close()
        self._engine.dispose()


def prove_writable(tx: Tx) -> None:
    """Write a row: a database whose disk is full, or that is read-only, still answers reads."""
    tx.do(_RECEIPT, {"id": secrets.token_hex(16)})


def drop_receipts(tx: Tx) -> None:
    """Delete receipts that are so old that no `run_once` can still need them."""
    tx.do(_OLD_RECEIPTS)


def _leave(tx: Tx, note: str, *, again: bool) -> None:
    """Write the receipt of a transaction as its first statement.

    So the statement waits while an earlier attempt with the same receipt is still being committed.
    Raises _CarriedOut if that attempt was committed. `again` is true if there may be an earlier
    attempt.
    """
    try:
        tx.do(_RECEIPT, {"id": note})
    except IntegrityError:
        if again:
            raise _CarriedOut from None
        raise


def shown_url(url: str) -> str:
    """Return a database URL with the password masked.

    Raises `sqlalchemy.exc.ArgumentError` if the text is not a URL.
    """
    return _with_driver(url).render_as_string(hide_password=True)


def _with_driver(url: str) -> sa.URL:
    """Return the URL with the database driver that Hearth installs."""
    parsed = sa.make_url(url)
    drivers = {
        "postgresql": "postgresql+psycopg",
        "mysql": "mysql+pymysql",
        "mariadb": "mariadb+pymysql",
    }
    return parsed.set(drivername=drivers.get(parsed.drivername, parsed.drivername))
