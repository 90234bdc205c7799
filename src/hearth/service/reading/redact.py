"""What of hidden values and secrets callers may see, and the masks over the rest.

A *hidden value* is the value of a parameter with `hidden: true`, and what is computed from it. A
*secret* is a credential that gives rights, such as the password of a stack user in the metadata of
a server, or an input of a software deployment. Everything that shows values to users asks here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hearth.engine.core.record import Record
from hearth.engine.guarded import guards
from hearth.model.problem import Rejected
from hearth.resources.base import ResourceType
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.rows import Revision, StackRow
from hearth.template import load
from hearth.template.hidden import masked, masked_in, texts_in
from hearth.template.parameters import MASK

EXPORT = "stacks:export"
SHOW_HIDDEN = "stacks:show_hidden_values"
SECTIONS = ("parameters", "parameter_defaults")
DECLARED = (("parameters", "hidden", "default"), ("Parameters", "NoEcho", "Default"))
TRUE = frozenset({"true", "yes", "on", "y", "t", "1"})
TEMPLATE = "template"
AGENT, DEPLOYMENTS = "os-collect-config", "deployments"  # parts of the metadata of a server
ALL = "*"  # in place of names: the hidden parameters are unknown


class Sight(Struct, frozen=True):
    """What a caller may see in clear: secrets and documents, and values computed from hidden
    ones.
    """

    secrets: bool
    hidden: bool


NOTHING = Sight(secrets=False, hidden=False)
EVERYTHING = Sight(secrets=True, hidden=True)


class Given(Struct, frozen=True):
    """Whether hidden values, or secrets of resources, are in something, such as the parameters of a
    nested stack.
    """

    hidden: bool = False
    secrets: bool = False

    def masks(self, sight: Sight) -> bool:
        """Return whether somebody with this sight may not see the values."""
        return (self.hidden and not sight.hidden) or (self.secrets and not sight.secrets)


async def masks_given(services: Services, sight: Sight, row: StackRow, revision: Revision) -> bool:
    """Return whether the parents of a nested stack pass values to it that somebody with this sight
    may not see.

    In the template of the nested stack, nothing shows which of its values these are.
    """
    if row.parent_id is None or sight == EVERYTHING:
        return False
    if row.deleted_at is not None:  # the resources that passed them are gone
        return True
    hidden, secrets = await services.store.read(lambda tx: reads.given_from_above(tx, row))
    return Given(hidden or bool(revision.facade.get("secret")), secrets).masks(sight)


def sight_of(services: Services, caller: Caller) -> Sight:
    """Return what a caller may see in clear.

    A stack domain user may see everything, because it can only read what was created for it.
    """
    if caller.guest:
        return EVERYTHING
    allows = services.policy.allows
    return Sight(secrets=allows(EXPORT, caller), hidden=allows(SHOW_HIDDEN, caller))


def seen_attributes(
    sight: Sight,
    record: Record,
    rtype: ResourceType | None,
    attributes: Mapping[str, Any],
    *,
    all_masked: bool = False,
) -> Mapping[str, Any]:
    """Return the attributes of a resource as a caller sees them.

    If `all_masked` is true, all values in the resource's stack may be such that the caller must not
    see.
    """
    if all_masked or (not sight.hidden and record.held.secret):
        return dict.fromkeys(attributes, MASK)
    if sight == EVERYTHING:
        return attributes
    shown = dict(attributes)
    for name, value in attributes.items():
        given = Given(hidden=record.held.hides(name), secrets=guards(record.held, rtype, name))
        if value is not None and given.masks(sight):
            shown[name] = MASK
    return shown


def seen_metadata(
    sight: Sight, metadata: Any, hidden: Sequence[str], *, guarded: bool = False
) -> Any:
    """Return the metadata of a resource as a caller sees it.

    `hidden` are the texts of hidden values, the longest first. If `guarded` is true, the metadata
    contains hidden values or secrets of other resources.
    """
    if sight != EVERYTHING and guarded:
        return _covered(metadata)
    if not sight.secrets and isinstance(metadata, Mapping):
        metadata = dict(metadata)
        if AGENT in metadata:
            metadata[AGENT] = _covered(metadata[AGENT])
        if isinstance(configs := metadata.get(DEPLOYMENTS), Sequence):
            metadata[DEPLOYMENTS] = [seen_config(sight, config) for config in configs]
    return metadata if sight.hidden else masked_in(metadata, tuple(hidden))


def seen_config(sight: Sight, config: Any) -> Any:
    """Return the document of a software configuration as a caller sees it."""
    if sight.secrets or not isinstance(config, Mapping):
        return config
    inputs = config.get("inputs")
    if not isinstance(inputs, Sequence):
        return config
    return {**config, "inputs": [_without_value(entry) for entry in inputs]}


def _without_value(entry: Any) -> Any:
    filled = isinstance(entry, Mapping) and entry.get("value") is not None
    return {**entry, "value": MASK} if filled else entry


def seen_deployment(sight: Sight, deployment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document of a software deployment as a caller sees it."""
    inputs = deployment.get("input_values")
    if sight.secrets or not inputs:
        return deployment
    return {**deployment, "input_values": _covered(inputs)}


