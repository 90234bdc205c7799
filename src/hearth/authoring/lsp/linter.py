"""`python -m hearth.authoring.lsp.linter`: the linter in a separate process.

A run takes long and keeps the interpreter busy, but the process that responds to the editor must
not wait. This process reads one JSON object per line from its standard input, and writes a line
with the result for each.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from hearth.authoring.lint import lint

NICE = 10
"""The niceness of the process, because responses to the editor have precedence over linter runs."""


def run_linter(question: Mapping[str, Any]) -> dict[str, Any]:
    """Lint the file `path` of the question with its `environments` and the open `texts`.

    Return its `findings`, and in `failed` the reason if it could not be checked, else None.
    """
    path = Path(question["path"])
    texts = {Path(name): text for name, text in question["texts"].items()}
    try:
        environments = [Path(name) for name in question["environments"]]
        findings = lint(path, environments, open_texts=texts)
    except OSError as error:
        return {"findings": [], "failed": str(error)}
    except Exception:
        return {"findings": [], "failed": traceback.format_exc()}
    facts = [
        {**structs.asdict(finding), "file": os.path.abspath(finding.file)} for finding in findings
    ]
    return {"findings": facts, "failed": None}


def main() -> None:
    """Respond to requests on standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints must not come between the answers
    if hasattr(os, "nice"):
        os.nice(NICE)
    for line in sys.stdin.buffer:
        answers.write(json.dumps(run_linter(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
