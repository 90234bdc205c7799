"""The catalogue of resource types: built in, and from installed packages.

A package adds types with entry points of the group `hearth.types`: the entry's name is the type
name, its value a ResourceType class. Hearth imports a type at its first use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import NoService
from hearth.resources.base import ResourceType, unpickles_types
from hearth.resources.entry_points import entry_points
from hearth.resources.index import INDEX, REVIVED
from hearth.resources.known import RETIRED, REVIVED_SUFFIX
from hearth.template.types import TypeCatalog

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "hearth.types"


class BadPackage(Exception):
    """A type of an installed package cannot be used. The message names the package and the
    reason.
    """


class Catalog:
    """The resource types by name. `find` also returns retired types, `names` does not."""

    def __init__(
        self,
        types: Mapping[str, ResourceType],
        retired: Mapping[str, ResourceType] | None = None,
    ) -> None:
        self._types = types
        self._retired = retired or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return shared_catalog, ()

    def find(self, name: str) -> ResourceType | None:
        """Return the type with this exact name, or None."""
        return self._types.get(name) or self._retired.get(name)

    def names(self) -> Iterable[str]:
        """Return the names of all types except retired ones, sorted."""
        return sorted(self._types)

    def with_type(self, rtype: ResourceType) -> Catalog:
        """Return a copy of the catalogue with this type, which replaces a type of the same name."""
        return Catalog(_over({rtype.name: rtype}, self._types), self._retired)

    async def unavailable(self, names: Iterable[str], cloud: Cloud) -> dict[str, str]:
        """Return which of these types the cloud cannot serve, with the reasons.

        That is a type whose service the catalogue of `cloud` does not have, or that needs a missing
        extension of the network service. Raises CloudFault.
        """
        names_by_service: dict[str, list[str]] = {}
        for name in names:
            rtype = self.find(name)
            if rtype is not None and rtype.service is not None:
                names_by_service.setdefault(rtype.service, []).append(name)
        reasons: dict[str, str] = {}
        for service, types in names_by_service.items():
            try:
                await cloud.endpoint(service)
            except NoService:
                reasons |= dict.fromkeys(types, f"this cloud has no {service} service")
            else:
                reasons |= await self._unextended(types, cloud)
        return reasons

    async def _unextended(self, names: Iterable[str], cloud: Cloud) -> dict[str, str]:
        """Return which of these types need a missing extension of the network service, with the
        reasons.
        """
        extensions = {n: e for n in names if (e := self._types[n].extension) is not None}
        if not extensions:
            return {}
        aliases = {row["alias"] for row in await cloud.listing("network", "/v2.0/extensions")}
        return {
            name: f"the network service of this cloud has no extension {extension}"
            for name, extension in extensions.items()
            if extension not in aliases
        }


class _Lazy(Mapping[str, ResourceType]):
    """A map of types by name. A type is imported and its one instance created at its first use."""

    def __init__(self, names: Iterable[str], load: Callable[[str], ResourceType]) -> None:
        self._loaded: dict[str, ResourceType | None] = dict.fromkeys(names)
        self._load = load

    def __getitem__(self, name: str) -> ResourceType:
        kind = self._loaded[name]
        if kind is None:
            kind = self._loaded[name] = self._load(name)
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self._loaded

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


@cache
def builtin_types() -> Mapping[str, ResourceType]:
    """Return the types that come with Hearth, by name."""
    return _Lazy(INDEX, lambda name: _declared(name, INDEX[name]))


@cache
def retired_types() -> Mapping[str, ResourceType]:
    """Return the placeholders for Heat's retired types, by name."""

    def placeholder(name: str) -> ResourceType:
        from hearth.resources.heat.retired import Retired

        return Retired.of_name(name)

    return _Lazy(RETIRED, placeholder)


@cache
def revived_types() -> Mapping[str, ResourceType]:
    """Return those types that work through a successor in place of a placeholder, by name."""
    return _Lazy(REVIVED, lambda name: _declared(name, REVIVED[name]))


def _declared(name: str, module: str) -> ResourceType:
    """Return the type with this name that a module declares."""
    for kind in vars(import_module(module)).values():
        if (
            inspect.isclass(kind)
            and issubclass(kind, ResourceType)
            and vars(kind).get("type_name") == name
        ):
            return kind()
    raise AssertionError(f"the module {module} declares no resource type {name}")


@cache
def installed_types() -> Mapping[str, ResourceType]:
    """Return the types of installed packages, by name."""
    entries = {entry.name: entry for entry in entry_points(GROUP)}
    return _Lazy(entries, lambda name: _installed(entries[name]))


def _installed(entry: EntryPoint) -> ResourceType:
    """Import a type of an installed package and return its instance.

    Raises BadPackage if that fails; the message names the package.
    """
    label = f"the resource type {entry.name} of {entry.dist.name if entry.dist else entry.value}"
    try:
        kind = entry.load()()
    except Exception as problem:
        raise BadPackage(f"{label} cannot be loaded: {problem!r}") from problem
    if not isinstance(kind, ResourceType) or kind.name != entry.name:
        got = f"{type(kind).__name__} named {getattr(kind, 'name', None)!r}"
        raise BadPackage(f"{label}: expected a ResourceType named {entry.name!r}, got {got}")
    return kind


def default_catalog(*, revive: bool = False) -> Catalog:
    """Return the catalogue of all types; a type of an installed package replaces the built-in type
    of the same name.

    If `revive` is true, retired types with a successor work through it, instead of as placeholders.
    """
    builtin = _over(revived_types(), builtin_types()) if revive else builtin_types()
    return Catalog(_over(installed_types(), builtin), retired_types())


_shared: list[Catalog] = []


def share(catalog: Catalog) -> Catalog:
    """Make a catalogue the shared one of this process, and return it."""
    _shared[:] = [catalog]
    return catalog


def shared_catalog() -> Catalog:
    """Return the shared catalogue of this process.

    A pickled catalogue contains no types: unpickling it in another process calls this function.
    """
    return _shared[0] if _shared else share(default_catalog())


@unpickles_types
def type_named(kind: str) -> ResourceType:
    """Return the type of this kind, with the shared catalogue; called to unpickle a type."""
    rtype = type_of_kind(kind, shared_catalog())
    assert rtype is not None, kind
    return rtype


def type_of_kind(kind: str, catalog: TypeCatalog) -> ResourceType | None:
    """Return the type that made a record of this kind, or None if it is not installed.

    A record belongs to the form of a retired type that made it, a placeholder or a revived type,
    whatever the catalogue has now.
    """
    name, revived, _ = kind.partition(REVIVED_SUFFIX)
    if revived:
        return revived_types().get(name)
    rtype = catalog.find(kind)
    if not isinstance(rtype, ResourceType):
        return None
    return rtype if rtype.recorded_as == kind else retired_types()[kind]


def _over(first: Mapping[str, ResourceType], then: Mapping[str, ResourceType]) -> _Lazy:
    """Return the types of both maps; if a name is in both, the type in `first` is used."""
    return _Lazy(
        {**dict.fromkeys(then), **dict.fromkeys(first)},
        lambda name: (first if name in first else then)[name],
    )