def seen_files(sight: Sight, files: Mapping[str, str]) -> Mapping[str, str]:
    """Return the files of a stack as a caller sees them: without the defaults of hidden
    parameters.
    """
    if sight.secrets:
        return files
    return {name: masked(text, hidden_defaults([text])) for name, text in files.items()}


def hidden_defaults(templates: Sequence[str]) -> tuple[str, ...]:
    """Return the texts in the defaults of the hidden parameters of templates, longest first."""
    return texts_in([v for text in templates for v in (_hidden(text) or {}).values()])


def _covered(value: Any) -> Any:
    """Return a JSON value in which everything but the keys of maps and nulls is masked."""
    match value:
        case Mapping():
            return {key: _covered(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_covered(inner) for inner in value]
        case None:
            return None
    return MASK


def redacted(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of a stack without `resource_data`, in which all hidden values are masked.

    A parameter is hidden if any template or file in the document declares it hidden. If a template
    cannot be parsed, all parameters count as hidden.
    """
    documents = list(_documents(document))
    names: set[str] = set()
    values: list[Any] = []
    for stack_document in documents:
        for template in (
            stack_document.get(TEMPLATE),
            *(stack_document.get("files") or {}).values(),
        ):
            defaults = _hidden(template)
            if defaults is None and template is stack_document.get(TEMPLATE):
                names.add(ALL)
            names |= (defaults or {}).keys()
            values += (defaults or {}).values()
    for stack_document in documents:
        for section in SECTIONS:
            section_values = (stack_document.get("environment") or {}).get(section) or {}
            values += [
                value for name, value in section_values.items() if name in names or ALL in names
            ]
    return _without(document, names, texts_in(values))


def without_hidden_defaults(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template, given as maps and lists, with the defaults of hidden parameters
    masked.
    """
    masked = dict(template)
    for section, word, default in DECLARED:
        if isinstance(declared := masked.get(section), Mapping):
            masked[section] = {
                name: {**schema, default: MASK}
                if _is_hidden(schema, word) and default in schema
                else schema
                for name, schema in declared.items()
            }
    return masked


def _documents(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield document
    for entry in (document.get("resources") or {}).values():
        if TEMPLATE in entry:
            yield from _documents(entry)


def _without(
    document: Mapping[str, Any], names: set[str], hidden: tuple[str, ...]
) -> dict[str, Any]:
    remaining = {
        name: value
        for name, value in document.items()
        if name not in ("resources", "resource_data")
    }
    masked: dict[str, Any] = masked_in(remaining, hidden)
    if "metadata" in masked:  # of a resource; it may contain secrets of others
        masked["metadata"] = _covered(masked["metadata"])
    environment = dict(masked.get("environment") or {})
    for section in SECTIONS:
        environment[section] = {
            name: MASK if name in names or ALL in names else value
            for name, value in (environment.get(section) or {}).items()
        }
    if "environment" in masked:
        masked["environment"] = environment
    if isinstance(template := masked.get(TEMPLATE), Mapping):
        masked[TEMPLATE] = without_hidden_defaults(template)
    if "resources" in document:
        masked["resources"] = {  # the parameters of a nested stack may be such secrets, too
            name: _without(entry, {ALL}, hidden) for name, entry in document["resources"].items()
        }
    return masked


def _hidden(template: Any) -> dict[str, Any] | None:
    """Return the default of each hidden parameter of a template, by name.

    The result is None if the template cannot be parsed.
    """
    try:
        plain = load(template, TEMPLATE).plain() if isinstance(template, str) else template
    except Rejected:
        return None
    if not isinstance(plain, Mapping):
        return {}
    defaults = {}
    for section, word, default in DECLARED:
        declared = plain.get(section)
        for name, schema in declared.items() if isinstance(declared, Mapping) else ():
            if _is_hidden(schema, word):
                defaults[str(name)] = schema.get(default)
    return defaults


def _is_hidden(declared: Any, word: str) -> bool:
    return isinstance(declared, Mapping) and str(declared.get(word)).lower() in TRUE
