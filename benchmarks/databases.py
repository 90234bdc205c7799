"""The same operations on PostgreSQL and MariaDB, where a server answers."""

import asyncio
import contextlib
import os
import uuid
from collections.abc import Iterator

import sqlalchemy as sa

from benchmarks import templates
from benchmarks.figure import Figure
from benchmarks.inside import inside

SERVERS = {
    "PostgreSQL": os.environ.get(
        "HEARTH_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
    ),
    "MariaDB": os.environ.get(
        "HEARTH_TEST_MARIADB", "mariadb+pymysql://root@127.0.0.1:3306/test?charset=utf8mb4"
    ),
}
BUDGETS = {"create": {1000: 0.7, 10_000: 6.0}, "update nothing": {10_000: 1.0},
           "update one": {10_000: 4.5}}  # fmt: skip


def databases(quick: bool) -> Iterator[Figure]:
    """Create, update and delete on each server; one that does not answer is left out, aloud."""
    for name in SERVERS:
        with fresh(name) as url:
            for count in () if url is None else (1000,) if quick else (1000, 10_000):
                yield from asyncio.run(_life(name, url, count))


@contextlib.contextmanager
def fresh(name: str) -> Iterator[str | None]:
    """The URL of an empty database on a server, which is dropped at the end; None if the server
    does not answer.
    """
    parsed = sa.make_url(SERVERS[name])
    server = sa.create_engine(parsed, isolation_level="AUTOCOMMIT")
    base = f"hearth_bench_{uuid.uuid4().hex[:8]}"
    try:
        with server.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {base}"))
    except sa.exc.DBAPIError as problem:
        print(f"{name} does not answer and is left out: {problem.orig}")
        yield None
        return
    try:
        yield parsed.set(database=base).render_as_string(hide_password=False)
    finally:
        force = " WITH (FORCE)" if name == "PostgreSQL" else ""
        with server.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE {base}{force}"))
        server.dispose()


async def _life(name: str, url: str, count: int) -> list[Figure]:
    async with inside(url) as running:
        row, spent = await running.create(f"wide{count}", templates.wide(count))
        found = [("create", spent)]
        row, spent = await running.update(row, templates.wide(count))
        found.append(("update nothing", spent))
        row, spent = await running.update(row, templates.wide(count, changed=True))
        found.append(("update one", spent))
        _, spent = await running.delete(row)
        found.append(("delete", spent))
    return [
        Figure(f"{name}: {word} {count}", one.whole_s, "s", BUDGETS.get(word, {}).get(count))
        for word, one in found
    ]
