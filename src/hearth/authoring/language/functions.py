"""The sections of the language reference that describe functions."""

from __future__ import annotations

from collections.abc import Iterator

from hearth.authoring.language.examples import Example, FunctionTexts, written
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
    texts = written().get(word)
    parts = [f"### {word}", function_text(word)]
    if texts is None:  # of an installed package
        return "\n\n".join([*parts, "\n".join(_facts(word, None))])
    parts.append(f"Form: {code(f'{word}: {texts.form}')}")
    parts.append("\n".join(_facts(word, texts)))
    if texts.text:
        parts.append(texts.text)
    if texts.errors:
        parts.append("Errors: " + "; ".join(texts.errors) + ".")
    if texts.notes:
        parts.append("\n".join(f"- {note}" for note in texts.notes))
    parts += [example.shown for example in texts.examples]
    return "\n\n".join(parts)


def _facts(word: str, texts: FunctionTexts | None) -> Iterator[str]:
    """Yield the versions, the arguments and the result of a function, from its declaration."""
    for name, has_word in (("", _outside), ("In conditions: ", _inside)):
        versions = _versions(word, has_word)
        if versions:
            yield f"- {name}{versions}"
    if texts is not None:
        for run in runs(lambda grammar: variant(grammar, word)):
            types = texts.variants.get(run.value)
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
    kinds = {*fixed, *(kind for args in _arguments(texts) for kind in function.kinds(args))}
    if kinds:
        yield f"- Type of the result: {spoken(frozenset(kinds))}"
    yield f"- The result is known {KNOWN_WHEN[function.reads]}"


def _outside(grammar: Grammar, word: str) -> bool:
    return bool(grammar.functions.get(word))


def _inside(grammar: Grammar, word: str) -> bool:
    return word in grammar.condition_functions


def _versions(word: str, has_word: object) -> str:
    """Return the versions that have a function, such as `HOT since 2016-10-14`; empty if none has
    it. `there(grammar, word)` returns whether a version has it.
    """
    assert callable(has_word)
    texts = []
    hot = presence(lambda grammar: has_word(grammar, word))
    if hot:
        texts.append(f"HOT {hot}" if hot != "all versions" else "All versions of HOT")
    texts += [f"{grammar.key} {grammar.value}" for grammar in CFN if has_word(grammar, word)]
    return "; ".join(texts)


def _function(word: str) -> Function | None:
    """Return the newest variant of a function; None for `if`, which is not a registered
    function.
    """
    names = [name for name in variants(word) if name in REGISTRY]
    if names:
        return REGISTRY[names[-1]]
    if WITHOUT_ELSE in variants(word) or "if" in variants(word):
        return None
    return REGISTRY[next(g.condition_functions[word] for g in (*HOT, *CFN) if _inside(g, word))]


def _arguments(texts: FunctionTexts | None) -> Iterator[object]:
    """Yield examples of arguments, because the type of a function's result may depend on them."""
    for example in texts.examples if texts is not None else ():
        if example.is_expression:
            yield from _args(example)


def _args(example: Example) -> Iterator[object]:
    yield from load(example.source).plain().values()
