"""Random requests: templates, changes of templates, environments.

A template here is a map of names to entries. An entry has the properties `u` (a change updates in
place), `r` (a change replaces) and `l` (like `r`, but decided during the update), and `after`, the
names of entries that it depends on. An entry with `child` is a nested stack with its own template
and a parameter `p`. An entry with `value` has no object in the cloud. An entry with `mailbox`
stores the signals that it receives, an entry with `wait` waits for such a signal, and an entry with
`group` is a group.
"""

import json
import random
from collections.abc import Mapping
from typing import Any

from hearth.model.state import Hook
from hearth.store.rows import Document, Revision
from tests.simulator import grouped

Entry = dict[str, Any]
Template = dict[str, Entry]

KEYS = "url"
FIXED = ("external", "mailbox", "wait", "group")
OUTSIDE = "outside#1"  # a thing that was there before
SECRET = "do-not-tell"
CHILD_OUTPUT = "out"
JOB = {
    "server": {"get_resource": "box"},
    "signal_transport": "HEAT_SIGNAL",
    "actions": ["CREATE", "UPDATE", "SUSPEND", "RESUME", "DELETE"],
}


class Draw:
    """Generates random requests from one random number generator."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def template(self, size: int) -> Template:
        """Return a random template of about `size` resources, including those of nested stacks."""
        template: Template = {}
        nested = self._rng.random() < 0.3
        while _size(template) < size:
            self._add(template, nested=nested)
        return template

    def changed(self, template: Template) -> Template:
        """Return a copy of the template with random changes."""
        names = dict(template)
        for name in list(names):
            draw = self._rng.random()
            if draw < 0.12:
                del names[name]
            elif draw < 0.4:
                names[name] = self._again(name, names[name], list(template))
        for name in [n for n, entry in names.items() if entry.get("wait", n) not in names]:
            del names[name]
        nested = any("child" in entry for entry in template.values())
        for _ in range(self._rng.randint(0, 3)):
            self._add(names, nested=nested)
        return {name: without_lost(entry, names) for name, entry in names.items()}

    def tweaked(self, template: Template) -> Template:
        """Return a copy of the template in which one value differs, so that one resource is updated
        in place.

        A value that other resources read is preferred.
        """
        values = {name: "value" if "value" in entry else "u" for name, entry in template.items()}
        plain = [
            name
            for name, entry in template.items()
            if entry.keys().isdisjoint((*FIXED, "child"))
            and isinstance(entry.get(values[name], ""), str)
        ]
        read = [name for name in plain if _read(name, values[name], template)]
        if not plain:
            return template
        name = self._rng.choice(read or plain)
        return {**template, name: {**template[name], values[name]: str(self._rng.randint(0, 9))}}

    def environment(self, template: Template) -> dict[str, Any]:
        """Return an environment with hooks on one or two resources.

        In some environments, the first of them has restricted actions instead.
        """
        names = self._rng.sample(sorted(template), k=min(2, len(template)))
        hooks = [hook.value for hook in Hook]
        entries: dict[str, Any] = {
            name: {"hooks": self._rng.sample(hooks, k=self._rng.randint(1, 3))} for name in names
        }
        if names and self._rng.random() < 0.4:
            entries[names[0]] = {"restricted_actions": self._rng.choice(["update", "replace"])}
        return {"resource_registry": {"resources": entries}}

    def _add(self, template: Template, *, nested: bool) -> None:
        number = 1 + max((int(name[1:]) for name in template), default=-1)
        before = list(template)
        if nested and self._rng.random() < 0.15:
            name = f"n{number}"
            template[name] = self._child(name, before)
        elif self._rng.random() < 0.1:
            template[f"v{number}"] = self._pure(before)
        elif self._rng.random() < 0.02:
            template[f"x{number}"] = {"external": OUTSIDE}
        elif self._rng.random() < 0.015:
            how = self._rng.choice(["told", "fetched"])
            template[f"m{number}"] = {"mailbox": how}
            template[f"w{number + 1}"] = {"wait": f"m{number}"}
        else:
            template[f"r{number}"] = self._node(before)

    def _again(self, name: str, entry: Entry, names: list[str]) -> Entry:
        before = [other for other in names if int(other[1:]) < int(name[1:])]
        if "child" in entry:
            return self._child(name, before)
        if not entry.keys().isdisjoint(FIXED):
            return entry
        return self._pure(before) if "value" in entry else self._node(before)

    def _node(self, before: list[str], *, inside: bool = False) -> Entry:
        entry: Entry = {}
        for key in KEYS:
            draw = self._rng.random()
            if draw < 0.3:
                entry[key] = str(self._rng.randint(0, 3))
            elif draw < 0.31 and not inside:
                entry[key] = {"get_param": "secret"}
            elif draw < 0.5 and before and key != "l":
                entry[key] = self._reference(before, inside=inside)
        if before and self._rng.random() < 0.3:
            entry["after"] = [self._rng.choice(before)]
        draw = self._rng.random()
        if draw < 0.05:
            entry["type"] = "Test::Other"
        elif draw < 0.12 and not inside:  # a nested stack that is replaced does not let go
            entry["type"] = "Test::Claim"
        if self._rng.random() < 0.06 and not inside:
            entry["policy"] = "Snapshot" if entry.get("type") == "Test::Claim" else "Retain"
        if self._rng.random() < 0.05:
            entry["metadata"] = {"n": str(self._rng.randint(0, 3))}
        return entry

    def forbidden(self, template: Template) -> Template:
        """Return a copy of the template with a change that must be refused.

        The change is one of the property `m`, which must never change, or of the id of an external
        resource. A template without such a resource is returned unchanged.
        """
        names = [name for name in template if name[0] in "rx"]
        if not names:
            return template
        name = self._rng.choice(names)
        if name[0] == "x":
            return {**template, name: {"external": f"{template[name]['external']}#"}}
        before = template[name].get("m", "")
        return {**template, name: {**template[name], "m": f"{before}1"}}

    def _pure(self, before: list[str]) -> Entry:
        draw = self._rng.random()
        value: Any = str(self._rng.randint(0, 3))
        if before and draw < 0.5:
            value = self._reference(before)
        entry = {"value": value, "k": str(self._rng.randint(0, 1))}
        if self._rng.random() < 0.1:
            entry["type"] = "Test::Token"
        return entry

    def _child(self, name: str, before: list[str]) -> Entry:
        inner: Template = {}
        for i in range(self._rng.randint(1, 3)):
            inner[f"{name}_{i}"] = self._node([f"{name}_{j}" for j in range(i)], inside=True)
        inner[f"{name}_0"]["u"] = {"get_param": "p"}
        value: Any = self._reference(before) if before and self._rng.random() < 0.5 else "0"
        return {"child": inner, "p": value}

    def _reference(self, before: list[str], *, inside: bool = False) -> Any:
        other = self._rng.choice(before)
        match "r" if inside else other[0]:
            case "n":
                return {"get_attr": [other, CHILD_OUTPUT]}
            case "x" | "m" | "w" | "g":
                return {"get_resource": other}
            case "v":
                return {"get_attr": [other, "value"]}
            case _:
                ways = [{"get_resource": other}, {"get_attr": [other, self._rng.choice("ur")]}]
                return self._rng.choice(ways)


def revision_of(
    template: Template,
    environment: Mapping[str, Any] | None = None,
    document: Document | None = None,
) -> Revision:
    """Return the revision of a stack for a template and an environment.

    `document` is the document of an adopt or a restore; None for any other request.
    """
    files = {
        f"{name}.yaml": _hot(entry["child"], child=name)
        for name, entry in template.items()
        if "child" in entry
    }
    return Revision(_hot(template), files, dict(environment or {}), document=document)


def _hot(template: Template, *, child: str | None = None) -> str:
    body: dict[str, Any] = {
        "heat_template_version": "2018-08-31",
        "resources": {name: _resource(name, entry) for name, entry in template.items()},
    }
    if child is None:
        body["parameters"] = {"secret": {"type": "string", "hidden": True, "default": SECRET}}
    else:
        body["parameters"] = {"p": {"type": "string"}}
        body["outputs"] = {CHILD_OUTPUT: {"value": {"get_attr": [f"{child}_0", "u"]}}}
    return json.dumps(body)


def _resource(name: str, entry: Entry) -> dict[str, Any]:
    if "child" in entry:
        return {"type": f"{name}.yaml", "properties": {"p": entry["p"]}}
    if "value" in entry:
        kept = {"value": entry["value"], "k": entry["k"]}
        return {"type": entry.get("type", "Test::Value"), "properties": kept}
    if "group" in entry:
        return grouped.resource(entry)
    if "mailbox" in entry:
        return {"type": "Test::Mailbox", "properties": {"how": entry["mailbox"]}}
    if "wait" in entry:
        return {"type": "Test::Wait", "properties": {"mailbox": {"get_resource": entry["wait"]}}}
    if "colour" in entry:
        return {"type": "Test::Job", "properties": {**JOB, "input_values": entry}}
    if "external" in entry:
        return {"type": "Test::Node", "external_id": entry["external"]}
    properties = {key: entry[key] for key in (*KEYS, "m") if key in entry}
    if entry.get("type") == "Test::Claim" and "u" in properties and int(name[-1]) % 2:
        properties["w"] = properties.pop("u")
    return {
        "type": entry.get("type", "Test::Node"),
        "properties": properties,
        "depends_on": entry.get("after", []),
        **({"deletion_policy": entry["policy"]} if "policy" in entry else {}),
        **({"metadata": entry["metadata"]} if "metadata" in entry else {}),
    }


def _size(template: Template) -> int:
    return sum(len(entry["child"]) if "child" in entry else 1 for entry in template.values())


def _read(name: str, attribute: str, template: Template) -> bool:
    """Return whether any entry of the template reads this attribute of the resource `name`."""
    what = {"get_attr": [name, attribute]}
    return any(what in entry.values() for entry in template.values())


def without_lost(entry: Entry, names: Mapping[str, Any]) -> Entry:
    """Return a copy of the entry without references to resources that are not in `names`."""
    kept: Entry = {}
    for key, value in entry.items():
        match value:
            case {"get_resource": other} | {"get_attr": [other, _]} if other not in names:
                if key in ("p", "value"):
                    kept[key] = "gone"
            case list():
                kept[key] = [name for name in value if name in names]
            case _:
                kept[key] = value
    return kept
