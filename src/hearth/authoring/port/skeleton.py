"""Prints the declaration of a resource type of Hearth from that of a plug-in."""

import io
import json
import textwrap
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hearth.authoring.port.plugin import Call, Declaration, Plugin, Unread

KINDS = frozenset({"STRING", "INTEGER", "NUMBER", "BOOLEAN", "LIST", "MAP", "ANY"})
FLAGS = ("required", "update_allowed", "immutable", "allow_conversion")
CONSTRAINTS = {
    "AllowedValues": ("values",),
    "Length": ("min", "max"),
    "Range": ("min", "max"),
    "AllowedPattern": ("pattern",),
    "Modulo": ("step", "offset"),
}
"""The constraints that both have, with the parameters before `description`."""
BY_NAME = ("Length", "Range", "Modulo")  # whose parameters must be named

METHODS = {
    "handle_create": "create_steps(ctx): one Step for each write call; its `find` looks for the "
    "object of a lost answer",
    "check_create_complete": "`poll` of the step: Ready(), Later(seconds) or Failed(reason)",
    "handle_update": "update_steps(ctx); ctx.changed has the names of the changed properties",
    "check_update_complete": "`poll` of the step",
    "handle_delete": "delete_steps(ctx); a delete of something that is gone succeeds",
    "check_delete_complete": "`poll` of the step",
    "handle_suspend": "Suspends.suspend_steps(ctx)",
    "handle_resume": "Suspends.resume_steps(ctx)",
    "handle_check": "check_steps(ctx)",
    "handle_snapshot": "Snapshots.snapshot_steps(ctx)",
    "handle_delete_snapshot": "Snapshots.drop_snapshot(ctx)",
    "handle_restore": "Snapshots.restored(properties, data)",
    "handle_snapshot_delete": "SnapshotAtDelete.snapshot_delete_steps(ctx)",
    "handle_adopt": "Adopts.adopt_steps(ctx)",
    "handle_signal": "hearth.resources.capabilities.Signalled",
    "needs_replace_with_prop_diff": "must_replace(change), which returns the reason",
    "needs_replace_with_tmpl_diff": "must_replace(change), which returns the reason",
    "needs_replace_failed": "replace_failed(ctx)",
    "needs_replace": "must_replace(change), which returns the reason",
    "_show_resource": "show(ctx)",
    "_resolve_attribute": "attribute(ctx, name)",
    "get_attribute": "attribute(ctx, name)",
    "get_reference_id": "reference(ctx)",
    "validate": "relations",
    "translation_rules": "translation",
    "physical_resource_name": "ctx.physical_name and physical_name_limit",
    "add_dependencies": "comes_after",
    "add_explicit_dependencies": "comes_after",
    "is_service_available": "service and extension",
    "parse_live_resource_data": "Observable.observe(ctx)",
    "prepare_update_properties": "must_replace(change)",
    "prepare_for_replace": "GivesWay.replaced_steps(ctx)",
    "restore_prev_rsrc": "GivesWay.taken_back_steps(ctx)",
}
"""What takes the place of each method of a plug-in. Names with a dot are in the module
`hearth.resources.capabilities`.
"""

WIDTH = 100
INDENT = "    "


def skeleton(plugins: Sequence[Plugin], file: str) -> str:
    """Return the text of a Python module with a resource type for each of the plug-ins.

    `file` is the name of their file. What cannot be taken over is a comment that begins with TODO.
    """
    classes = [_class(plugin, file) for plugin in plugins]
    body = "\n\n\n".join(classes)
    names = [
        n for plugin in plugins for n in (plugin.type_names or (f"Custom::{plugin.class_name}",))
    ]
    doc = _docstring(f"{', '.join(names)}, from {file}.")
    importable = {*KINDS, *CONSTRAINTS, "Attr", "Prop", "Support"}
    used = sorted(importable.intersection(_words(body)), key=_import_order)
    imports = "from hearth.resources.base import ResourceContext, ResourceType, Step\n"
    if used:
        lines = "".join(f"{INDENT}{name},\n" for name in used)
        imports += f"from hearth.schema import (\n{lines})\n"
    return f"{doc}\n\n{imports}\n\n{body}\n"


