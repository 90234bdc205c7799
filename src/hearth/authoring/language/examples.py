"""The examples of the language reference: their source, their result, and their form on the page.

`Example.vector` is the request of an example in the format of the language vectors, so that tests
can run it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hearth.authoring.language.history import in_cfn
from hearth.authoring.language.markdown import as_json, block, table
from hearth.template import load
from hearth.template.versions import GRAMMARS, Grammar

HERE = Path(__file__).parent
FUNCTIONS, CHAPTERS = HERE / "functions.yaml", HERE / "chapters.yaml"
NEWEST, NEWEST_CFN = "2021-04-16", "2010-09-09"
RESULT = "result"
"""The name of the output that an example consisting of an expression gets."""

REQUEST = ("parameters", "files", "environment", "environment_files")


class Outcome(StrEnum):
    """The kinds of results of an example; the values are the keys in the YAML files."""

    GIVES = "gives"  # the value of the output
    FAILS = "fails"  # the output has an error instead, or the creation ends with it
    REFUSED = "refused"  # no stack is made
    MERGED = "merged"  # the sections of an environment
    LOOKUPS = "lookups"  # the resolved types and the matching entries


class Example(Struct, frozen=True):
    """An example with its result.

    `topic` is the name of the function or chapter, and `about` the text above the example. `source`
    is either an expression, or the sections of a template without the version. `request` contains
    the other parts of the request, such as parameters and files.
    """

    topic: str
    about: str
    grammar: Grammar
    source: str
    outcome: Outcome
    expected: Any
    request: Mapping[str, Any] = field(default_factory=dict)

    @property
    def template(self) -> str:
        """The complete template of the example."""
        version = f'{self.grammar.key}: "{self.grammar.value}"\n'
        if not self.is_expression:
            return version + self.source
        outputs, value = self.grammar.word("outputs"), self.grammar.word("value")
        expression = textwrap.indent(self.source, " " * 6)
        return f"{version}{outputs}:\n  {RESULT}:\n    {value}:\n{expression}"

    @property
    def is_expression(self) -> bool:
        """Whether the source is a single expression."""
        return bool(self.source) and load(self.source).value.keys().isdisjoint(
            self.grammar.sections
        )

    @property
    def vector(self) -> dict[str, Any]:
        """The request of the example, in the format of the language vectors."""
        mode = {Outcome.MERGED: "environment", Outcome.LOOKUPS: "registry"}.get(self.outcome)
        request = {"mode": mode or "stack", "template": self.template, **self.request}
        if self.outcome is Outcome.LOOKUPS:
            request["lookups"] = [lookup["of"] for lookup in self.expected]
        return request

    @property
    def shown(self) -> str:
        """The example in the form in which the page shows it.

        It is one block with files, environment, template and result.
        """
        parts = [*self._files()]
        template = [*self._version(), self.source.rstrip()] if self.source else []
        if template and parts:
            template.insert(0, "# the template")
        parameters = self.request.get("parameters", {})
        template += [f"# given: {name} = {as_json(value)}" for name, value in parameters.items()]
        lookup_table = ""
        if self.outcome is Outcome.MERGED:
            parts += ["\n".join(template)] * bool(template)
            parts.append("\n".join(["# gives", *_yaml(self.expected)]))
        elif self.outcome is Outcome.LOOKUPS:
            rows = (
                [_lookup_text(lookup["of"]), _answer_text(lookup["is"])] for lookup in self.expected
            )
            lookup_table = table(["asked", "found"], rows)
        elif template:
            parts.append("\n".join([*template, *self._comment()]))
        else:
            parts[-1] = "\n".join([parts[-1], *self._comment()])
        return "\n\n".join(filter(None, [self.about, block("\n\n".join(parts)), lookup_table]))

    def _version(self) -> Iterator[str]:
        if self.grammar.value != (NEWEST if self.grammar.hot else NEWEST_CFN):
            yield f"# {self.grammar.key}: {self.grammar.value}"

    def _files(self) -> Iterator[str]:
        """Yield the environment and the files of the request, in the form in which the page shows
        them.
        """
        inline = self.request.get("environment")
        if inline:
            yield f"# the environment\n{inline.rstrip()}"
        for name, text in self.request.get("files", {}).items():
            yield f"# {name}\n{text.rstrip()}"

    def _comment(self) -> Iterator[str]:
        if self.outcome is not Outcome.GIVES:
            yield f"# {self.outcome}: {self.expected}"
            return
        expected = as_json(self.expected)
        yield f"# gives {expected}" if len(expected) < 90 else f"# gives\n#   {expected}"


def _yaml(value: Mapping[str, Any]) -> Iterator[str]:
    """Return sections as YAML, one entry per line."""
    for section, entries in value.items():
        yield f"{section}:"
        if isinstance(entries, Mapping):
            yield from (f"  {as_json(name)}: {as_json(entry)}" for name, entry in entries.items())
        else:
            yield from (f"  - {as_json(entry)}" for entry in entries)


def _lookup_text(lookup: Mapping[str, Any]) -> str:
    name = lookup.get("name")
    if "hook" in lookup:
        return f"`{name}` waits at `{lookup['hook']}`"
    if "restricted" in lookup:
        return f"restricted actions of `{name}`"
    return f"`{lookup['type']}`" + (f", resource `{name}`" if name else "")


def _answer_text(answer: Mapping[str, Any]) -> str:
    match answer:
        case {"matches": matches}:
            return "yes" if matches else "no"
        case {"actions": list(actions)}:
            return ", ".join(actions) or "nothing"
        case {"class_of": type_name}:
            return f"the built-in type `{type_name}`"
        case {"template": file}:
            return f"the template `{file}`"
        case _:
            return "nothing: the type is unknown"


class FunctionTexts(Struct, frozen=True):
    """The texts about a function in the reference."""

    name: str
    form: str
    text: str = ""
    variants: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()


@cache
def written() -> Mapping[str, FunctionTexts]:
    """Return the texts about all functions, by the name of the function."""
    texts = {}
    for name, entry in _read(FUNCTIONS).items():
        version = NEWEST_CFN if in_cfn(name) else NEWEST
        texts[name] = FunctionTexts(
            name=name,
            form=entry["form"],
            text=entry.get("text", "").strip(),
            variants=entry.get("variants", {}),
            errors=tuple(entry.get("errors", ())),
            notes=tuple(entry.get("notes", ())),
            examples=tuple(_example(name, example, version) for example in entry["examples"]),
        )
    return texts


@cache
def chapters() -> Mapping[str, tuple[Example, ...]]:
    """Return the examples of each chapter, by the name of the chapter."""
    return {
        name: tuple(_example(name, entry, NEWEST) for entry in entries)
        for name, entries in _read(CHAPTERS).items()
    }


def examples() -> list[Example]:
    """Return all examples of the reference."""
    of_functions = [example for texts in written().values() for example in texts.examples]
    return [*of_functions, *(example for several in chapters().values() for example in several)]


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = load(path.read_text(encoding="utf-8"), path.name).plain()
    return document


def _example(topic: str, entry: Mapping[str, Any], version: str) -> Example:
    (outcome,) = (candidate for candidate in Outcome if candidate in entry)
    keys = {"about", "version", "write", outcome.value, *REQUEST}
    assert entry.keys() <= keys, f"{topic}: {entry.keys() - keys}"
    value = entry.get("version", version)
    return Example(
        topic=topic,
        about=entry.get("about", "").strip(),
        grammar=next(grammar for grammar in GRAMMARS if grammar.value == value),
        source=entry.get("write", ""),
        outcome=outcome,
        expected=entry[outcome],
        request={key: entry[key] for key in REQUEST if key in entry},
    )
