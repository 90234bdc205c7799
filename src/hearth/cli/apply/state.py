"""State files: the database of one stack, sealed with a key in the same folder."""

import fcntl
import os
import secrets
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from hearth.cli.apply.api import UserError
from hearth.cli.apply.text_file import text_of
from hearth.model.problem import Rejected
from hearth.process.own_files import create_own, demand_own, open_own

if TYPE_CHECKING:
    from hearth.cli.apply.state_store import StateStore

FOLDER = ".hearth"
KEY = "key"
ENDING = ".db"


class StateFile(Struct):
    """A state file of the stack `name`, and its lock while a command holds it."""

    path: Path
    name: str
    lock_file: TextIO | None = None

    def lock(self) -> None:
        """Keep other commands from changing the stack until this process ends.

        Raises UserError, which names the other command.
        """
        path = self.path.with_suffix(".lock")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock_file = open_own(path)
        except OSError as problem:
            raise UserError([f"{path} cannot be written: {problem.strerror}"]) from None
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock_file.seek(0)
            holder = lock_file.read().strip() or "another command"
            lock_file.close()
            raise UserError([f"{self.path} is in use by {holder}; wait until it ends"]) from None
        lock_file.truncate(0)
        command = f"hearth {' '.join(sys.argv[1:2])}"  # without parameters, which may be secret
        since = time.strftime("%H:%M:%S")
        lock_file.write(f'"{command}" (process {os.getpid()}, since {since})\n')
        lock_file.flush()
        self.lock_file = lock_file

    def release(self) -> None:
        """Let other commands use the stack."""
        if self.lock_file is not None:
            self.lock_file.close()

    def open(self, *, create: bool) -> "StateStore":
        """Open the state; `create` is whether a missing file is created. Raises UserError."""
        if not self.path.exists() and not create:
            raise UserError([f"there is no state file {self.path}; hearth apply creates it"])
        from sqlalchemy.exc import SQLAlchemyError

        from hearth.cli.apply.state_store import StateStore
        from hearth.store.keyring import WrongKey, unlock
        from hearth.store.migrate import TooNew, upgrade
        from hearth.store.seal import sealer_of

        if self.path.exists():
            _demand_database(self.path)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            key = self._key()
            open_own(self.path).close()
            store = StateStore(f"sqlite:///{self.path}", sealer_of([key]))
            upgrade(store)
            unlock(store, [key])
        except TooNew:
            message = f"{self.path} was written by a newer release of Hearth; use that release"
            raise UserError([message]) from None
        except WrongKey:
            message = f"{self.path} is encrypted with another key than {self.path.parent / KEY}"
            raise UserError([message]) from None
        except (SQLAlchemyError, OSError) as problem:
            message = str(getattr(problem, "orig", None) or problem)
            raise UserError([f"{self.path} cannot be used: {message}"]) from None
        return store

    def open_for_plan(self) -> "StateStore":
        """Open the state if there is one, else an empty one in memory. Raises UserError."""
        if self.path.exists():
            return self.open(create=False)
        from hearth.cli.apply.state_store import StateStore
        from hearth.store.migrate import create_for_plans
        from hearth.store.seal import sealer_from_secret

        store = StateStore("sqlite://", sealer_from_secret(secrets.token_hex(16)))
        create_for_plans(store)
        return store

    def _key(self) -> str:
        path = self.path.parent / KEY
        try:
            if not path.exists():
                state_files = {self.path, *path.parent.glob(f"*{ENDING}")}
                if using := [file for file in state_files if file.exists() and file.stat().st_size]:
                    message = f"the key {path}, with which {min(using)} is encrypted, is missing"
                    raise UserError([message, "restore it from a backup"])
                create_own(path, secrets.token_hex(32))
            demand_own(path)
            if path.stat().st_mode & 0o077:
                raise UserError([f"other users can read the key {path}; run chmod 600 {path}"])
            key = text_of(path).strip()
        except OSError as problem:
            raise UserError([f"the key {path} cannot be used: {problem.strerror}"]) from None
        if not key:
            raise UserError([f"the key {path} is empty; restore it from a backup"])
        return key


def _demand_database(path: Path) -> None:
    """Raise UserError unless the file is a whole SQLite database of its own, not a link to one."""
    try:
        demand_own(path)
        with closing(sqlite3.connect(path)) as database:
            (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except OSError as problem:
        raise UserError([f"{path} cannot be used: {problem.strerror}"]) from None
    except sqlite3.Error as problem:
        verdict = str(problem)
    if verdict != "ok":
        message = f"{path} is damaged, or is no state file of Hearth: {verdict}"
        raise UserError([message, "restore it from a backup, or choose another with --state"])


def state_file(name: str | None, path: Path | None) -> StateFile:
    """Return the state file of a stack.

    `name` is the name of the stack and `path` its state file, if they were given. Without both, it
    is the only state file in `.hearth`. Raises UserError, also for a name that no stack may have.
    """
    if path is not None:
        name = name or path.stem
    if name is not None:
        _check_name(name)
    if path is not None:
        return StateFile(path, name or path.stem)
    folder = Path(FOLDER)
    if folder.is_symlink():  # a cloned repository may contain one to any folder of the user
        raise UserError([f"{folder} is a symbolic link; name the state file in it with --state"])
    if name is not None:
        return StateFile(folder / f"{name}{ENDING}", name)
    files = sorted(folder.glob(f"*{ENDING}"))
    if len(files) == 1:
        return StateFile(files[0], files[0].stem)
    names = ", ".join(file.stem for file in files)
    raise UserError(
        [f"which stack? {FOLDER} has {names}" if files else f"there is no state file in {FOLDER}"]
    )


def _check_name(name: str) -> None:
    """Raise UserError for an invalid name, which would also be the path of a state file."""
    from hearth.service.stacks.request import check_name

    try:
        check_name(name)
    except Rejected as rejected:
        messages = [str(problem) for problem in rejected.problems]
        raise UserError([*messages, "choose another with --name"]) from None
