"""What tests share: databases to run on, and what a machine may lack."""

import gc
import os
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import settings

from hearth.store.database import Store
from hearth.store.seal import sealer_from_secret
from tests.selection import FIRST, SUITE, left_out

settings.register_profile("hearth", deadline=None)  # a busy machine is no failure
settings.load_profile("hearth")

SERVERS = {
    "postgresql": os.environ.get(
        "HEARTH_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
    ),
    "mariadb": os.environ.get(
        "HEARTH_TEST_MARIADB", "mariadb+pymysql://root@127.0.0.1:3306/test?charset=utf8mb4"
    ),
}


ENDLESS_S = 420 if SUITE == FIRST else 1200  # far more than any test takes
AGAIN_S = 20  # for what waits once more on its way out


HERE = Path(__file__).parent
WAITING = {  # files whose tests mostly wait: about how many seconds
    "crash/test_kills.py": 200,
    "clusters/test_sandbox.py": 150,
    "faults/test_store.py": 120,
    "faults/test_table.py": 90,
    "engine/worker/test_takeover.py": 100,
    "types/test_faults.py": 95,
    "conductor/test_trace.py": 95,
    "clients/test_deployment_vectors.py": 75,
    "clusters/test_simulated.py": 70,
    "cli/demo/test_scenario.py": 60,
    "keystone/test_stacks.py": 45,
    "keystone/test_bootstrap.py": 60,
    "clients/test_clusters.py": 40,
    "faults/test_lost_commit.py": 40,
    "guests/test_sandbox.py": 40,
    "guests/test_guests.py": 40,
    "store/test_contract.py": 40,
    "api/test_waiting.py": 40,
    "templates/test_heat_templates.py": 35,
    "process/test_lifetime.py": 30,
    "devcloud/images/test_build.py": 30,
    "keystone/test_tokens.py": 25,
    "cloud/test_guard.py": 25,
}
COMPUTING = (  # the longest of the others
    "deploy/test_debian.py",
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
    "deploy/test_wheel.py",
    "authoring/lsp/test_server.py",
    "clients/test_agents.py",
    "authoring/test_seeded_defects.py",
    "explore/test_explore.py",
    "sim/test_vectors.py",
)
COMPUTING_S, SLOW_S, OTHER_S = 20.0, 8.0, 1.0  # about how long a file takes
SPREAD = 0.8  # of the run, over which those that wait are spread
assert [name for name in (*WAITING, *COMPUTING) if not (HERE / name).exists()] == []


def in_order(slow: Mapping[Path, bool]) -> list[Path]:
    """Return the files of a run, longest first; `slow` maps a file to whether it has slow tests.

    Those that wait are spread over most of the run, so that the processors are always busy, and at
    the end no worker has much left to do alone.
    """
    waiting = [HERE / name for name in WAITING if HERE / name in slow]
    first = [HERE / name for name in COMPUTING if HERE / name in slow]
    some = [path for path in slow if slow[path] and path not in {*waiting, *first}]
    rest = [path for path in slow if path not in {*waiting, *first, *some}]
    lasts = [*((path, COMPUTING_S) for path in first), *((path, SLOW_S) for path in some),
             *((path, OTHER_S) for path in rest)]  # fmt: skip
    waits = [WAITING[str(path.relative_to(HERE))] for path in waiting]
    share = SPREAD * sum(seconds for _, seconds in lasts) / max(1, sum(waits))
    order, due, gone = list[Path](), 0.0, 0.0
    for path, seconds in lasts:
        while waiting and due <= gone:
            due += share * waits.pop(0)
            order.append(waiting.pop(0))
        order.append(path)
        gone += seconds
    return order + waiting


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the other run, and run the files in the order of `in_order`."""
    if others := left_out(items):
        config.hook.pytest_deselected(items=others)
        left = {id(item) for item in others}
        items[:] = [item for item in items if id(item) not in left]
    slow: dict[Path, bool] = {}
    for item in items:
        slow[item.path] = slow.get(item.path, False) or item.get_closest_marker("slow") is not None
    place = {path: number for number, path in enumerate(in_order(slow))}
    items.sort(key=lambda item: place[item.path])


def pytest_collection_finish() -> None:
    """What was collected stays to the end; the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"cases: HEARTH_SUITE={SUITE}")


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


def fresh_database(kind: str, url: str | None = None) -> tuple[str, str]:
    """A new database on a server: its URL, and its name to drop it by.

    `url` is that of another server than the one of the tests.
    """
    server = sa.make_url(url or SERVERS[kind])
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
    from hearth.store.schema import all_tables

    if request.param == "sqlite":
        store = Store(f"sqlite:///{tmp_path}/hearth.db", sealer_from_secret("test secret"))
        upgrade(store)
    else:
        store = Store(migrated(request.param), sealer_from_secret("test secret"))
        with store.sync_engine.begin() as connection:
            for table in reversed(all_tables().sorted_tables):
                connection.execute(table.delete())
    yield store
    store.close()
