"""What tests share: databases to run on, and what a machine may lack."""

import gc
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from hearth.store.database import Store
from hearth.store.seal import sealer_from_secret
from tests.daily import DAY

SERVERS = {
    "postgresql": os.environ.get(
        "HEARTH_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
    ),
    "mariadb": os.environ.get(
        "HEARTH_TEST_MARIADB", "mariadb+pymysql://root@127.0.0.1:3306/test?charset=utf8mb4"
    ),
}


ENDLESS_S = 420  # far more than any test takes
AGAIN_S = 20  # for what waits once more on its way out


HERE = Path(__file__).parent
WAITING = (  # the longest of the files whose tests mostly wait
    "crash/test_kills.py",
    "clusters/test_sandbox.py",
    "faults/test_store.py",
    "engine/worker/test_takeover.py",
    "types/test_faults.py",
    "conductor/test_trace.py",
    "clients/test_deployment_vectors.py",
    "clusters/test_simulated.py",
    "cli/demo/test_scenario.py",
    "templates/test_heat_templates.py",
    "clients/test_clusters.py",
    "keystone/test_stacks.py",
    "faults/test_lost_commit.py",
    "guests/test_sandbox.py",
    "guests/test_guests.py",
    "store/test_contract.py",
    "api/test_waiting.py",
    "cli/test_lifetime.py",
    "devcloud/images/test_build.py",
    "keystone/test_tokens.py",
    "cloud/test_guard.py",
)
COMPUTING = (  # the longest of the others
    "hostile/test_hostile.py",
    "clients/test_functional.py",
    "sim/test_history.py",
    "conductor/test_faults.py",
    "sim/test_mutations.py",
    "conductor/test_conductor.py",
    "clusters/test_running.py",
    "engine/programs/compute/test_compute.py",
    "clients/test_cloud_commands.py",
    "conductor/test_upgrade.py",
    "cli/test_serve.py",
    "store/test_lost_commit.py",
    "authoring/test_json_schema.py",
    "engine/worker/test_rolling.py",
    "types/test_types.py",
    "cli/test_dev_servers.py",
    "authoring/lsp/test_server.py",
    "clients/test_agents.py",
    "authoring/test_seeded_defects.py",
    "explore/test_explore.py",
    "sim/test_vectors.py",
)
FIRST = [HERE / name for both in zip(WAITING, COMPUTING, strict=True) for name in both]
assert [path.name for path in FIRST if not path.exists()] == []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, what waits beside what computes, then those with slow tests:
    the processors are busy all the time, and at the end no worker has much left to do alone.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    place = {path: number for number, path in enumerate(FIRST)}
    items.sort(key=lambda item: (place.get(item.path, len(place)), item.path not in slow))


def pytest_collection_finish() -> None:
    """What was collected stays to the end; the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"parts of the day: HEARTH_DAY={DAY}")


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """A test that waits for ever fails, and the others get their turn."""

    def give_up(*_: object) -> None:
        pytest.fail(f"no end after {ENDLESS_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, ENDLESS_S, AGAIN_S)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """`hearth dev` in this process protects its files; other tests write files for other users."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


def lacking(what: str) -> None:
    """Skip for a user, fail under CI: a machine that lacks something must say so."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI needs {what}")
    pytest.skip(f"needs {what}")


def fresh_database(kind: str) -> tuple[str, str]:
    """A new database on a server: its URL, and the server's URL to drop it by."""
    server = sa.make_url(SERVERS[kind])
    name = f"hearth_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
    except sa.exc.OperationalError as problem:
        lacking(f"a {kind} server at {server.host}:{server.port} ({problem.orig})")
    finally:
        engine.dispose()
    return server.set(database=name).render_as_string(hide_password=False), name


def drop_database(kind: str, name: str) -> None:
    engine = sa.create_engine(SERVERS[kind], isolation_level="AUTOCOMMIT")
    force = " WITH (FORCE)" if kind == "postgresql" else ""
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name}{force}"))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def database_url(request: pytest.FixtureRequest, tmp_path) -> Iterator[str]:
    """The URL of an empty database, once for each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/hearth.db"
        return
    url, name = fresh_database(request.param)
    yield url
    drop_database(request.param, name)


@pytest.fixture(scope="session")
def migrated() -> Iterator[Callable[[str], str]]:
    """The URL of a database with tables on a server; all tests of the process share it."""
    from hearth.store.migrate import upgrade

    made: dict[str, tuple[str, str]] = {}

    def url_of(kind: str) -> str:
        if kind not in made:
            made[kind] = fresh_database(kind)
            store = Store(made[kind][0], sealer_from_secret("test secret"))
            upgrade(store)
            store.close()
        return made[kind][0]

    yield url_of
    for kind, (_, name) in made.items():
        drop_database(kind, name)


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, migrated: Callable[[str], str]
) -> Iterator[Store]:
    """A store with empty tables made by the migrations, once for each kind of database."""
    from hearth.store.migrate import upgrade
    from hearth.store.schema import metadata

    if request.param == "sqlite":
        store = Store(f"sqlite:///{tmp_path}/hearth.db", sealer_from_secret("test secret"))
        upgrade(store)
    else:
        store = Store(migrated(request.param), sealer_from_secret("test secret"))
        with store.sync_engine.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
    yield store
    store.close()
