"""Change a property of an object in the embedded cloud, without a call that Hearth could see."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from hearth.resources.base import ResourceType
from tests.types.cloud import Place

PLACES: Mapping[str, Mapping[str, str]] = yaml.safe_load(
    Path(__file__).with_name("places.yaml").read_text()
)
"""{type: {property: path of its field in the object}} where the field has another name."""
PARTS = ("body", "hidden")


class NoPlace(Exception):
    """The object has no field for the property."""


@dataclass(frozen=True)
class Spot:
    """Where the embedded cloud keeps a property: an object, `body` or `hidden`, and a path."""

    object_id: str
    table: str
    part: str
    path: tuple[Any, ...]
    root: Any  # the value of the first key of the path


class Changer:
    """Changes properties of one object and puts them back."""

    def __init__(self, place: Place, rtype: ResourceType, physical_id: str) -> None:
        self.place = place
        self.rtype = rtype
        self.candidates = [
            physical_id, physical_id.rpartition("/")[2], physical_id.partition(":")[0],
            physical_id.rpartition(":")[2], physical_id.rpartition("=")[2],
        ]  # fmt: skip

    def change(self, name: str) -> Spot:
        """Change a property; gives what `restore` needs. Raises NoPlace."""
        spot = next(self._spots(name), None)
        if spot is None:
            raise NoPlace(f"{self.rtype.name}: {name}")
        root = deepcopy(spot.root)
        if len(spot.path) == 1:
            root = other(root)
        else:
            holder = root
            for key in spot.path[1:-1]:
                holder = holder[key]
            holder[spot.path[-1]] = other(holder[spot.path[-1]])
        self._put(spot, root)
        return spot

    def restore(self, spot: Spot) -> None:
        """Put the former value back."""
        self._put(spot, spot.root)

    def _put(self, spot: Spot, value: Any) -> None:
        body = {"table": spot.table, spot.part: {spot.path[0]: value}}
        done = self.place.admin("PATCH", f"objects/{quote(spot.object_id, safe='')}", body)
        assert done["changed"], spot

    def _spots(self, name: str) -> Iterator[Spot]:
        told = PLACES.get(self.rtype.name, {}).get(name)
        renamed = getattr(self.rtype, "renamed", {})
        field = renamed.get(name, name)
        names = [told] if told else [field, getattr(self.rtype, "created_as", {}).get(field), name]
        objects = [
            (ident, one)
            for ident in dict.fromkeys(self.candidates)
            if ident
            for one in self.place.admin("GET", f"objects/{quote(ident, safe='')}")["objects"]
        ]
        for wanted in filter(None, names):
            for ident, one in objects:
                for part in PARTS:
                    for path in paths(one[part], wanted):
                        yield Spot(ident, one["table"], part, path, one[part][path[0]])


def paths(value: Any, wanted: str) -> Iterator[tuple[Any, ...]]:
    """The paths in a map that end with a key, the shallow ones first; `a.b` is a path by itself."""
    first, _, rest = wanted.partition(".")
    if rest and isinstance(value, dict) and isinstance(value.get(first), dict):
        yield from ((first, *path) for path in paths(value[first], rest))
        return
    if isinstance(value, dict):
        if wanted in value:
            yield (wanted,)
        for key, inner in value.items():
            if isinstance(inner, dict):
                yield from ((key, *path) for path in paths(inner, wanted))


def other(value: Any) -> Any:
    """A value that means something else."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case None:
            return "changed"
        case str():
            return _other_text(value)
        case list():
            return [*value[:-1], other(value[-1])] if value else ["changed"]
        case dict():
            if not value:
                return {"changed": "changed"}
            key = next(reversed(value))
            return {**value, key: other(value[key])}
    raise AssertionError(value)


def _other_text(text: str) -> str:
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
