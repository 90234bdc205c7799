"""The log of a server, as the configuration says."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.config.wrong import WrongSetting
from hearth.process.logs import LIBRARIES, levels, open_log
from tests.config.test_configuration import written


@pytest.fixture(autouse=True)
def log_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("HEARTH_LOG", raising=False)
    root = logging.getLogger()
    handlers = list(root.handlers)
    before = {name: logging.getLogger(name).level for name in (*LIBRARIES, "a.b")}
    level = root.level
    yield
    for one in root.handlers:
        if one not in handlers:
            one.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, old in before.items():
        logging.getLogger(name).setLevel(old)


def test_a_file_that_was_moved_away_is_made_anew(tmp_path: Path):
    told = written(tmp_path, DEFAULT={"log_dir": str(tmp_path), "log_file": "hearth.log"})
    open_log(told.conf)
    path = tmp_path / "hearth.log"
    logging.getLogger("hearth").info("one")
    path.rename(tmp_path / "old.log")
    logging.getLogger("hearth").info("two")
    assert path.read_text().endswith(" INFO hearth: two\n")
    assert (tmp_path / "old.log").read_text().endswith(" INFO hearth: one\n")


def test_lines_may_be_json(tmp_path: Path):
    path = tmp_path / "hearth.log"
    open_log(written(tmp_path, DEFAULT={"log_file": str(path), "use_json": "true"}).conf)
    try:
        raise ValueError("x")
    except ValueError:
        logging.getLogger("hearth").exception("it\nfailed %s", "so")
    (line,) = path.read_text().splitlines()
    found = json.loads(line)
    assert (found["level"], found["message"]) == ("ERROR", "it\nfailed so")
    assert "ValueError: x" in found["traceback"]


@pytest.mark.parametrize(("debug", "level"), [("true", "DEBUG"), ("false", "INFO")])
def test_how_much_is_told(tmp_path: Path, debug: str, level: str, monkeypatch: pytest.MonkeyPatch):
    told = written(
        tmp_path, DEFAULT={"debug": debug, "default_log_levels": "a.b=WARN, uvicorn=INFO"}
    )
    levels(told.conf)
    assert logging.getLevelName(logging.getLogger().level) == level
    assert logging.getLogger("a.b").level == logging.WARNING
    assert logging.getLogger("uvicorn").level == logging.INFO
    assert logging.getLogger("sqlalchemy").level == logging.WARNING
    monkeypatch.setenv("HEARTH_LOG", "error")
    levels(told.conf)
    assert logging.getLogger().level == logging.ERROR


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(WrongSetting, match="log_file: /nowhere/x"):
        open_log(written(tmp_path, DEFAULT={"log_file": "/nowhere/x"}).conf)


def test_a_message_is_one_line_without_control_characters(tmp_path: Path):
    path = tmp_path / "hearth.log"
    open_log(written(tmp_path, DEFAULT={"log_file": str(path)}).conf)
    logging.getLogger("hearth").info("stack %s", "a\x1b[2J\n2026 INFO hearth: forged")
    (line,) = path.read_text().splitlines()
    assert line.endswith(r" INFO hearth: stack a\x1b[2J\n2026 INFO hearth: forged")
