"""The commands of `hearth manage`. Each one opens the database, carries out a job and prints a
result.
"""

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from hearth.config.configuration import read
from hearth.config.wrong import WrongSetting
from hearth.model.printable import escaped
from hearth.model.problem import hint, nearest
from hearth.store import migrate, reads
from hearth.store.database import Store, Tx
from hearth.store.engines import EngineRow, clean, engines, held_on
from hearth.store.engines import drain as drain_engines
from hearth.store.keyring import WrongKey, unlock
from hearth.store.keyring import rekey as seal_anew
from hearth.store.purge import purge
from hearth.store.rows import StackRow
from hearth.store.seal import Unsealable, keys_in, sealer_of
from hearth.store.tables import resource

Configs = Sequence[Path]
SECONDS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}


def db_sync(configs: Configs, version: str | None) -> None:
    """Carry out the missing migrations; print the version of the schema before and after.

    Raises WrongSetting if `version` is given and is not the schema of this release.
    """
    if version not in (None, "head", migrate.head()):
        raise WrongSetting(
            f"db-sync can only migrate to {migrate.head()}, the schema of this release"
        )
    with opened(configs, current=False) as store:
        before = _version(store)
        migrate.upgrade(store)
        after = _version(store)
    print(f"{after}: " + ("unchanged" if before == after else f"from {before or 'nothing'}"))


def db_version(configs: Configs) -> None:
    """Print the version of the database schema, or an empty line if there is no schema."""
    with opened(configs, current=False) as store:
        print(_version(store) or "")


def purge_deleted(
    configs: Configs, age: int, granularity: str, project_id: str | None, batch: int
) -> None:
    """Remove stacks that were deleted longer ago than `age`, in one transaction per `batch` stacks.

    `granularity` is the unit of `age`, such as "days". If `project_id` is None, the stacks of all
    projects are removed.
    """
    age_s = float(age * SECONDS[granularity])
    total = 0
    with opened(configs) as store:

        def one(tx: Tx) -> int:
            return purge(tx, age_s=age_s, project_id=project_id, limit=batch)

        while went := store.transact(one):
            total += went
    print(f"{total} deleted stack{'' if total == 1 else 's'} purged")


def rekey(configs: Configs) -> None:
    """Encrypt all data again with the first key, in several transactions.

    Raises WrongSetting if none of the keys can decrypt the stored data.
    """
    with opened(configs) as store:
        try:
            for table, count in seal_anew(store):
                print(f"{table}: {count} encrypted again")
        except Unsealable as problem:
            raise WrongSetting(
                f"auth_encryption_key: the stored data cannot be decrypted: {problem}"
            ) from None
    print("all values use the first key of auth_encryption_key; you can remove the others")


def service_list(configs: Configs) -> None:
    """Print the table of registered engines, oldest first."""
    with opened(configs) as store:
        rows = store.transact(engines, write=False)
    head = ("Hostname", "Binary", "Engine_Id", "Host", "Topic", "Status", "Updated At")
    _table(head, map(_service, rows))


def drain(configs: Configs, host: str, undo: bool, wait_s: float) -> None:
    """Make the engines of a host release their stacks; with `undo` let them take stacks again.

    Wait up to `wait_s` seconds until these engines own no stack. Raises WrongSetting if no engine
    runs on the host.
    """
    with opened(configs) as store:
        number = store.transact(lambda tx: drain_engines(tx, host, draining=not undo))
        if not number:
            hosts = sorted(
                {engine.host for engine in store.transact(engines, write=False) if engine.up}
            )
            raise WrongSetting(f"no engine runs on {host}{hint(nearest(host, hosts))}")
        print(f"{number} engine{'' if number == 1 else 's'} on {host}: ", end="")
        if undo:
            print("takes stacks again" if number == 1 else "take stacks again")
            return
        print("draining", flush=True)
        ends = time.monotonic() + wait_s
        while count := store.transact(lambda tx: held_on(tx, host), write=False):
            if time.monotonic() >= ends:
                print(f"{count} stack{'' if count == 1 else 's'} not released yet")
                return
            time.sleep(0.2)
    print("all stacks released; the engines can be stopped")


def service_clean(configs: Configs) -> None:
    """Remove those engines whose lease has expired and that own no stack; print how many."""
    with opened(configs) as store:
        went, remaining = store.transact(clean)
    suffix = (
        f"; {remaining} kept until other engines have taken over their stacks" if remaining else ""
    )
    print(f"{went} dead engine{'' if went == 1 else 's'} removed{suffix}")


