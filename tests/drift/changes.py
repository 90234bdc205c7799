"""Change a property of an object in the embedded cloud, without a call that Hearth could see."""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from hearth.resources.base import ResourceType
from tests.types.cloud import Place

PLACES: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("places.yaml").read_text())
"""Where the embedded cloud keeps properties that it calls otherwise; see the file."""
PARTS = ("body", "hidden")
INSIDE = "#"  # what follows is a path in a JSON text


class NoPlace(Exception):
    """The object has no field for the property."""


def untried(rtype: ResourceType, name: str) -> str:
    """Why a property is not changed; empty: it is."""
    collection = getattr(rtype, "collection", None)
    if collection is not None and f"{{{name}}}" in collection.path:
        return "it is part of the address"
    told = PLACES.get(rtype.name, {})
    told = told.get(name, told.get("*"))
    return told["untried"] if isinstance(told, Mapping) and "untried" in told else ""


@dataclass(frozen=True)
class Spot:
    """Where the embedded cloud keeps a property: an object, `body` or `hidden`, and a path."""

    object_id: str
    table: str
    part: str
    path: tuple[Any, ...]
    inside: str
    root: Any  # the value of the first key of the path


class Changer:
    """Changes properties of one object and puts them back.

    `given` are the properties in the template, `idents` the ids by which the object may be known.
    """

    def __init__(
        self,
        place: Place,
        rtype: ResourceType,
        given: Mapping[str, Any],
        idents: Sequence[str],
    ) -> None:
        self.place = place
        self.rtype = rtype
        self.given = given
        self.idents = list(dict.fromkeys(idents))
        renamed = getattr(rtype, "renamed", {})
        self.own_names = {field: name.rpartition(".")[2] for name, field in renamed.items()}

    def change(self, name: str) -> Spot:
        """Change a property; gives what `restore` needs. Raises NoPlace."""
        spot = next(self._spots(name), None)
        if spot is None:
            raise NoPlace(f"{self.rtype.name}: {name}")
        given = self.given.get(name, self.rtype.properties[name].default)
        holder = {"": deepcopy(spot.root)}
        at: Any = holder
        keys = ["", *spot.path[1:]]
        for key in keys[:-1]:
            at = at[key]
        if spot.inside:
            document = json.loads(at[keys[-1]])
            document[spot.inside] = self.other(document[spot.inside], given)
            at[keys[-1]] = json.dumps(document)
        else:
            at[keys[-1]] = self.other(at[keys[-1]], given)
        self._put(spot, holder[""])
        return spot

    def restore(self, spot: Spot) -> None:
        """Put the former value back."""
        self._put(spot, spot.root)

    def _put(self, spot: Spot, value: Any) -> None:
        wanted = {spot.part: {spot.path[0]: value}}
        self.place.admin("PATCH", "objects", {"table": spot.table, "id": spot.object_id, **wanted})

    def _spots(self, name: str) -> Iterator[Spot]:
        told = PLACES.get(self.rtype.name, {}).get(name)
        if isinstance(told, Mapping):
            rows = self.place.admin("GET", f"objects?table={told['table']}")["objects"]
            objects = [one for one in rows if one["body"].get(told["by"]) in self.idents]
            names = [told["path"]]
        else:
            objects = [
                one
                for ident in self.idents
                for one in self.place.admin("GET", f"objects?named={quote(ident)}")["objects"]
            ]
            table = PLACES.get(self.rtype.name, {}).get("table")
            objects = [one for one in objects if table in (None, one["table"])]
            names = [told] if told else self._fields(name)
        for wanted in names:
            path, _, inside = wanted.partition(INSIDE)
            for one in objects:
                for part in PARTS:
                    for keys in paths(one[part], path):
                        yield Spot(one["id"], one["table"], part, keys, inside, one[part][keys[0]])

    def _fields(self, name: str) -> list[str]:
        if name == "value_specs":
            return list(self.given[name])
        field = getattr(self.rtype, "renamed", {}).get(name, name)
        created = getattr(self.rtype, "created_as", {}).get(field, field)
        return [field, created, name]

    def other(self, value: Any, given: Any) -> Any:
        """A value that means something else; of a map, an entry changes that is in the template."""
        match value:
            case bool():
                return not value
            case int() | float():
                return value + 1
            case None:
                return "changed"
            case str():
                return other_text(value)
            case list():
                last = given[-1] if isinstance(given, list) and given else None
                return [*value[:-1], self.other(value[-1], last)] if value else ["changed"]
            case dict():
                if not value:
                    return {"changed": "changed"}
                there = given if isinstance(given, Mapping) else {}
                known = [k for k in value if self.own_names.get(k, k) in there or k in there]
                key = (known or list(value))[-1]
                inner = there.get(self.own_names.get(key, key), there.get(key))
                return {**value, key: self.other(value[key], inner)}
        raise AssertionError(value)


def paths(value: Any, wanted: str) -> Iterator[tuple[Any, ...]]:
    """The paths in a map that end with a key, the shallow ones first; `a.b` is a path by itself,
    and `a.0.b` one through the first item of a list.
    """
    if isinstance(value, list) and wanted.startswith("0.") and value:
        yield from ((0, *path) for path in paths(value[0], wanted[2:]))
    if not isinstance(value, dict):
        return
    if wanted in value:
        yield (wanted,)
    first, _, rest = wanted.partition(".")
    if rest and isinstance(value.get(first), dict | list):
        yield from ((first, *path) for path in paths(value[first], rest))
        return
    for key, inner in value.items():
        yield from ((key, *path) for path in paths(inner, wanted))


def other_text(text: str) -> str:
    """A text that means something else, of the same form."""
    if text.casefold() in ("true", "false"):
        return "False" if text.casefold() == "true" else "True"
    if text.isdecimal():
        return str(int(text) + 1)
    try:
        there = ip_interface(text)
    except ValueError:
        return f"{text}-changed"
    if "/" in text:
        net = ip_network(text, strict=False)
        return str(type(net)((int(net.network_address) ^ (1 << 30), net.prefixlen)))
    return str(type(there.ip)(int(there.ip) ^ (1 << 8)))
