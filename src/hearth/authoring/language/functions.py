"""The sections of the language reference that describe functions."""

from __future__ import annotations

from collections.abc import Iterator

from hearth.authoring.language.examples import Example, Words, written
from hearth.authoring.language.history import (
    CFN,
    HOT,
    WITHOUT_ELSE,
    in_cfn,
    presence,
    runs,
    variant,
    variants,
    words_of_functions,
)
from hearth.authoring.language.markdown import code
from hearth.template.function import REGISTRY, Function, Reads
from hearth.template.load import load
from hearth.template.signature import spoken
from hearth.template.versions import Grammar, function_text

KNOWN_WHEN = {
    Reads.NOTHING: "as soon as its arguments are known",
    Reads.PARAMETERS: "with the parameters, before anything is created",
    Reads.WORLD: "when the resource that it reads exists",
}


def hot_functions() -> str:
    """Return the sections about the functions of HOT as Markdown."""
    return "\n\n".join(_section(word) for word in words_of_functions() if not in_cfn(word))


def cfn_functions() -> str:
    """Return the sections about the functions of the CFN formats as Markdown."""
    return "\n\n".join(_section(word) for word in words_of_functions() if in_cfn(word))


def _section(word: str) -> str:
    words = written().get(word)
    parts = [f"### {word}", function_text(word)]
    if words is None:  # of an installed package
        return "\n\n".join([*parts, "\n".join(_facts(word, None))])
    parts.append(f"Form: {code(f'{word}: {words.form}')}")
    parts.append("\n".join(_facts(word, words)))
    if words.text:
        parts.append(words.text)
    if words.errors:
        parts.append("Errors: " + "; ".join(words.errors) + ".")
    if words.notes:
        parts.append("\n".join(f"- {note}" for note in words.notes))
    parts += [example.shown for example in words.examples]
    return "\n\n".join(parts)


def _facts(word: str, words: Words | None) -> Iterator[str]:
    """Yield the versions, the arguments and the result of a function, from its declaration."""
    for name, there in (("", _outside), ("In conditions: ", _inside)):
        found = _versions(word, there)
        if found:
            yield f"- {name}{found}"
    if words is not None:
        for run in runs(lambda grammar: variant(grammar, word)):
            types = words.variants.get(run.value)
            if types:
                yield f"- {run.words[:1].upper()}{run.words[1:]}: {types}"
    function = _function(word)
    if function is None:
        return
    if function.takes is not None:
        types = getattr(function.takes, "form", None)
        if types is not None:
            yield f"- Types of the arguments: {code(types)}"
    fixed = () if callable(function.gives) else function.kinds(None)
    kinds = {*fixed, *(kind for args in _arguments(words) for kind in function.kinds(args))}
    if kinds:
        yield f"- Type of the result: {spoken(frozenset(kinds))}"
    yield f"- The result is known {KNOWN_WHEN[function.reads]}"


def _outside(grammar: Grammar, word: str) -> bool:
    return bool(grammar.functions.get(word))


def _inside(grammar: Grammar, word: str) -> bool:
    return word in grammar.condition_functions


def _versions(word: str, there: object) -> str:
    """Return the versions that have a function, such as `HOT since 2016-10-14`; empty if none has
    it. `there(grammar, word)` returns whether a version has it.
    """
    assert callable(there)
    found = []
    hot = presence(lambda grammar: there(grammar, word))
    if hot:
        found.append(f"HOT {hot}" if hot != "all versions" else "All versions of HOT")
    found += [f"{one.key} {one.value}" for one in CFN if there(one, word)]
    return "; ".join(found)


def _function(word: str) -> Function | None:
    """Return the newest variant of a function; None for `if`, which is not a registered
    function.
    """
    names = [one for one in variants(word) if one in REGISTRY]
    if names:
        return REGISTRY[names[-1]]
    if WITHOUT_ELSE in variants(word) or "if" in variants(word):
        return None
    return REGISTRY[next(g.condition_functions[word] for g in (*HOT, *CFN) if _inside(g, word))]


def _arguments(words: Words | None) -> Iterator[object]:
    """Yield examples of arguments, because the type of a function's result may depend on them."""
    for example in words.examples if words is not None else ():
        if example.is_expression:
            yield from _args(example)


def _args(example: Example) -> Iterator[object]:
    yield from load(example.source).plain().values()
