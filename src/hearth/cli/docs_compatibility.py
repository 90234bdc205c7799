"""The page "Compatibility with Heat": its text, with tables generated from the registries."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from hearth.api.cfn.actions import ACTIONS
from hearth.api.openapi import operation_id
from hearth.api.v1.routes import ROUTES
from hearth.authoring.language.history import CFN, HOT, presence, words_of_functions
from hearth.authoring.language.markdown import code, codes, table
from hearth.cli.docs_options import default_of
from hearth.config.options import OPTIONS
from hearth.resources.index import REVIVED
from hearth.resources.known import INSTEAD, KNOWN, RETIRED, advice
from hearth.resources.reference import page_of
from hearth.resources.registry import builtin_types
from hearth.template.versions import GRAMMARS, Grammar

TEXT = Path(__file__).with_name("compatibility.md")


def page() -> str:
    """Return the page as Markdown, with its tables filled in."""
    sections: Mapping[str, Callable[[], str]] = {
        "summary": _summary,
        "types": _types,
        "supported": _supported,
        "placeholders": _placeholders,
        "versions": _versions,
        "functions": _functions,
        "apis": _apis,
        "beyond": _beyond,
        "actions": lambda: codes(sorted(ACTIONS)),
        "defaults": _defaults,
    }
    text = TEXT.read_text(encoding="utf-8")
    for name, make in sections.items():
        text = text.replace(f"{{{{ {name} }}}}", make())
    return text


def _summary() -> str:
    of_heat = [endpoint for endpoint in ROUTES if not endpoint.beyond_heat]
    available = len(_available())
    functions = len(words_of_functions())
    return "\n".join(
        f"| {part} | {state} |"
        for part, state in (
            ("Orchestration API v1", f"all {len(of_heat)} operations"),
            ("CloudFormation-style API", f"{len(ACTIONS)} actions"),
            (
                "Resource types",
                f"{available} of {len(KNOWN)} supported, {len(RETIRED)} placeholders",
            ),
            ("Template versions", f"all {len(GRAMMARS)}, HOT and CFN"),
            ("Template functions", f"all {functions}"),
        )
    )


def _available() -> list[str]:
    """Return the names of those resource types of Heat that Hearth has, sorted."""
    return sorted(KNOWN & set(builtin_types()))


def _types() -> str:
    rows = [
        ["supported", str(len(_available())), "creates, updates and deletes the cloud's object"],
        ["placeholder", str(len(RETIRED)), "accepted as in Heat, creates nothing"],
    ]
    return table(["state", "types", "meaning"], rows)


def _by_service(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (prefix, names) for each service, for example ("OS::Nova", ["Server", …])."""
    for service, members in groupby(sorted(names), key=lambda name: name.split("::")[:2]):
        prefix = "::".join(service)
        yield prefix, [name.removeprefix(f"{prefix}::") for name in members]


def _supported() -> str:
    rows = [
        [f"[{service}](types/{page_of(f'{service}::x')}.md)", str(len(names)), codes(names)]
        for service, names in _by_service(_available())
    ]
    return table(["service", "types", "names"], rows)


def _advice(name: str) -> str:
    """Return what to use instead of a type, as Markdown; empty if there is nothing."""
    if name in INSTEAD:
        return code(INSTEAD[name]) if INSTEAD[name] in builtin_types() else ""
    return advice(name)


def _placeholders() -> str:
    rows = []
    for service, names in _by_service(RETIRED):
        by_advice: dict[tuple[str, str], list[str]] = {}
        for name in names:
            full = f"{service}::{name}"
            works = "works" if full in REVIVED else ""
            by_advice.setdefault((works, _advice(full)), []).append(name)
        rows += [
            [code(service), codes(type_names), *advice] for advice, type_names in by_advice.items()
        ]
    return table(["service", "types", "with revive_retired_types", "instead"], rows)


def _versions() -> str:
    rows = [
        [code(grammar.key), code(grammar.value), codes(grammar.aliases)] for grammar in (*HOT, *CFN)
    ]
    return table(["version key", "value", "or"], rows)


def _functions() -> str:
    """Return the table of template functions and the versions that allow each of them.

    A version counts even if it allows the function only in conditions.
    """
    rows = []
    for word in words_of_functions():
        hot = presence(lambda g, word=word: _has(g, word))  # type: ignore[misc]
        rows.append([code(word), hot, ", ".join(code(g.key) for g in CFN if _has(g, word))])
    return table(["function", "HOT", "CFN"], rows)


def _has(grammar: Grammar, word: str) -> bool:
    return bool(grammar.functions.get(word)) or word in grammar.condition_functions


def _apis() -> str:
    of_heat = [endpoint for endpoint in ROUTES if not endpoint.beyond_heat]
    rows = [
        f"| Orchestration API v1 | all {len(of_heat)} operations, see [API](api.md) |",
        f"| CloudFormation-style API | {len(ACTIONS)} actions, "
        "see [The CloudFormation-style API](cfn-api.md) |",
    ]
    return "\n".join(rows)


def _beyond() -> str:
    rows = [
        [operation_id(endpoint).replace("_", " "), code(f"{endpoint.method} {endpoint.path}")]
        for endpoint in ROUTES
        if endpoint.beyond_heat
    ]
    return table(["operation", "request"], rows)


def _defaults() -> str:
    rows = [
        [code(option.place), default_of(option) or "none", option.differs]
        for option in OPTIONS
        if option.differs
    ]
    return table(["setting", "default", "why"], rows)
