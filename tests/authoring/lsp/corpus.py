"""The language server with every template that others wrote, and with broken ones.

    python -m tests.authoring.lsp.corpus [--count N] [--seed N] [--only NUMBER]

Each text is opened and checked; hover and completion are asked for at a few places, and its symbols
once. Each of these must be answered without an error, within LIMIT_S seconds of processor time.
Prints the slowest answer of each kind, and what went wrong; the exit status is 1 if anything did.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from hearth.authoring.lsp.files import ENDINGS
from hearth.authoring.lsp.serve import COLLECT_AFTER
from tests.authoring.lsp.in_process import InProcess
from tests.authoring.lsp.mutations import MUTATIONS
from tests.templates.corpus import FOLDER

TEMPLATES = FOLDER.parent
LIMIT_S = 1.0
"""The processor time of an answer; what exceeds it is asked once more, for the machine is shared.
"""

ENDLESS_S = 60
SHOWN = 300
"""Characters of an error that are printed; --only prints all."""

COUNT = 1000
PLACES = 3


class Endless(BaseException):
    """An answer takes too long. Nothing under test catches this."""


@dataclass
class Case:
    """A text in the place of a template; `number` is that of its mutation, -1 without one."""

    file: Path
    number: int = -1
    seed: int = 0

    def __str__(self) -> str:
        name = str(self.file.relative_to(TEMPLATES))
        return name if self.number < 0 else f"{name} --seed {self.seed} --only {self.number}"

    def content(self) -> tuple[bytes, str, list[int]]:
        """Return the bytes of the file, the text in the editor, and the offsets to ask at."""
        luck = random.Random(f"{self.seed} {self.number}")
        source: str | bytes = self.file.read_text(encoding="utf-8")
        at = 0
        if self.number >= 0:
            mutate = list(MUTATIONS.values())[self.number % len(MUTATIONS)]
            source, at = mutate(str(source), luck)
        if isinstance(source, bytes):  # editors replace bad bytes, or keep them as surrogates
            data = source
            text = data.decode(errors=luck.choice(["replace", "surrogateescape"]))
        else:
            data, text = source.encode(errors="surrogatepass"), source
        places = [at, *(luck.randrange(len(text) + 1) for _ in range(PLACES - 1))]
        return data, text, [min(one, len(text)) for one in places]


def cases(count: int = COUNT, seed: int = 0) -> list[Case]:
    """Return every template, and so many mutations of them."""
    files = sorted(path for path in TEMPLATES.rglob("*") if path.name.endswith(ENDINGS))
    luck = random.Random(seed)
    return [
        *map(Case, files),
        *(Case(luck.choice(files), number, seed) for number in range(count)),
    ]


@dataclass
class Tried:
    """What came of all cases: times of each kind of request with the case, and what went wrong."""

    spent: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def tried(asked: Iterable[Case]) -> Tried:
    """Try each case in a copy of the folder."""
    found = Tried()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "templates"
        shutil.copytree(TEMPLATES, folder)
        for case in asked:
            editor = attempt(case, folder)
            if any(seconds > LIMIT_S for _, seconds in editor.spent):
                editor = attempt(case, folder)
            for name, seconds in editor.spent:
                found.spent.setdefault(name, []).append((seconds, str(case)))
                if seconds > LIMIT_S:
                    editor.wrong.append(f"{name} took {seconds:.2f} s")
            found.wrong += [f"{case}: {what}" for what in editor.wrong]
    return found


def attempt(case: Case, folder: Path) -> InProcess:
    """Ask a server about a case. The file is changed in `folder` for that time."""
    data, text, places = case.content()
    path = folder / case.file.relative_to(TEMPLATES)
    before = path.read_bytes()
    editor = InProcess(folder)
    signal.signal(signal.SIGVTALRM, _endless)
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS_S)
    try:
        path.write_bytes(data)
        asyncio.run(_story(editor, path, text, places))
    except (Exception, Endless) as problem:
        editor.wrong.append(repr(problem))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        path.write_bytes(before)
    return editor


async def _story(editor: InProcess, path: Path, text: str, places: Sequence[int]) -> None:
    await editor.open(path, text)
    for offset in places:
        editor.at("hover", path, text, offset)
        editor.at("completion", path, text, offset)
    editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
    editor.close(path)
    user = path.with_name("uses-it.yaml")  # what uses the broken file reads it from the disk
    template = f"heat_template_version: 2018-08-31\nresources:\n  a:\n    type: {path.name}\n"
    await editor.open(user, template)
    editor.at("hover", user, template, len(template) - 2)


def _endless(number: int, frame: FrameType | None) -> None:
    raise Endless(f"more than {ENDLESS_S} s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Try all cases; 1 if anything is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT, help="of mutations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one mutation")
    given = parser.parse_args(arguments)
    if not TEMPLATES.is_dir():
        print(f"the templates of others are missing: {TEMPLATES}")
        return 1
    logging.basicConfig(level=logging.CRITICAL)  # pygls logs what it also answers
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    asked = cases(max(given.count, (given.only or 0) + 1), given.seed)
    if given.only is not None:
        asked = [one for one in asked if one.number == given.only]
    begun = time.monotonic()
    found = tried(asked)
    whole = sum(one.number < 0 for one in asked)
    print(
        f"{whole} templates and {len(asked) - whole} mutations in {time.monotonic() - begun:.0f} s"
    )
    for name, spent in found.spent.items():
        print(f"{name:16} {len(spent):6} slowest {max(spent)[0]:.3f} s: {max(spent)[1]}")
    print(*(one if given.only is not None else one[:SHOWN] for one in found.wrong), sep="\n")
    print(f"{len(found.wrong)} wrong")
    return int(bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main())
