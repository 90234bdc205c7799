"""Write the form of a new resource type, for somebody to fill in.

    make new-type TYPE=OS::Manila::ShareSnapshot

It writes the type's module and example, adds the type to the index, and names the next steps. If
Heat has the type, its recorded declaration fills in the properties and attributes. The word FILL_IN
marks what only its author knows.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.index import INDEX
from hearth.resources.registry import default_catalog

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = ROOT / "src" / "hearth" / "resources"
FACTS = ROOT / "tests" / "facts" / "resource_types.json"
NAME = re.compile(r"OS(::[A-Z][A-Za-z0-9]*){2,3}")
KINDS = {"string", "integer", "number", "boolean", "list", "map"}
MODULE = '''"""{name}: FILL_IN what it is."""

from hearth.resources.collection import Collection, CollectionResource
from hearth.schema import {imports}


class {cls}(CollectionResource):
    """FILL_IN, in one sentence for people who write templates."""

    type_name = "{name}"
    properties = {{
{properties}    }}
    attributes = {attributes}
    collection = Collection("{service}", "FILL_IN: as {path}", body="FILL_IN: as {body}")
'''
EXAMPLE = """heat_template_version: 2021-04-16
description: FILL_IN

resources:
  {resource}:
    type: {name}
    properties:
{properties}
outputs:
  {resource}_id:
    value: {{get_resource: {resource}}}
"""


class WrongName(Exception):
    """No new type can have this name. The message says why."""


def forms(name: str) -> dict[Path, str]:
    """Return the text of each file of a new type by its place, also that of the index."""
    if not NAME.fullmatch(name):
        raise WrongName(f"{name}: expected a name such as OS::Manila::ShareSnapshot")
    if name in INDEX:
        raise WrongName(f"{name}: there is such a type, in {INDEX[name]}")
    _, namespace, *parts = name.split("::")
    folder, module = namespace.lower(), re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", parts[-1]).lower()
    if not (RESOURCES / folder).is_dir():
        raise WrongName(f"{name}: there is no folder {folder} of the service; create it first")
    facts = json.loads(FACTS.read_text(encoding="utf-8")).get(name, {})
    properties = facts.get("properties") or {"name": {"type": "string", "update_allowed": True}}
    attributes = {key: one for key, one in facts.get("attributes", {}).items() if key != "show"}
    used = {_kind(one) for one in (*properties.values(), *attributes.values())}
    neighbour = _neighbour(folder)
    code = MODULE.format(
        name=name,
        cls=parts[-1],
        service=neighbour.service,
        path=neighbour.path,
        body=neighbour.body,
        imports=", ".join([*sorted(used), *(["Attr"] if attributes else []), "Prop"]),
        properties="".join(_property(key, properties[key]) for key in sorted(properties)),
        attributes=_attributes(attributes),
    )
    mandatory = [key for key in sorted(properties) if properties[key].get("required")] or ["name"]
    example = EXAMPLE.format(
        resource=module,
        name=name,
        properties="".join(f"      {key}: FILL_IN\n" for key in mandatory),
    )
    index = RESOURCES / "index.py"
    return {
        RESOURCES / folder / f"{module}.py": code,
        RESOURCES / folder / "examples" / f"{'.'.join(parts)}.yaml": example,
        index: _indexed(index.read_text(encoding="utf-8"), f"{folder}.{module}", name),
    }


def _attributes(declared: dict[str, Any]) -> str:
    if not declared:
        return "{}"
    lines = (
        f'        "{key}": Attr({_kind(declared[key])}, "FILL_IN."),\n' for key in sorted(declared)
    )
    return f"{{\n{''.join(lines)}    }}"


def _kind(declared: dict[str, Any]) -> str:
    kind = declared.get("type", "string")
    return kind.upper() if kind in KINDS else "STRING"


def _property(key: str, declared: dict[str, Any]) -> str:
    options = [_kind(declared), '"FILL_IN."']
    options += [f"{flag}=True" for flag in ("required", "update_allowed") if declared.get(flag)]
    if (default := declared.get("default")) is not None:
        options.append(f"default={default!r}")
    for constraint in declared.get("constraints", ()):
        if constraint["kind"] == "custom":
            options.append(f'constraint="{constraint["name"]}"')
    return f'        "{key}": Prop({", ".join(options)}),\n'


def _neighbour(folder: str) -> Collection:
    """Return the collection of another type in a folder, as an example for the new one."""
    for name, module in INDEX.items():
        if module.startswith(f"hearth.resources.{folder}."):
            rtype = default_catalog().find(name)
            if isinstance(rtype, CollectionResource):
                return rtype.collection
    return Collection("FILL_IN", "/v2/things", body="thing")


def _indexed(text: str, module: str, name: str) -> str:
    """Return the index with one more type, before the first module that sorts after it."""
    entry = f'    "{module}": ("{name}",),\n'
    head, brace, tail = text.partition("\n}\n")
    for match in re.finditer(r'^    "([\w.]+)": \(', head, re.MULTILINE):
        if match[1] > module and match[1].split(".")[0] == module.split(".")[0]:
            return head[: match.start()] + entry + head[match.start() :] + brace + tail
    return f"{head}\n{entry.rstrip()}{brace}{tail}"


def main() -> int:
    try:
        written = forms(sys.argv[1] if len(sys.argv) > 1 else "")
    except WrongName as problem:
        print(problem, file=sys.stderr)
        return 2
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    print(
        "Fill in what is marked with FILL_IN; CONTRIBUTING.md, Add a resource type, has the rest."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