def resource_data_list(configs: Configs, resource_id: str) -> None:
    """Print the private data of the resource whose record or object has this id.

    Raises WrongSetting if there is no such resource.
    """

    def look(tx: Tx) -> dict[str, str] | None:
        matching = sa.or_(resource.c.id == resource_id, resource.c.physical_id == resource_id)
        record_id = tx.value(sa.select(resource.c.id).where(matching))
        return None if record_id is None else reads.data_of(tx, record_id)[1]

    with opened(configs) as store:
        data = store.transact(look, write=False)
    if data is None:
        raise WrongSetting(f"there is no resource {resource_id}")
    _table(("name", "value"), sorted((name, str(value)) for name, value in data.items()))


def reset_stack_status(configs: Configs, stack_id: str) -> None:
    """Print the state of a stack, which engine owns it, and the reason why no reset is needed.

    `stack_id` may also be a name. Raises WrongSetting if there is no such stack.
    """
    with opened(configs) as store:
        row = store.transact(lambda tx: reads.find_stack(tx, None, stack_id), write=False)
        if row is None:
            raise WrongSetting(f"there is no stack {stack_id}")
        alive = {engine.id: engine for engine in store.transact(engines, write=False)}
    print(escaped(f"stack {row.name} ({row.id}): {row.state}, {row.reason}"))
    print(_ownership(row, alive.get(row.owner or "")))
    print(
        "not needed. The database holds the state. If the engine of a stack dies, another engine "
        "continues the operation within seconds; every operation has a deadline; "
        "`openstack stack cancel` and `openstack stack delete` work at any time."
    )


def _ownership(row: StackRow, engine: EngineRow | None) -> str:
    """Return a sentence about the engine that owns a stack; `engine` is None if it is not
    registered.
    """
    if row.owner is None:
        due = "nothing to do" if row.due_at is None else f"due {_moment(row.due_at)}"
        return f"not held by an engine: {due}"
    if engine is None:
        return f"held by engine {row.owner}, which is unknown"
    return f"held by engine {engine.id} on {engine.host} ({'up' if engine.up else 'down'})"


@contextlib.contextmanager
def opened(configs: Configs, *, current: bool = True) -> Iterator[Store]:
    """Open the database that the configuration names, and close it at the end of the block.

    If `current` is true, the schema must be that of this release. Raises WrongSetting.
    """
    conf = read(configs).conf
    required = {
        "[database] connection": conf.database.connection,
        "auth_encryption_key": conf.auth_encryption_key,
    }
    if unset := [name for name, value in required.items() if not value]:
        raise WrongSetting(f"required settings are not set: {', '.join(unset)}")
    keys = keys_in(conf.auth_encryption_key)
    try:
        store = Store(conf.database.connection, sealer_of(keys))
    except (ArgumentError, ModuleNotFoundError) as problem:
        raise WrongSetting(f"[database] connection: {problem}") from None
    try:
        if current and (_version(store) is None or not migrate.is_usable(store)):
            message = f"the database is not at schema {migrate.head()}: run `hearth manage db-sync`"
            raise WrongSetting(message)
        if current:
            unlock(store, keys)
        yield store
    except (WrongKey, migrate.TooNew) as problem:
        raise WrongSetting(str(problem)) from None
    except SQLAlchemyError as problem:
        message = str(problem).partition("\n")[0]
        raise WrongSetting(f"the database cannot be used: {message}") from None
    finally:
        store.close()


def _version(store: Store) -> str | None:
    """Return the version of the schema, or None if the database has none."""
    try:
        return migrate.version(store)
    except DBAPIError as problem:
        if problem.connection_invalidated or _unreachable(store):
            raise
        return None


def _unreachable(store: Store) -> bool:
    try:
        store.sync_engine.connect().close()
    except DBAPIError:
        return True
    return False


def _service(engine: EngineRow) -> tuple[str, ...]:
    status = "up" if engine.up else "down"
    return (
        engine.host,
        "hearth-engine",
        engine.id,
        engine.host,
        "engine",
        status,
        _moment(engine.beat_at),
    )


def _moment(seconds: float) -> str:
    """Return a time as text: UTC, or for a time in the future the seconds until then."""
    if seconds <= time.time():
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"in {seconds - time.time():.0f} s"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(escaped("  ".join(cells).rstrip(), lines=True))
