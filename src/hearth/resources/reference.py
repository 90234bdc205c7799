"""The generated reference pages of resource types.

They are made from the declarations of the types and from the examples.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hearth.resources.base import ResourceType
from hearth.resources.capabilities import MakesObject, NestedType, Signalled, SnapshotAtDelete
from hearth.resources.described import beside, example, key_in_full
from hearth.schema import (
    AllowedPattern,
    AllowedValues,
    Attr,
    Constraint,
    Custom,
    Length,
    Modulo,
    Prop,
    Range,
    Support,
    SupportStatus,
)

INDEX = """\
# Resource types

After reading a page here you can use the resource types of a service. To print one type:

    hearth docs type OS::Nova::Server

Each type has a table of properties, a table of attributes and an example. `hearth docs reference`
generates the pages from the declarations, and the test suite runs the examples. [Compatibility with
Heat](../compatibility.md#resource-types) lists the types that are not available, and [Resource
identification](../resource-types.md) how Hearth finds each object again after a crash.

| service | types |
| --- | --- |
"""

RETIRED = """\
# Retired types

After reading this page you know the retired types of Heat that can work again, and their
properties. They work if the configuration says so:

    [hearth]
    revive_retired_types = true

Without this setting they are [placeholders](../compatibility.md#placeholders). Use a new type in
new templates; each section names it.

"""


def page_of(name: str) -> str:
    """Return the name of a type's page: `neutron` for OS::Neutron::Net, `aws-ec2` for
    AWS::EC2::VPC.
    """
    vendor, _, path = name.partition("::")
    service = path.partition("::")[0].lower()
    return service if vendor == "OS" else f"{vendor.lower()}-{service}"


def pages(types: Iterable[ResourceType], retired: Iterable[ResourceType] = ()) -> dict[str, str]:
    """Return all pages as {file name: Markdown text}; `README.md` is the index.

    The types in `retired` have a page of their own.
    """
    by_page: dict[str, list[ResourceType]] = {}
    for kind in sorted(types, key=lambda kind: kind.name):
        if not kind.name.startswith("<"):
            by_page.setdefault(page_of(kind.name), []).append(kind)
    texts = {}
    index = [INDEX]
    for page, kinds in sorted(by_page.items()):
        title = "::".join(kinds[0].name.split("::")[:2])
        names = ", ".join(kind.name.removeprefix(f"{title}::") for kind in kinds)
        index.append(f"| [{title}]({page}.md) | {names} |\n")
        body = "\n".join(as_markdown(kind) for kind in kinds)
        texts[f"{page}.md"] = f"# {title}\n\n{body}"
    if old := sorted(retired, key=lambda kind: kind.name):
        names = ", ".join(kind.name for kind in old)
        index.append(f"| [Retired types](retired.md), with a setting | {names} |\n")
        texts["retired.md"] = RETIRED + "\n".join(as_markdown(kind) for kind in old)
    return {"README.md": "".join(index), **texts}


def as_markdown(rtype: ResourceType) -> str:
    """Return the section about a type, in Markdown."""
    lines = [f"## {rtype.name}", "", _first_line(rtype), *_notes(rtype)]
    if (text_beside := beside(rtype, "md")) is not None:
        lines += ["", text_beside.rstrip()]
    if rtype.relations:
        lines += ["", f"Rules: {'; '.join(map(str, rtype.relations))}."]
    if rtype.properties:
        lines += ["", "| property | type | use | description |", "| --- | --- | --- | --- |"]
        lines += _rows(rtype.properties, "")
    attributes = {name: attr for name, attr in rtype.attributes.items() if name != "show"}
    if attributes:
        lines += ["", "| attribute | type | description |", "| --- | --- | --- |"]
        lines += [_attribute(name, attr) for name, attr in sorted(attributes.items())]
    text = example(rtype)
    if text is not None:
        lines += ["", "```yaml", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _first_line(rtype: ResourceType) -> str:
    return (type(rtype).__doc__ or "").partition("\n")[0].strip()


def _notes(rtype: ResourceType) -> Iterator[str]:
    notes = []
    if rtype.support.status != SupportStatus.SUPPORTED:
        notes.append(_support(rtype.support))
    if rtype.service is not None:
        need = f"Needs the {rtype.service} service"
        extension = f" with its extension {rtype.extension}" if rtype.extension else ""
        notes.append(f"{need}{extension}.")
    if isinstance(rtype, MakesObject) and (key_text := key_in_full(rtype)):
        notes.append(f"Key after a crash: {key_text}.")
    if isinstance(rtype, Signalled):
        notes.append("Accepts signals.")
    if isinstance(rtype, NestedType | SnapshotAtDelete):
        notes.append("Supports `deletion_policy: Snapshot`.")
    if notes:
        yield ""
        yield " ".join(notes)


def _support(support: Support) -> str:
    status = f"{str(support.status).capitalize()}"
    if support.version:
        return f"{status} since {support.version}."
    return f"{status}: {support.message}." if support.message else f"{status}."


def _rows(properties: Mapping[str, Prop], path: str) -> Iterator[str]:
    for name, prop in sorted(properties.items()):
        if prop.support is not None and prop.support.hidden:
            continue
        yield _row(f"{path}{name}", prop, nested=bool(path))
        yield from _inner(prop, f"{path}{name}")


def _inner(prop: Prop, path: str) -> Iterator[str]:
    if prop.entries is not None:
        yield from _rows(prop.entries, f"{path}.")
    elif prop.item is not None and prop.item.entries is not None:
        yield from _rows(prop.item.entries, f"{path}[].")


def _row(path: str, prop: Prop, *, nested: bool) -> str:
    traits = []
    if prop.required:
        traits.append("required")
    if prop.has_default and prop.default is not None:
        traits.append(f"default {_value(prop.default)}")
    if not nested:
        traits.append("updated in place" if prop.update_allowed else "replaces the resource")
    sentences = [prop.description, *map(_constraint, prop.constraints)]
    if prop.item is not None:
        sentences += [
            f"Each item: {_constraint(constraint)}" for constraint in prop.item.constraints
        ]
    if prop.support is not None and prop.support.status != SupportStatus.SUPPORTED:
        sentences.append(_support(prop.support))
    description = " ".join(word for word in sentences if word).replace("|", "\\|")
    return f"| `{path}` | {_kind(prop)} | {'; '.join(traits)} | {description} |"


def _kind(prop: Prop) -> str:
    item = prop.item
    return f"{prop.kind.value} of {item.kind.value}s" if item is not None else prop.kind.value


def _constraint(constraint: Constraint) -> str:
    match constraint:
        case AllowedValues(values=values):
            return f"One of {', '.join(_value(value) for value in values)}."
        case AllowedPattern(pattern=pattern):
            return f"Matches `{pattern}`."
        case Range(min=low, max=high):
            return _bounds("", low, high)
        case Length(min=low, max=high):
            return _bounds("Length ", low, high)
        case Modulo(step=step, offset=offset):
            return f"A multiple of {step} plus {offset}."
        case Custom(name=name):
            return f"Checked as `{name}`."
    return ""


def _bounds(label: str, low: Any, high: Any) -> str:
    if low is not None and high is not None:
        text = f"{low} to {high}."
    elif low is not None:
        text = f"at least {low}."
    else:
        text = f"at most {high}."
    return f"{label}{text}" if label else text.capitalize()


def _value(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _attribute(name: str, attr: Attr) -> str:
    kind = attr.kind.value if attr.kind is not None else ""
    description = attr.description.replace("|", "\\|")
    return f"| `{name}` | {kind} | {description} |"
