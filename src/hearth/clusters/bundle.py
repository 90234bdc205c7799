"""The files of a stack, named by their content.

A stack keeps the files of its last update, and members outside the current batch still use the old
ones: a new text under an old name would change them too. So the name of each file contains a hash
of its text and of the files that it names. Source: spec/clusters.md, 11.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

ROOT = "kubecluster.yaml"
HASH_DIGITS = 10


@dataclass(frozen=True)
class File:
    """A file with its unique name, its text, and the files that it names."""

    name: str
    text: str
    uses: tuple["File", ...]

    def all(self) -> Iterator["File"]:
        """Yield the file and all files that it names, directly or through others; some
        repeatedly.
        """
        yield self
        for used in self.uses:
            yield from used.all()


@dataclass(frozen=True)
class Bundle:
    """The files of the template family by their plain names."""

    by_name: Mapping[str, File]

    @property
    def template(self) -> str:
        """The text of the root template."""
        return self.by_name[ROOT].text

    def files(self, environments: Iterable[str]) -> dict[str, str]:
        """Return the texts that the root template and some environment files need, by name."""
        wanted = [*self.by_name[ROOT].uses, *(self.by_name[name] for name in environments)]
        return {file.name: file.text for one in wanted for file in one.all()}

    def named(self, environments: Iterable[str]) -> tuple[str, ...]:
        """Return the unique names of environment files."""
        return tuple(self.by_name[name].name for name in environments)


def bundle(sources: Mapping[str, str]) -> Bundle:
    """Return the bundle of some files, which are given by plain name.

    Raises ValueError if files name each other in a cycle.
    """
    longest_first = sorted(sources, key=len, reverse=True)
    names = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w/-])")
    done: dict[str, File] = {}

    def add(name: str, above: tuple[str, ...]) -> File:
        if name in above:
            raise ValueError(f"{' -> '.join((*above, name))}: these files name each other")
        if name not in done:
            used: dict[str, File] = {}

            def replaced(found: re.Match[str]) -> str:
                other = found.group()
                used[other] = add(other, (*above, name))
                return used[other].name

            text = names.sub(replaced, sources[name]) if name.endswith(".yaml") else sources[name]
            done[name] = File(_unique(name, text), text, tuple(used.values()))
        return done[name]

    return Bundle({name: add(name, ()) for name in sorted(sources)})


def _unique(name: str, text: str) -> str:
    digits = hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{digits}{dot}{ending}"
