"""The operator's environment files, which are read once at start.

Only their resource registries are used. A template in them may be a path relative to the file or a
`file:` URL; it is read from the disk, which is not allowed in users' environments. Source:
docs/spec/environment.md, section 7.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from hearth.model.problem import Rejected
from hearth.template import Environment
from hearth.template.defaults import DEFAULTS
from hearth.template.environment import TEMPLATE_ENDINGS

log = logging.getLogger(__name__)


def global_environment(folder: Path | None) -> Environment:
    """Return the environment that all stacks inherit: the defaults and the files in `folder`.

    Files that are invalid, and entries whose template cannot be read, are logged and ignored.
    """
    registry: dict[str, Any] = dict(DEFAULTS.resource_registry)
    texts: dict[str, str] = {}
    for file in _files(folder):
        try:
            environment = Environment.parse(file.read_text(encoding="utf-8"), str(file))
        except (OSError, UnicodeDecodeError, Rejected) as problem:
            log.warning("%s is ignored: %s", file, problem)
            continue
        for name, value in environment.resource_registry.items():
            if isinstance(value, str) and value.endswith(TEMPLATE_ENDINGS):
                path = _path(file, value)
                try:
                    texts[str(path)] = path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as problem:
                    log.warning("%s: the entry %s is ignored: %s", file, name, problem)
                    continue
                registry[name] = str(path)
            else:
                registry[name] = value
    return replace(DEFAULTS, resource_registry=registry, texts=texts)


def _files(folder: Path | None) -> Iterator[Path]:
    """Yield the files in the folder sorted by name, because later files override earlier ones."""
    if folder is not None and folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if path.is_file())


def _path(file: Path, value: str) -> Path:
    parts = urlsplit(value)
    return Path(unquote(parts.path)) if parts.scheme == "file" else (file.parent / value).resolve()
