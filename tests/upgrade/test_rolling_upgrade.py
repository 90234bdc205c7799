"""A release is replaced by another one, process by process, while users work.

Both run on one database for a while, in both orders: an upgrade, and the way back.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import drop_database, fresh_database, lacking
from tests.crash.processes import Client, Cloud, Hearth
from tests.faults.users import Users
from tests.selection import part_of

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "e780d00169883781c473aa9c99ec9d97be7efa88"
"""The commit of a release that may run beside this one: the first one with this schema."""


class Release(Hearth):
    """`hearth serve` of another commit."""

    def __init__(self, source: Path | None, folder: Path, cloud: Cloud, url: str, role: str):
        super().__init__(folder, cloud, database=url, role=role)
        self._source = source

    def start(self) -> None:
        """Start it and wait until it is ready."""
        if self._source is None:
            super().start()
            return
        config = ["--config", str(self.folder / "hearth.conf")]
        env = {**os.environ, "PYTHONPATH": str(self._source / "src")}
        with self.log.open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "hearth.cli.main", "serve", "--role", self.role, *config],
                env=env, cwd=self._source, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        self.process = process  # type: ignore[assignment]
        self._pid = process.pid
        assert process.stdout is not None
        assert "ready" in process.stdout.readline(), self.said()


def source_of(commit: str, into: Path) -> Path:
    """The files of a commit."""
    into.mkdir()
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "src"], capture_output=True, check=False
    )
    if archive.returncode != 0:
        lacking(f"the commit {commit} (a clone without history?)")
    subprocess.run(["tar", "-x", "-C", str(into)], input=archive.stdout, check=True)
    return into


@contextlib.contextmanager
def at_work(kind: str, folder: Path, first: Path | None, then: Path | None) -> Iterator[Users]:
    """Users work while each process of the first release is replaced by one of the other."""
    with contextlib.ExitStack() as ends:
        url, name = fresh_database(kind)
        ends.callback(drop_database, kind, name)
        cloud = Cloud()
        ends.callback(cloud.close)
        roles = ("api", "engine", "engine")

        def made(source: Path | None, place: str) -> list[Release]:
            found = [
                Release(source, folder / f"{place}{number}", cloud, url, role)
                for number, role in enumerate(roles)
            ]
            for one in found:
                ends.callback(one.kill)
            return found

        former, latter = made(first, "former"), made(then, "latter")
        for one in former:
            one.start()
        cloud.admin("POST", "ledger/mark")
        users = Users(Client(cloud, former[0].url), "early")
        ends.callback(users.client.close)
        late = Users(Client(cloud, latter[0].url), "late")
        ends.callback(late.client.close)
        users.start()
        ends.callback(users.close)
        time.sleep(2)
        for old, new in zip(former[1:], latter[1:], strict=True):  # both at work for a while
            new.start()
            time.sleep(3)
            old.close()
            time.sleep(1)
        latter[0].start()
        late.start()
        ends.callback(late.close)
        time.sleep(3)
        users.close()
        former[0].close()
        time.sleep(2)
        late.close()
        users.lives += late.lives
        users.wrong += late.wrong
        view = cloud.admin("GET", "ledger")
        users.wrong += [
            f"{one['collection']} {one['name']} is left over"
            for one in view["objects"]
            if not one["implicit"] and one["deleted"] is None and one["service"] != "identity"
        ]
        yield users


@pytest.mark.slow
@pytest.mark.parametrize("back", [False, True], ids=["upgrade", "back"])
@pytest.mark.parametrize("kind", part_of(["postgresql", "mariadb"], 2))
def test_users_notice_nothing(tmp_path: Path, kind: str, back: bool) -> None:
    other = source_of(BEFORE, tmp_path / "source")
    first, then = (None, other) if back else (other, None)
    with at_work(kind, tmp_path, first, then) as users:
        assert users.wrong == []
        assert users.lives >= 3
