"""Reads the configuration files and finds settings that are unknown or have no effect."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hearth.config import options
from hearth.config.options.register import register, values
from hearth.config.wrong import WrongSetting
from hearth.model.problem import hint

log = logging.getLogger(__name__)

LOCATION = re.compile(r"LocationInfo\(location=<[^>]*>, detail='(?P<file>[^']*)'\)")
PLACES = (Path("/etc/heat/heat.conf"), Path("/etc/hearth/hearth.conf"))  # the later one wins


class Configuration(Struct, frozen=True):
    """A loaded oslo.config and the files from which it was read.

    `idle` maps each setting without effect to the reason, `unknown` each unknown setting to a
    suggestion or None.
    """

    conf: Any
    files: tuple[str, ...]
    idle: Mapping[str, str]
    unknown: Mapping[str, str | None]

    def values(self) -> dict[str, Any]:
        """Return {setting: value} for all options, including secrets."""
        return {option.place: value for option, value in values(self.conf, options.OPTIONS)}

    def tell(self, before: "Configuration | None" = None) -> None:
        """Log the settings that are unknown or have no effect.

        Those that the configuration `before` had already are not logged again.
        """
        previous = before or replace(self, idle={}, unknown={})
        if idle := sorted(self.idle.keys() - previous.idle.keys()):
            log.warning("these settings have no effect: %s", ", ".join(idle))
        if self.unknown.keys() - previous.unknown.keys():
            texts = [
                text for text in self.unknown_settings() if text not in previous.unknown_settings()
            ]
            log.warning("these settings are unknown: %s", ", ".join(texts))

    def unknown_settings(self) -> list[str]:
        """Return each unknown setting with its suggestion, as text for a message."""
        return [f"{setting}{hint(near)}" for setting, near in sorted(self.unknown.items())]


def read(configs: Sequence[Path]) -> Configuration:
    """Load the given files or, if there are none, the default ones that exist, and then the files
    `*.conf` in those of `configs` that are folders. Raises WrongSetting.
    """
    from oslo_config import cfg

    folders = [path for path in configs if path.is_dir()]
    config_files = [path for path in configs if path not in folders]
    for path in config_files:
        if not path.is_file():
            raise WrongSetting(f"--config {path}: there is no such file")
    folder_files = [path for folder in folders for path in sorted(folder.glob("*.conf"))]
    paths = [*(config_files or [path for path in PLACES if path.is_file()]), *folder_files]
    files = [str(path) for path in paths]
    if not files:
        raise WrongSetting(f"no configuration: use --config FILE or create {PLACES[-1]}")
    conf = cfg.ConfigOpts()
    register(conf, options.OPTIONS)
    try:
        conf([], project="heat", prog="hearth", default_config_files=files)
        for name in conf.ec2authtoken.clouds if conf.ec2authtoken.multi_cloud else ():
            section = f"{options.NESTED}{name}"
            register(conf, options.of_group("ec2authtoken"), section)
            for option in options.of_group("ec2authtoken"):
                conf[section][option.name]
        values(conf, options.OPTIONS)
        idle, unknown = {}, {}
        for group, name in _written(files, conf.config_dirs):
            setting = name if group == "DEFAULT" else f"[{group}] {name}"
            if (reason := options.reason(group, name)) is not None:
                idle[setting] = reason
            elif not options.is_known(group, name):
                unknown[setting] = options.suggestion(group, name)
    except (cfg.Error, ValueError) as problem:
        raise WrongSetting(f"{', '.join(files)}: {_line(problem)}") from None
    return Configuration(conf, tuple(files), idle, unknown)


def _written(files: Sequence[str], folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (section, name) for each setting in the files."""
    from oslo_config import cfg

    folder_files = [str(path) for folder in folders for path in sorted(Path(folder).glob("*.conf"))]
    sections: dict[str, dict[str, Any]] = {}
    for file in (*files, *folder_files):
        cfg.ConfigParser(file, sections).parse()
    for group, names in sections.items():
        yield from ((group, name) for name in names)


def _line(problem: Exception) -> str:
    return " ".join(LOCATION.sub(r"\g<file>", str(problem)).split())
