"""Mask hidden values in documents and templates before users can read them."""

from collections.abc import Iterator, Mapping
from typing import Any

from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.template import load
from hearth.template.hidden import masked_in, texts_in
from hearth.template.parameters import MASK

EXPORT = "stacks:export"
SHOW_HIDDEN = "stacks:show_hidden_values"
SECTIONS = ("parameters", "parameter_defaults")
DECLARED = (("parameters", "hidden", "default"), ("Parameters", "NoEcho", "Default"))
TRUE = frozenset({"true", "yes", "on", "y", "t", "1"})
TEMPLATE = "template"
ALL = "*"  # in place of names: the hidden parameters are unknown


def may_export(services: Services, caller: Caller) -> bool:
    """Return whether the caller may read the document of a stack unmasked."""
    return services.policy.allows(EXPORT, caller)


def may_see_hidden(services: Services, caller: Caller) -> bool:
    """Return whether the caller may see outputs and attributes that contain hidden values."""
    return services.policy.allows(SHOW_HIDDEN, caller)


def redacted(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of a stack without `resource_data`, in which all hidden values are masked.

    A parameter is hidden if any template or file in the document declares it hidden. If a template
    cannot be parsed, all parameters count as hidden.
    """
    documents = list(_documents(document))
    names: set[str] = set()
    values: list[Any] = []
    for one in documents:
        for template in (one.get(TEMPLATE), *(one.get("files") or {}).values()):
            found = _hidden(template)
            if found is None and template is one.get(TEMPLATE):
                names.add(ALL)
            names |= (found or {}).keys()
            values += (found or {}).values()
    for one in documents:
        for section in SECTIONS:
            given = (one.get("environment") or {}).get(section) or {}
            values += [value for name, value in given.items() if name in names or ALL in names]
    return _without(document, names, texts_in(values))


def without_hidden_defaults(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template, given as maps and lists, with the defaults of hidden parameters
    masked.
    """
    shown = dict(template)
    for section, word, default in DECLARED:
        if isinstance(declared := shown.get(section), Mapping):
            shown[section] = {
                name: {**one, default: MASK} if _is_hidden(one, word) and default in one else one
                for name, one in declared.items()
            }
    return shown


def _documents(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield document
    for entry in (document.get("resources") or {}).values():
        if TEMPLATE in entry:
            yield from _documents(entry)


def _without(
    document: Mapping[str, Any], names: set[str], hidden: tuple[str, ...]
) -> dict[str, Any]:
    kept = {
        name: value
        for name, value in document.items()
        if name not in ("resources", "resource_data")
    }
    shown: dict[str, Any] = masked_in(kept, hidden)
    environment = dict(shown.get("environment") or {})
    for section in SECTIONS:
        environment[section] = {
            name: MASK if name in names or ALL in names else value
            for name, value in (environment.get(section) or {}).items()
        }
    if "environment" in shown:
        shown["environment"] = environment
    if isinstance(template := shown.get(TEMPLATE), Mapping):
        shown[TEMPLATE] = without_hidden_defaults(template)
    if "resources" in document:
        shown["resources"] = {
            name: _without(entry, names, hidden) for name, entry in document["resources"].items()
        }
    return shown


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
    found = {}
    for section, word, default in DECLARED:
        declared = plain.get(section)
        for name, one in declared.items() if isinstance(declared, Mapping) else ():
            if _is_hidden(one, word):
                found[str(name)] = one.get(default)
    return found


def _is_hidden(declared: Any, word: str) -> bool:
    return isinstance(declared, Mapping) and str(declared.get(word)).lower() in TRUE
