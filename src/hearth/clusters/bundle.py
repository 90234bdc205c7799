"""The files of a cluster's stack, with names that contain a hash of the content.

A stack keeps the files of its last update, and group members outside the current batch still use
those files. A new text under an old name would change these members too. So the name of each file
contains a hash of its text, including the names of other files in it. Source:
docs/spec/clusters.md, section 11.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

ROOT = "kubecluster.yaml"
HASH_DIGITS = 10


class File(Struct, frozen=True):
    """A file with its unique name, its text, and the files whose names occur in the text."""

    name: str
    text: str
    uses: tuple["File", ...]

    def all(self) -> Iterator["File"]:
        """Yield the file and, recursively, all files that it uses; a file may occur more than
        once.
        """
        yield self
        for used in self.uses:
            yield from used.all()


class Bundle(Struct, frozen=True):
    """The template files of cluster stacks; `by_name` uses their names without a hash."""

    by_name: Mapping[str, File]

    @property
    def template(self) -> str:
        """The text of the root template."""
        return self.by_name[ROOT].text

    def files(self, environments: Iterable[str]) -> dict[str, str]:
        """Return {unique name: text} of some environment files, and of all files that these or the
        root template use, directly or indirectly.

        `environments` has the names of the environment files without a hash.
        """
        roots = [*self.by_name[ROOT].uses, *(self.by_name[name] for name in environments)]
        return {file.name: file.text for root in roots for file in root.all()}

    def named(self, environments: Iterable[str]) -> tuple[str, ...]:
        """Return the unique names of environment files; `environments` has their names without a
        hash.
        """
        return tuple(self.by_name[name].name for name in environments)


def bundle(sources: Mapping[str, str]) -> Bundle:
    """Give unique names to files, and replace their names in the texts of YAML files.

    `sources` maps each name to a text. Raises ValueError if files refer to each other in a cycle.
    """
    longest_first = sorted(sources, key=len, reverse=True)
    names = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w/-])")
    done: dict[str, File] = {}

    def add(name: str, above: tuple[str, ...]) -> File:
        if name in above:
            cycle = " -> ".join((*above, name))
            raise ValueError(f"these files refer to each other in a cycle: {cycle}")
        if name not in done:
            used: dict[str, File] = {}

            def replaced(match: re.Match[str]) -> str:
                file_name = match.group()
                used[file_name] = add(file_name, (*above, name))
                return used[file_name].name

            text = names.sub(replaced, sources[name]) if name.endswith(".yaml") else sources[name]
            done[name] = File(_unique(name, text), text, tuple(used.values()))
        return done[name]

    return Bundle({name: add(name, ()) for name in sorted(sources)})


def _unique(name: str, text: str) -> str:
    digits = hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{digits}{dot}{ending}"
