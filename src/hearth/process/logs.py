"""The log of a process: its target, levels and format."""

import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping
from logging.handlers import WatchedFileHandler
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hearth.config.wrong import WrongSetting
from hearth.model.printable import escaped
from hearth.telemetry.about import about

LIBRARIES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        (
            "aio_pika",
            "aiohttp",
            "aiormq",
            "alembic",
            "asyncio",
            "keystoneauth",
            "urllib3",
            "oslo_policy",
            "sqlalchemy",
            "uvicorn",
            "stevedore",
        ),
        "WARNING",
    )
)
"""The default log levels of libraries, by logger name."""
LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""The format of a log line."""

_configured: set[str] = set()  # loggers that the configuration has set


class AsText(logging.Formatter):
    """Formats each message as one line, with control characters escaped; a traceback follows it."""

    def __init__(self) -> None:
        super().__init__(LINE)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - a method of logging
        return escaped(super().formatMessage(record))


class AsJson(logging.Formatter):
    """Formats each message as a JSON object in one line, with the ids of the request, the stack and
    the resource that the message is about.
    """

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = {
            "time": f"{at}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
            **about().words(),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def open_log(conf: Any) -> None:
    """Set up logging as configured: target, format and levels. Raises WrongSetting."""
    root = logging.getLogger()
    handler: logging.Handler
    if conf.log_file:
        path = Path(conf.log_dir or "", conf.log_file)
        try:
            handler = WatchedFileHandler(path)
        except OSError as problem:
            raise WrongSetting(f"log_file: {path} cannot be written: {problem.strerror}") from None
    else:
        handler = logging.StreamHandler()
    handler.setFormatter(AsJson() if conf.use_json else AsText())
    root.handlers[:] = [handler]
    levels(conf)


def levels(conf: Any) -> None:
    """Set the configured log levels, also after a reload. Raises WrongSetting.

    The environment variable HEARTH_LOG overrides the level of all loggers without a level of their
    own.
    """
    levels = checked_levels(conf)
    for name in _configured - levels.keys():  # back to the default
        logging.getLogger(name).setLevel(logging.NOTSET)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    _configured.update(levels)
    usual = "DEBUG" if conf.debug else "INFO"
    logging.getLogger().setLevel(log_level(usual))


def checked_levels(conf: Any) -> dict[str, str]:
    """Return {logger name: level} of the configuration, including defaults. Raises WrongSetting."""
    levels = {**LIBRARIES, **dict(_pairs(conf.default_log_levels))}
    names = logging.getLevelNamesMapping()
    if unknown := sorted({level for level in levels.values() if level not in names}):
        raise WrongSetting(
            f"default_log_levels: unknown level {', '.join(unknown)}; "
            "expected DEBUG, INFO, WARNING, ERROR or CRITICAL"
        )
    return levels


def _pairs(written: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield (logger name, level) for entries NAME=LEVEL."""
    for entry in written:
        name, _, level = entry.partition("=")
        yield (
            name.strip(),
            level.strip().upper(),
        )


def log_to_stderr(usual: str = "WARNING") -> None:
    """Log to standard error, one line per message, with the level `log_level(usual)`."""
    handler = logging.StreamHandler()
    handler.setFormatter(AsText())
    logging.basicConfig(level=log_level(usual), handlers=[handler])


def log_level(usual: str) -> str:
    """Return the level of the environment variable HEARTH_LOG, or the usual one without it.

    If there is no such level, print an error and return the usual one.
    """
    level = os.environ.get("HEARTH_LOG", "").strip().upper()
    if not level or level in logging.getLevelNamesMapping():
        return level or usual
    message = f"HEARTH_LOG: unknown level {level}; expected DEBUG, INFO, WARNING, ERROR or CRITICAL"
    print(f"hearth: {message}", file=sys.stderr)
    return usual
