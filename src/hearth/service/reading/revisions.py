"""Read and compare the revisions of a stack. Hidden values are masked."""

import difflib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hearth.engine.core.decide import differing
from hearth.model.problem import EntityNotFound, Rejected, rejection
from hearth.model.unknown import unknown_in
from hearth.service.reading.redact import Sight, hidden_defaults, masks_given
from hearth.service.services import Services
from hearth.store import texts
from hearth.store.database import Tx
from hearth.store.rows import Revision, StackRow
from hearth.store.texts import RevisionRow
from hearth.template import NOWHERE, Module, Program, ResourceDefinition
from hearth.template.describe import parameter_texts
from hearth.template.hidden import masked_in
from hearth.template.parameters import MASK

PARTS = ("metadata", "depends_on", "deletion_policy", "update_policy", "condition")


class CompiledRevision(Struct, frozen=True):
    """A stored revision with its program; the program is None if the revision no longer
    compiles.
    """

    row: RevisionRow
    revision: Revision
    program: Program | None


async def list_revisions(services: Services, row: StackRow) -> list[RevisionRow]:
    """Return the stored revisions of a stack, newest first."""
    return await services.store.read(lambda tx: texts.list_revisions(tx, row.id))


async def stored_revision(services: Services, row: StackRow, number: int) -> Revision:
    """Return the stack's revision with this number. Raises Rejected with EntityNotFound."""
    return (await _find(services, row, number))[1]


async def show_revision(services: Services, row: StackRow, number: int) -> CompiledRevision:
    """Return the stack's revision with this number, and its program.

    Raises Rejected with EntityNotFound.
    """
    about, revision = await _find(services, row, number)
    try:
        program = await services.programs.of(row, revision)
    except Rejected:
        program = None
    return CompiledRevision(about, revision, program)


async def _find(services: Services, row: StackRow, number: int) -> tuple[RevisionRow, Revision]:
    def look(tx: Tx) -> tuple[RevisionRow, Revision]:
        for about in texts.list_revisions(tx, row.id):
            if about.number == number:
                return about, texts.get_revision(tx, row.id, number)
        raise rejection(EntityNotFound, "Revision", str(number))

    return await services.store.read(look)


def masked_environment(
    revision: Revision, program: Program | None, *, masked: bool = False
) -> dict[str, Any]:
    """Return the environment of a revision in the API's format, with hidden values masked.

    If `program` is None or `masked` is true, all values are masked. The parameters of a nested
    stack are the values from its parent resource. The resource registry also contains the
    operator's entries that were used.
    """
    body = dict(revision.environment)
    body["parameters"] = {**(body.get("parameters") or {}), **revision.parameters}
    hidden = None if program is None or masked else _hidden_names(program.module)
    for section in ("parameters", "parameter_defaults"):
        values = dict(body.get(section) or {})
        body[section] = {
            name: MASK if hidden is None or name in hidden else value
            for name, value in values.items()
        }
    registry = dict(body.get("resource_registry") or {})
    body["resource_registry"] = {"resources": {}, **_registry_entries(program), **registry}
    body.pop("parameter_merge_strategies", None)
    return body


def _registry_entries(program: Program | None) -> dict[str, str]:
    """Return the entries of the resource registry that determined the types in the template."""
    mappings: dict[str, str] = {}
    if program is None:
        return mappings
    module = program.module
    for name, definition in program.resources.items():
        mappings |= module.environment.mappings(definition.type, name, module.catalog)
    return mappings


def _hidden_names(module: Module) -> set[str]:
    """Return the names of the hidden parameters of a template and of its nested templates."""
    names = {name for name, schema in module.syntax.parameters.items() if schema.hidden}
    for binding in module.bindings.values():
        if binding.child is not None:
            names |= _hidden_names(binding.child)
    return names


def parameters_of(compiled: CompiledRevision, *, masked: bool = False) -> dict[str, str]:
    """Return the parameter values of a revision as text, by name.

    Hidden values are masked, and if `masked` is true, all are. If the revision no longer compiles,
    only the parameters in its environment are returned, and all of them are masked.
    """
    if compiled.program is not None:
        return parameter_texts(compiled.program, masked=masked)
    return dict.fromkeys(compiled.revision.environment.get("parameters") or {}, MASK)


async def compare(
    services: Services,
    row: StackRow,
    before: CompiledRevision,
    after: CompiledRevision,
    sight: Sight,
) -> dict[str, Any]:
    """Return the differences between two revisions, in the API's format, as somebody with this
    sight sees them.

    The entry `resources` is None if one of the two revisions no longer compiles, or if it would
    show values that a parent stack hides.
    """
    resource_changes = None
    masks = await masks_given(services, sight, row, before.revision)
    masks = masks or await masks_given(services, sight, row, after.revision)
    project = row.project_id
    if not masks and before.program is not None and after.program is not None:
        program_before, program_after = before.program, after.program
        resource_changes = await services.compute.evaluated(
            lambda: _resources(program_before, program_after), project
        )
    differences = await services.compute.run(
        _texts,
        *(before.revision, after.revision),
        project=project,
        characters=before.revision.characters + after.revision.characters,
    )
    return {
        "from": before.row.number,
        "to": after.row.number,
        "resources": resource_changes,
        "parameters": _parameters(before, after, all_hidden=masks),
        **(differences if sight.secrets else _without_defaults(differences, before, after)),
    }


