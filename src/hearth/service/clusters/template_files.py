"""The template files for the stacks of clusters, loaded once in each process."""

from functools import cache
from pathlib import Path

import hearth
from hearth.clusters.bundle import Bundle, bundle

PACKAGE = Path(hearth.__file__).parent
TEMPLATES = PACKAGE / "clusters" / "templates"
AGENT = PACKAGE / "agent" / "agent.py"
BOOT = "scripts/boot.sh"
_AGENT_GOES_HERE = "@AGENT@\n"


@cache
def template_files() -> Bundle:
    """Return the template files; their names contain a hash of their content."""
    return bundle(template_texts())


def template_texts() -> dict[str, str]:
    """Return the texts of the template files by path; the boot script contains the agent."""
    texts = {
        path.relative_to(TEMPLATES).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(TEMPLATES.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    texts[BOOT] = texts[BOOT].replace(_AGENT_GOES_HERE, AGENT.read_text(encoding="utf-8"))
    return texts
