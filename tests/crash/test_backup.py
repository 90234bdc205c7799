"""A backup that is made while Hearth works, and a restore of it after the database is lost."""

import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
import sqlalchemy as sa

from tests.conftest import SERVERS, drop_database, fresh_database, lacking
from tests.crash.processes import Client, Cloud, Hearth, until
from tests.selection import part_of

pytestmark = pytest.mark.slow

ENDED_S = 60.0
VOLUMES = 4
TEMPLATE = "heat_template_version: 2021-04-16\nresources:\n" + "".join(
    f"  disk{n}: {{type: OS::Cinder::Volume, properties: {{name: NAME-{n}, size: 1}}}}\n"
    for n in range(VOLUMES)
)


def _run(*command: str, source: IO[bytes] | None = None, target: IO[bytes] | None = None) -> None:
    if shutil.which(command[0]) is None:
        lacking(command[0])
    subprocess.run(command, check=True, stdin=source, stdout=target)


class Database:
    """A database that can be saved to a file, lost, and restored."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self._copy = kind, folder / "backup"
        self.name, self._file = "", folder / "hearth.db"
        self.url = f"sqlite:///{self._file}"
        if kind != "sqlite":
            self.url, self.name = fresh_database(kind)

    def save(self) -> None:
        """What docs/operating.md says, while Hearth works."""
        if self.kind == "sqlite":
            with sqlite3.connect(self._file) as source:
                source.execute(f"VACUUM INTO '{self._copy}'")
            source.close()
        elif self.kind == "postgresql":
            _run("pg_dump", "--format=custom", f"--file={self._copy}", _libpq(self.url))
        else:
            with self._copy.open("wb") as file:
                login = _login(self.url)
                _run("mariadb-dump", "--single-transaction", *login, self.name, target=file)

    def lose(self) -> None:
        """Everything is gone."""
        if self.kind == "sqlite":
            for file in self._file.parent.glob("hearth.db*"):
                file.unlink()
            return
        drop_database(self.kind, self.name)
        server = sa.create_engine(SERVERS[self.kind], isolation_level="AUTOCOMMIT")
        with server.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {self.name}"))
        server.dispose()

    def restore(self) -> None:
        """Bring the copy back into an empty database."""
        if self.kind == "sqlite":
            shutil.copy(self._copy, self._file)
        elif self.kind == "postgresql":
            _run("pg_restore", "--exit-on-error", f"--dbname={_libpq(self.url)}", str(self._copy))
        else:
            with self._copy.open("rb") as file:
                _run("mariadb", *_login(self.url), self.name, source=file)

    def drop(self) -> None:
        """End of the test."""
        if self.name:
            drop_database(self.kind, self.name)


def _libpq(url: str) -> str:
    return sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def _login(url: str) -> list[str]:
    parts = sa.make_url(url)
    password = [f"--password={parts.password}"] if parts.password else []
    return [f"--host={parts.host}", f"--port={parts.port or 3306}", f"--user={parts.username}",
            *password]  # fmt: skip


@pytest.fixture(params=part_of(["sqlite", "postgresql", "mariadb"], 3))
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    found = Database(request.param, tmp_path)
    yield found
    found.drop()


def volumes(cloud: Cloud) -> Counter[str]:
    """How many volumes of each name there are."""
    objects = cloud.objects()
    return Counter(
        one["name"]
        for one in objects
        if one["collection"].endswith("volumes") and one["deleted"] is None
    )


def named(stack: str) -> Counter[str]:
    return Counter({f"{stack}-{n}": 1 for n in range(VOLUMES)})


def test_a_backup_of_a_working_service_is_restored_and_goes_on(tmp_path: Path, database: Database):
    cloud = Cloud(build_s=0.5)
    hearth = Hearth(tmp_path, cloud, database=database.url)
    try:
        hearth.start()
        client = Client(cloud, hearth.url)
        cloud.admin("POST", "ledger/mark")

        def create(name: str) -> str:
            return client.create(name, TEMPLATE.replace("NAME", name), {})

        def state(name: str, ident: str) -> Callable[[], bool]:
            return lambda: client.state(name, ident)[0] == "CREATE_COMPLETE"

        rests = create("rests")
        until("it rests", state("rests", rests), ENDED_S)
        works = create("works")
        until("it works", lambda: len(volumes(cloud)) > VOLUMES, ENDED_S)
        database.save()
        assert client.state("works", works)[0] == "CREATE_IN_PROGRESS"
        until("it ends", state("works", works), ENDED_S)
        later = create("later")
        until("a third one ends", state("later", later), ENDED_S)
        client.delete("rests", rests)
        until("rests is gone", lambda: not volumes(cloud) & named("rests"), ENDED_S)

        hearth.kill()
        database.lose()
        database.restore()
        hearth.start()

        until("the work goes on", state("works", works), ENDED_S)
        assert volumes(cloud) == named("works") + named("later")  # nothing is made twice
        assert set(client.states() or {}) == {rests, works}
        client.act("rests", rests, "check")
        until("check", lambda: client.state("rests", rests)[0] == "CHECK_FAILED", ENDED_S)
        for name, ident in (("rests", rests), ("works", works)):
            client.delete(name, ident)
        until("both are gone", lambda: not client.states(), ENDED_S)
        assert volumes(cloud) == named("later")  # the backup does not know it
        client.close()
    finally:
        hearth.kill()
        cloud.close()
