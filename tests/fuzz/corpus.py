"""What was once found, kept as files: `corpus/TARGET/WHAT.json` holds the input of a target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).with_name("corpus")


def kept() -> list[Path]:
    """All files, target by target."""
    return sorted(CORPUS.glob("*/*.json"))


def read(path: Path) -> tuple[str, Any]:
    """The name of the target and the input."""
    return path.parent.name, json.loads(path.read_text(encoding="ascii"))


def keep(folder: Path, target: str, name: str, value: Any) -> Path:
    """Write an input down; what cannot be text in a file is escaped."""
    path = folder / target / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="ascii")
    return path