def _words(code: str) -> Iterator[str]:
    """Yield the names in a text of Python, which stand neither in a text nor in a comment."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NAME:
            yield token.string


def _import_order(name: str) -> tuple[bool, str]:
    return (not name.isupper(), name)


def _class(plugin: Plugin, file: str) -> str:
    """Return the text of a class."""
    lines = [f"class {plugin.class_name}(ResourceType):"]
    doc = " ".join(
        (plugin.doc.partition("\n\n")[0] or f"TODO: what a {plugin.class_name} is.").split()
    )
    lines += _wrapped(_docstring(doc), INDENT)
    names = plugin.type_names or (f"Custom::{plugin.class_name}",)
    lines += ["", f"{INDENT}type_name = {_text(names[0])}"]
    if not plugin.type_names:
        lines[-1] += "  # TODO: the plug-in maps no name to this class"
    lines += [f"{INDENT}# TODO: also known as {name}" for name in names[1:]]
    lines += _settings(plugin)
    lines += _block(
        "properties", [_property(n, declared) for n, declared in plugin.properties.items()]
    )
    lines += _block(
        "attributes", [_attribute(n, declared) for n, declared in plugin.attributes.items()]
    )
    lines += ["", *_steps(plugin, file)]
    return "\n".join(lines)


def _docstring(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{escaped}{" " * escaped.endswith(chr(34))}"""'


def _settings(plugin: Plugin) -> Iterator[str]:
    support = plugin.settings.get("support_status")
    if isinstance(support, Call) and (expression := _support(support)):
        yield f"{INDENT}support = {expression}"
    client = plugin.settings.get("default_client_name")
    if isinstance(client, str):
        yield f"{INDENT}service = {_text(client)}  # TODO: its type in the service catalogue"
    entity = plugin.settings.get("entity")
    if isinstance(entity, str):
        yield f"{INDENT}# TODO: a CollectionResource may do; the client calls it {_text(entity)}"
    extension = plugin.settings.get("required_service_extension")
    if isinstance(extension, str):
        yield f"{INDENT}extension = {_text(extension)}"


def _block(name: str, entries: Sequence[list[str]]) -> list[str]:
    if not entries:
        return []
    inner = [INDENT * 2 + line if line else line for entry in entries for line in entry]
    return [f"{INDENT}{name} = {{", *inner, f"{INDENT}}}"]


def _property(name: str, declared: Declaration) -> list[str]:
    lines = _declaration(declared)
    return [f"{_text(name)}: {lines[0]}", *lines[1:-1], f"{lines[-1]},"]


def _declaration(declared: Declaration) -> list[str]:
    """Return the lines of a Prop."""
    arguments = declared.arguments
    kind = arguments.get("kind")
    has_kind = isinstance(kind, str) and kind in KINDS
    lines = [str(kind) if has_kind else "ANY"]
    comments = [] if has_kind else _todo("the type", kind)
    description = arguments.get("description")
    if isinstance(description, str):
        lines.append(_literal(" ".join(description.split())))
    else:
        comments += _todo("the description", description)
    lines += [f"{flag}=True" for flag in FLAGS if arguments.get(flag) is True]
    if arguments.get("implemented") is False:
        lines.append("implemented=False")
    if "default" in arguments and arguments["default"] is not None:
        default = arguments["default"]
        if isinstance(default, Unread | Call):
            comments += _todo("the default", default)
        else:
            lines.append(f"default={default!r}")
    constraints = arguments.get("constraints") or []
    texts, custom, unread = _constraints(constraints if isinstance(constraints, list) else [])
    if texts:
        lines.append(f"constraints=({', '.join(texts)}{',' * (len(texts) == 1)})")
    if custom:
        lines.append(f"constraint={_text(custom)}")
    comments += [line for constraint in unread for line in _todo("a constraint", constraint)]
    if isinstance(constraints, Unread):
        comments += _todo("the constraints", constraints)
    if isinstance(support := arguments.get("support_status"), Call) and (
        expression := _support(support)
    ):
        lines.append(f"support={expression}")
    inner = _schema(arguments.get("schema"), comments)
    body = [INDENT + text_line for line in lines for text_line in _lines(line)]
    return [
        "Prop(",
        *(INDENT + comment for comment in comments),
        *body,
        *(INDENT + inner_line for inner_line in inner),
        ")",
    ]