def _resources(before: Program, after: Program) -> dict[str, Any]:
    old, new = before.resources, after.resources
    return {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [
            change
            for name in new
            if name in old and (change := _definition(old[name], new[name])) is not None
        ],
    }


def _definition(before: ResourceDefinition, after: ResourceDefinition) -> dict[str, Any] | None:
    """Return the differences between two definitions of a resource, or None if there are none.

    Both the expressions in the templates and the values are compared.
    """
    written = _written(before, "properties"), _written(after, "properties")
    evaluated = before.evaluate(NOWHERE), after.evaluate(NOWHERE)
    names = differing(evaluated[0].properties, evaluated[1].properties)
    names |= differing(written[0], written[1])
    secret = evaluated[0].secret | evaluated[1].secret
    body: dict[str, Any] = {"resource": before.name}
    properties = []
    for name in sorted(names):
        pair = [
            _known_or_source(values.properties.get(name), source.get(name))
            for values, source in zip(evaluated, written, strict=True)
        ]
        if name in secret:
            pair = [MASK, MASK]
        properties.append({"property": name, "before": pair[0], "after": pair[1]})
    kinds = (before.type, after.type)
    if before.type == after.type:  # the environment may map it to another type
        kinds = (_mapped(before), _mapped(after))
    if kinds[0] != kinds[1]:
        body["type"] = {"before": kinds[0], "after": kinds[1]}
    parts = [key for key in PARTS if _part(before, key) != _part(after, key)]
    if not properties and not parts and "type" not in body:
        return None
    return {**body, "properties": properties, "parts": parts}


def _mapped(definition: ResourceDefinition) -> str:
    """Return the type, or the name of the template, to which the environment maps a type."""
    child = definition.child
    return definition.type_info.name if child is None else child.syntax.file


def _known_or_source(value: Any, source: Any) -> Any:
    """Return the value if it is known, otherwise `source`, the expression in the template."""
    return value if unknown_in(value) is None else source


def _part(definition: ResourceDefinition, key: str) -> Any:
    return definition.core.source.node.plain().get(definition.core.word(key))


def _written(definition: ResourceDefinition, key: str) -> Mapping[str, Any]:
    part = _part(definition, key)
    return part if isinstance(part, Mapping) else {}


def _without_defaults(
    differences: dict[str, Any], before: CompiledRevision, after: CompiledRevision
) -> dict[str, Any]:
    """Return the differences of texts with the defaults of hidden parameters masked."""
    texts_of = [
        text
        for compiled in (before, after)
        for text in (compiled.revision.template, *compiled.revision.files.values())
    ]
    masked: dict[str, Any] = masked_in(differences, hidden_defaults(texts_of))
    return masked


def _parameters(
    before: CompiledRevision, after: CompiledRevision, *, all_hidden: bool
) -> list[dict[str, Any]]:
    """Return the parameters whose values differ; the values of hidden ones are masked."""
    values = [_values(compiled) for compiled in (before, after)]
    changes = []
    for name in sorted(differing(*values)):
        hidden = all_hidden or any(
            compiled.program is None or name in _hidden_names(compiled.program.module)
            for compiled in (before, after)
        )
        pair = [
            MASK if hidden and name in parameters else parameters.get(name) for parameters in values
        ]
        changes.append({"parameter": name, "before": pair[0], "after": pair[1]})
    return changes


def _values(compiled: CompiledRevision) -> dict[str, Any]:
    if compiled.program is None:
        return {
            **(compiled.revision.environment.get("parameters") or {}),
            **compiled.revision.parameters,
        }
    declared = compiled.program.parameters.items()
    return {name: parameter.value for name, parameter in declared if parameter.schema is not None}


def _texts(before: Revision, after: Revision) -> dict[str, Any]:
    """Return the unified diffs of the templates and of the files, without files that are equal."""
    names = sorted(before.files.keys() | after.files.keys())
    files = {name: _unified(before.files.get(name), after.files.get(name), name) for name in names}
    return {
        "template": _unified(before.template, after.template, "template"),
        "files": {name: text for name, text in files.items() if text},
    }


def _unified(before: str | None, after: str | None, name: str) -> str:
    """Return the unified diff of two texts; empty if they are equal.

    If a text is None, the file name in the diff is /dev/null.
    """
    if before == after:
        return ""
    return "".join(
        line if line.endswith("\n") else f"{line}\n"
        for line in difflib.unified_diff(
            (before or "").splitlines(keepends=True),
            (after or "").splitlines(keepends=True),
            "/dev/null" if before is None else name,
            "/dev/null" if after is None else name,
        )
    )
