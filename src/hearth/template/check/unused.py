"""Find parameters, conditions, mappings and files that are never used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hearth.model.problem import Notice
from hearth.model.span import Span
from hearth.template.program import Module
from hearth.template.uses import Uses


def unused(module: Module) -> Iterator[Notice]:
    """Yield a notice for each parameter, condition and mapping that a template never uses.

    Parameters of nested templates are not reported, nor are parameters or mappings if the template
    computes the name of one.
    """
    syntax = module.syntax
    grammar = syntax.grammar
    uses = Uses()
    for ours in ("conditions", "resources", "outputs"):
        section = syntax.root.value.get(grammar.word(ours))
        if section is not None:
            uses.add(section)

    def unused(section: str, noun: str, used: set[str]) -> Iterator[Notice]:
        node = syntax.root.value.get(grammar.word(section))
        if node is None or not isinstance(node.value, dict):
            return
        for name, entry in node.value.items():
            if name not in used:
                at = entry.key_span(syntax.file, f"{grammar.word(section)}.{name}")
                yield Notice(at, f'{noun} "{name}" is never used', code=f"unused-{noun}")

    if not uses.computed & {"get_param", "Ref"} and not _stands_in(module):
        yield from unused("parameters", "parameter", uses.parameters)
    yield from unused("conditions", "condition", uses.texts)
    if "Fn::FindInMap" not in uses.computed:
        yield from unused("mappings", "mapping", uses.mappings)


def unused_files(modules: Iterable[Module], files: Iterable[str]) -> Iterator[Notice]:
    """Yield a notice for each of the `files` that no template and no environment names.

    `modules` are the root template and its nested templates. If one of them computes the name of a
    file, nothing is reported.
    """
    uses = Uses()
    used: set[str] = set()
    for module in modules:
        uses.add(module.syntax.root)
        used.add(module.syntax.file)
        used.update(map(str, module.environment.resource_registry.values()))
    if "get_file" in uses.computed:
        return
    for name in files:
        if name not in used | uses.files | uses.texts:
            message = f'the file "{name}" is never used'
            yield Notice(Span(name, 1, 1), message, code="unused-file")


def _stands_in(module: Module) -> bool:
    """Return whether the template is nested, so that its parameters may be unused.

    A nested template can replace a built-in type. It must then declare the properties of that type
    as parameters, even if it does not use them.
    """
    return module.depth > 0
