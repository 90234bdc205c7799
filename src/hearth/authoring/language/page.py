"""The page of the language reference: its text, with tables, functions and examples inserted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from hearth.authoring.language import tables
from hearth.authoring.language.examples import chapters
from hearth.authoring.language.functions import cfn_functions, hot_functions

WORDS = Path(__file__).with_name("page.md")
PLACE = re.compile(r"\{\{ (\w+)(?: ([\w-]+))? \}\}")

MADE: Mapping[str, Callable[[], str]] = {
    "hot_functions": hot_functions,
    "cfn_functions": cfn_functions,
    **{
        table.__name__: table
        for table in (
            tables.versions,
            tables.cfn_versions,
            tables.sections,
            tables.resource_keys,
            tables.output_keys,
            tables.deletion_policies,
            tables.parameter_types,
            tables.parameter_samples,
            tables.property_samples,
            tables.parameter_keys,
            tables.constraints,
            tables.pseudo_parameters,
            tables.environment_sections,
            tables.hooks,
            tables.restricted_actions,
            tables.limits,
            tables.rules,
        )
    },
}


def page() -> str:
    """Return the page as Markdown."""
    source = WORDS.read_text(encoding="utf-8")
    body = PLACE.sub(_put, source)
    return body.replace("{{contents}}", _contents(body))


def _put(match: re.Match[str]) -> str:
    name, argument = match.groups()
    if name == "examples":
        return "\n\n".join(example.shown for example in chapters()[argument])
    return MADE[name]()


def _contents(body: str) -> str:
    """Return the table of contents: the chapters and the functions."""
    by_chapter: dict[str, list[str]] = {}
    for level, title in re.findall(r"^(##|###) (.+)$", re.sub(r"(?s)```.*?```", "", body), re.M):
        link = f"[{title}](#{_anchor(title)})"
        if level == "##":
            chapter = by_chapter.setdefault(link, [])
        else:
            chapter.append(link)
    return "\n".join(
        f"- {link}: {', '.join(inner)}" if inner else f"- {link}"
        for link, inner in by_chapter.items()
    )


def _anchor(title: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
