"""The catalogue of resource types: built in, and from installed packages.

A package adds types with entry points of the group `hearth.types`: each names a ResourceType class,
or a function without arguments that gives ResourceType instances. Source: rule R8.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points

import hearth.resources
from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.model.problem import Problem, ResourceTypeUnavailable
from hearth.resources.base import ResourceType
from hearth.resources.known import KNOWN

GROUP = "hearth.types"


class Catalog:
    """Resource types by name."""

    def __init__(self, types: Mapping[str, ResourceType]) -> None:
        self._types = dict(types)

    def find(self, name: str) -> ResourceType | None:
        """The type of this exact name."""
        return self._types.get(name)

    def names(self) -> Iterable[str]:
        """The names of all types, sorted."""
        return sorted(self._types)

    def missing(self, name: str) -> Problem | None:
        """The problem of a type that Heat has and we do not; None for any other name."""
        if name in self._types or name not in KNOWN:
            return None
        return ResourceTypeUnavailable(None, f"{name} is a type of Heat that is not available here")

    def with_type(self, kind: ResourceType) -> Catalog:
        """The same catalogue with one more type, or another one under a known name."""
        return Catalog({**self._types, kind.name: kind})

    async def unavailable(self, names: Iterable[str], cloud: Cloud) -> list[Problem]:
        """Problems for types whose service, or extension of it, the cloud does not have."""
        wanted: dict[str, list[str]] = {}
        for name in names:
            kind = self._types.get(name)
            if kind is not None and kind.service is not None:
                wanted.setdefault(kind.service, []).append(name)
        problems: list[Problem] = []
        for service, types in wanted.items():
            try:
                await cloud.endpoint(service)
            except CloudFault as fault:
                if not fault.not_found:
                    raise
                problems += [
                    ResourceTypeUnavailable(None, f"{name}: this cloud has no {service} service")
                    for name in types
                ]
            else:
                problems += await self._unextended(types, cloud)
        return problems

    async def _unextended(self, names: Iterable[str], cloud: Cloud) -> list[Problem]:
        """Problems for types that need an extension which the network service does not have."""
        needed = {n: e for n in names if (e := self._types[n].extension) is not None}
        if not needed:
            return []
        listed = {one["alias"] for one in await cloud.listing("network", "/v2.0/extensions")}
        return [
            ResourceTypeUnavailable(
                None, f"{name}: the network service of this cloud has no extension {extension}"
            )
            for name, extension in needed.items()
            if extension not in listed
        ]


@cache
def builtin_types() -> Mapping[str, ResourceType]:
    """The types that come with Hearth, by name; one instance each."""
    found: dict[str, ResourceType] = {}
    for module in pkgutil.walk_packages(hearth.resources.__path__, "hearth.resources."):
        for kind in vars(importlib.import_module(module.name)).values():
            if (
                inspect.isclass(kind)
                and issubclass(kind, ResourceType)
                and "type_name" in vars(kind)
            ):
                found[kind.type_name] = kind()
    return found


@cache
def installed_types() -> Mapping[str, ResourceType]:
    """The types of installed packages, by name."""
    found: dict[str, ResourceType] = {}
    for entry in entry_points(group=GROUP):
        loaded = entry.load()
        made = loaded() if callable(loaded) else loaded
        for kind in [made] if isinstance(made, ResourceType) else made:
            found[kind.name] = kind
    return found


def default_catalog() -> Catalog:
    """All types there are; an installed package may stand in for a built-in one."""
    return Catalog({**builtin_types(), **installed_types()})