def _lines(argument: str) -> list[str]:
    """Return an argument with a comma; a text may have several lines."""
    text_lines = argument.split("\n")
    return [*text_lines[:-1], f"{text_lines[-1]},"]


def _schema(schema: Any, comments: list[str]) -> list[str]:
    match schema:
        case None:
            return []
        case Declaration():
            lines = _declaration(schema)
            return [f"schema={lines[0]}", *lines[1:-1], f"{lines[-1]},"]
        case Mapping():
            inner = [
                line for name, declared in schema.items() for line in _property(name, declared)
            ]
            return ["schema={", *(INDENT + line for line in inner), "},"]
    comments += _todo("the schema", schema)
    return []


def _constraints(constraints: Sequence[Any]) -> tuple[list[str], str | None, list[Any]]:
    """Return the constraints that both have, the name of a custom one, and those that cannot be
    taken over.
    """
    texts, custom, unread = [], None, []
    for constraint in constraints:
        match constraint:
            case Call(name="CustomConstraint", args=[str(name), *_]):
                custom = name
            case Call(name=name) if name in CONSTRAINTS and not _has_unread(constraint):
                values = dict(
                    zip((*CONSTRAINTS[name], "description"), constraint.args, strict=False)
                )
                values |= constraint.options
                by_keyword = name in BY_NAME
                first = CONSTRAINTS[name][0]
                arguments = [
                    repr(value) if key == first and not by_keyword else f"{key}={value!r}"
                    for key, value in values.items()
                    if value is not None
                ]
                texts.append(f"{name}({', '.join(arguments)})")
            case _:
                unread.append(constraint)
    return texts, custom, unread


def _has_unread(call: Call) -> bool:
    return any(
        isinstance(argument, Unread | Call) for argument in (*call.args, *call.options.values())
    )


def _support(call: Call) -> str:
    """Return a support status as an expression; what is not constant is left out."""
    arguments = []
    for name, value in {**dict(zip(("status",), call.args, strict=False)), **call.options}.items():
        if name == "previous_status" and isinstance(value, Call):
            arguments.append(f"previous={_support(value)}")
        elif name in ("status", "version", "message") and isinstance(value, str):
            arguments.append(f"{name}={_text(value)}")
    return f"Support({', '.join(arguments)})"


def _attribute(name: str, declared: Declaration) -> list[str]:
    settings = declared.arguments
    kind = settings.get("kind")
    arguments = [kind if isinstance(kind, str) and kind in KINDS else "None"]
    if isinstance(description := settings.get("description"), str):
        arguments.append(_literal(" ".join(description.split())))
    if settings.get("cache_mode") == "CACHE_NONE":
        arguments.append("cached=False")
    inner = [INDENT + line for argument in arguments for line in _lines(argument)]
    return [f"{_text(name)}: Attr(", *inner, "),"]


def _steps(plugin: Plugin, file: str) -> Iterator[str]:
    """Return the lines of the methods, with comments about those of the plug-in."""
    for name, line in plugin.methods.items():
        instead = METHODS.get(name)
        if instead is None:
            continue
        yield from _wrapped(f"TODO: {name} ({file}:{line}) becomes {instead}", f"{INDENT}# ")
    yield ""
    yield f"{INDENT}def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:"
    yield f'{INDENT * 2}raise NotImplementedError("TODO")'
    yield ""
    yield f"{INDENT}def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:"
    yield f'{INDENT * 2}raise NotImplementedError("TODO")'


def _todo(subject: str, value: Any) -> list[str]:
    if isinstance(value, Unread | Call) and value.source:
        source = " ".join(value.source.split())
        return _wrapped(f"TODO: {subject} is not constant in the plug-in: {source}", "# ")
    return [f"# TODO: {subject}"]


def _literal(text: str) -> str:
    """Return a text as one expression, of several lines if it is long."""
    return "\n".join(map(_text, textwrap.wrap(text, 70, drop_whitespace=False) or [""]))


def _wrapped(text: str, prefix: str) -> list[str]:
    return textwrap.wrap(text, WIDTH - len(prefix), initial_indent=prefix, subsequent_indent=prefix)


def _text(text: str) -> str:
    """Return a text as a Python literal, in double quotes if it contains none."""
    if '"' in text or not text.isprintable():
        return repr(text)
    return json.dumps(text, ensure_ascii=False)
