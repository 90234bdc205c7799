"""Environments: parameter values and type mappings for a stack, and how several of them are merged.

An environment is immutable. Source: docs/spec/environment.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hearth.model.problem import (
    HTTPBadRequest,
    Invalid,
    InvalidBreakPointHook,
    InvalidRestrictedAction,
    Problem,
    Rejected,
    hint,
    nearest,
)
from hearth.model.span import Span
from hearth.model.state import Hook, RestrictedAction
from hearth.template.limits import Limits
from hearth.template.load import Node, load
from hearth.template.merge import Merger
from hearth.template.parameters import ParameterType

SECTIONS: Mapping[str, type] = {
    "parameters": dict,
    "parameter_defaults": dict,
    "resource_registry": dict,
    "parameter_merge_strategies": dict,
    "event_sinks": list,
    "encrypted_param_names": list,
}
MAY_BE_EMPTY = SECTIONS.keys() - {"parameters", "resource_registry"}
"""Sections that may have another type if they are empty, because clients send an empty list for an
empty map.
"""

TEMPLATE_ENDINGS = (".yaml", ".template")
NAMES_TRIED_MAX = 100
"""The maximum number of names that one lookup of a type tries, because mappings with wildcards can
produce longer and longer names.
"""

SINKS = ("zaqar-queue",)
SINK_KEYS = ("type", "target", "ttl")


class TypeLookup(Protocol):
    """The part of a type catalogue that is needed to look up a type."""

    def find(self, name: str) -> Any: ...


class TemplateEntry(Struct, frozen=True):
    """The result of looking up a type name: a nested template.

    `template` is its key in the files, and `entry` the name of the entry in the resource registry.
    `by_operator` is true if the entry is in the operator's environment.
    """

    template: str
    entry: str
    by_operator: bool = False


class TypeEntry(Struct, frozen=True):
    """The result of looking up a type name: a built-in resource type."""

    name: str


class Environment(Struct, frozen=True, dict=True):
    """The parameter values and type mappings for a stack.

    `base` is the operator's environment, which the user's environment overrides; `texts` are the
    templates to which the operator's entries refer. In the environment of a nested stack,
    `of_child` is true: then `parameter_defaults` replace the defaults in the template.
    """

    parameters: Mapping[str, Any] = {}
    parameter_defaults: Mapping[str, Any] = {}
    resource_registry: Mapping[str, Any] = {}
    parameter_merge_strategies: Mapping[str, str] = {}
    event_sinks: Sequence[Any] = ()
    encrypted_param_names: Sequence[str] = ()
    base: Environment | None = None
    texts: Mapping[str, str] = {}
    of_child: bool = False

    @classmethod
    def parse(
        cls,
        source: str | Mapping[str, Any] | None,
        file: str = "environment",
        *,
        base: Environment | None = None,
        limits: Limits | None = None,
    ) -> Environment:
        """Parse an environment, given as YAML or JSON text or as a map; None is an empty one.

        `file` is its name in messages, and `base` the operator's environment. Raises Rejected.
        """
        return cls.of(load(source or "", file, limits), file, base=base)

    @classmethod
    def of(cls, root: Node, file: str, *, base: Environment | None = None) -> Environment:
        """Return the environment in a loaded document, whose root is `root`. Raises Rejected.

        `file` is the name of the document in error messages. `base` is the operator's environment,
        or None.
        """
        if root.value is None:
            return cls(base=base)
        problems = list(_problems(root, file))
        if problems:
            raise Rejected(problems)
        sections = {name: value or SECTIONS[name]() for name, value in root.plain().items()}
        return cls(**sections, base=base)

    def as_map(self) -> dict[str, Any]:
        """Return the environment as a map of all sections, including empty ones."""
        return {
            "parameters": dict(self.parameters),
            "parameter_defaults": dict(self.parameter_defaults),
            "resource_registry": dict(self.resource_registry),
            "parameter_merge_strategies": dict(self.parameter_merge_strategies),
            "event_sinks": list(self.event_sinks),
            "encrypted_param_names": list(self.encrypted_param_names),
        }

    def with_parameters(self, parameters: Mapping[str, Any]) -> Environment:
        """Return a copy of the environment with these parameter values added; they override
        existing ones.
        """
        return replace(self, parameters={**self.parameters, **parameters})

    def merge(
        self,
        keys: Sequence[str],
        files: Mapping[str, str],
        types: Mapping[str, ParameterType],
        firm: Mapping[str, Any] | None = None,
    ) -> Environment:
        """Return the environment with environment files merged into it, in order. Raises Rejected.

        `keys` are the names of the files. `types` are the types of all parameters in the root
        template and in `files`. The value of a parameter in `firm` is not replaced by a file, but
        it is merged if the parameter has a merge strategy.
        """
        if not keys:
            return self
        merger = Merger(self.as_map(), types)
        for key in keys:
            if key not in files:
                message = f'the environment file "{key}" was not found in the files of the request'
                raise Rejected([Invalid(Span(key), message)])
            merger.add(key, Environment.parse(files[key], key).as_map())
        missed = {name: v for name, v in (firm or {}).items() if name not in merger.combined}
        return Environment(**merger.sections, base=self.base).with_parameters(missed)

    # -- registry ---------------------------------------------------------------------------

    @property
    def key(self) -> str:
        """Return as text the parts of the environment on which a module depends."""
        base = self.base.key if self.base is not None else ""
        replacing = self.of_child and bool(self.parameter_defaults)
        content = [self.resource_registry, self.parameter_defaults, self.texts, replacing]
        return json.dumps(content, sort_keys=True, default=str) + base

    @property
    def names_resources(self) -> bool:
        """Return whether the environment has entries for single resources, given by name."""
        return bool(self.resource_registry.get("resources"))

    def find(
        self, type_name: str, resource: str, catalog: TypeLookup
    ) -> TemplateEntry | TypeEntry | None:
        """Return the built-in type or nested template for the type name of a resource; None if
        there is none.
        """
        return self._find(type_name, resource, catalog, set(), {})

    def mappings(self, type_name: str, resource: str, catalog: TypeLookup) -> dict[str, str]:
        """Return the registry entries that lead from a type name to the result of `find`.

        The result maps each type name on the way to the value of its entry. Wildcards are replaced
        by the names that they matched.
        """
        steps: dict[str, str] = {}
        self._find(type_name, resource, catalog, set(), steps)
        return steps

    def _find(
        self,
        type_name: str,
        resource: str,
        catalog: TypeLookup,
        visited: set[str],
        steps: dict[str, str],
    ) -> TemplateEntry | TypeEntry | None:
        """Return the result of `find`. The names in `visited` are not followed again.

        The entries on the way are added to `steps`.
        """
        if type_name in visited or len(visited) >= NAMES_TRIED_MAX:
            return None
        visited.add(type_name)
        for name, value, by_operator in self._candidates(type_name, resource):
            if value is None or _is_template(value) or _is_template(name):
                steps[name] = name if value is None else value
                return TemplateEntry(steps[name], name, by_operator and value is not None)
            target = _target(name, value, type_name)
            if target == type_name:
                return None
            entry = self._find(target, resource, catalog, visited, steps)
            if entry is not None:
                steps[type_name] = value
                return entry
        return TypeEntry(type_name) if catalog.find(type_name) is not None else None

    def chain(self, type_name: str, resource: str) -> list[str]:
        """Return the names through which the registry leads from a type name that is not found.

        The first one is `type_name`. In a loop, the last one repeats an earlier one.
        """
        names = [type_name]
        while names.count(names[-1]) == 1 and len(names) < NAMES_TRIED_MAX:
            candidate = next(self._candidates(names[-1], resource), None)
            if candidate is None:
                break
            name, value, _ = candidate
            names.append(_target(name, str(value), names[-1]))
        return names

    def _candidates(self, type_name: str, resource: str) -> Iterator[tuple[str, Any, bool]]:
        """Yield the registry entries that match a type name, in order of precedence.

        Each item is (name of the entry, its value, whether it is the operator's).
        """
        registry = self.resource_registry
        entries = _subtree(registry, resource)
        if isinstance(entries, Mapping) and isinstance(entries.get(type_name), str):
            yield type_name, entries[type_name], False
        pairs: list[tuple[str, Any]] = []
        if _is_template(type_name):
            pairs.append((type_name, registry.get(type_name)))
        pairs.extend(self._general.fitting(type_name))
        for name, value in sorted(pairs, key=lambda pair: pair[0]):
            yield name, value, False
        if self.base is not None:
            for name, value in sorted(self.base._general.fitting(type_name)):
                yield name, value, True

    @cached_property
    def _general(self) -> _General:
        return _General(self.resource_registry)

    def for_child(self, resource: str, entry: TemplateEntry | None) -> Environment:
        """Return the environment for the nested stack of a resource.

        It has no parameters. Of the part `resources` of the registry, only what is given for
        resources inside this one stays: maps, by their names. `entry` is the registry entry that
        names the nested template. It is removed, so that the same type inside the nested stack
        means the built-in type. None stands for the generated template of a group. Source:
        docs/spec/environment.md, section 4.3.
        """
        registry = dict(self.resource_registry)
        if entry is not None:
            registry.pop(entry.entry, None)
        by_resource = registry.pop("resources", None)
        if isinstance(by_resource, Mapping):
            inner: dict[str, Any] = {}
            for pattern, entries in by_resource.items():
                if pattern != resource and fnmatchcase(resource, pattern):
                    deep_update(inner, entries)
            if isinstance(by_resource.get(resource), Mapping):
                deep_update(inner, by_resource[resource])
            inside = {
                name: settings for name, settings in inner.items() if isinstance(settings, Mapping)
            }
            if inside:
                registry["resources"] = inside
        return replace(self, parameters={}, resource_registry=registry, of_child=True)

    # -- hooks and restricted actions -------------------------------------------------------

    def hooks(self, resource: str) -> frozenset[str]:
        """Return the hooks at which the resource with this name must wait."""
        return frozenset(self._listed(resource, "hooks"))

    def restricted_actions(self, resource: str) -> frozenset[str]:
        """Return the actions that the environment forbids for the resource with this name."""
        return frozenset(self._listed(resource, "restricted_actions"))

    def _listed(self, resource: str, key: str) -> Iterator[str]:
        by_resource = self.resource_registry.get("resources")
        if not isinstance(by_resource, Mapping):
            return
        for pattern, entries in by_resource.items():
            if fnmatchcase(resource, pattern) and isinstance(entries, Mapping):
                value = entries.get(key, [])
                if isinstance(value, str):
                    yield value
                elif isinstance(value, list):
                    yield from (entry for entry in value if isinstance(entry, str))


def _target(name: str, value: str, type_name: str) -> str:
    """Return the name to which the entry `name` with this value maps a type name that it matches.

    If both end with a wildcard, the part of the type name that it stands for is kept.
    """
    if name.endswith("*") and value.endswith("*"):
        return value[:-1] + type_name[len(name) - 1 :]
    return value


def _is_template(name: Any) -> bool:
    return isinstance(name, str) and name.endswith(TEMPLATE_ENDINGS)


def _subtree(registry: Mapping[str, Any], resource: str) -> Any:
    by_resource = registry.get("resources")
    return by_resource.get(resource) if isinstance(by_resource, Mapping) else None


class _General:
    """The entries of a resource registry that apply to resources of any name, prepared for
    lookups.
    """

    def __init__(self, registry: Mapping[str, Any]) -> None:
        masked = tuple(
            name[:-1] for name, value in registry.items() if value is None and name.endswith("*")
        )
        self.exact: dict[str, str] = {}
        self.wildcards: list[tuple[str, str, str]] = []  # prefix, name, value
        for name, value in registry.items():
            if not isinstance(value, str) or name == "resources" or name.startswith(masked):
                continue
            if name.endswith("*") and not _is_template(value):
                self.wildcards.append((name[:-1], name, value))
            elif not _is_template(name):
                self.exact[name] = value

    def fitting(self, type_name: str) -> Iterator[tuple[str, str]]:
        """Yield (name, value) of the entries that match a type name."""
        if type_name in self.exact:
            yield type_name, self.exact[type_name]
        for start, name, value in self.wildcards:
            if type_name.startswith(start) and value != type_name:
                yield name, value


def deep_update(target: dict[str, Any], source: Any) -> None:
    """Merge a resource registry, or a part of it, into another one, entry by entry at each level.

    Entries of `source` take precedence.
    """
    if not isinstance(source, Mapping):
        return
    for key, value in source.items():
        if isinstance(value, Mapping):
            inner = dict(target[key]) if isinstance(target.get(key), Mapping) else {}
            deep_update(inner, value)
            target[key] = inner
        else:
            target[key] = value


# -- reading ------------------------------------------------------------------------------------


def _problems(root: Node, file: str) -> Iterator[Problem]:
    if not isinstance(root.value, dict):
        yield HTTPBadRequest(root.span(file), "an environment must be a map")
        return
    for name, node in root.value.items():
        at = node.key_span(file, name)
        if name not in SECTIONS:
            near = hint(nearest(name, SECTIONS))
            yield HTTPBadRequest(at, f'"{name}" is not a section of an environment{near}')
        elif name in MAY_BE_EMPTY and isinstance(node.value, str | list | dict) and not node.value:
            continue
        elif not isinstance(node.value, SECTIONS[name]):
            kind = "map" if SECTIONS[name] is dict else "list"
            yield HTTPBadRequest(at, f"the section {name} must be a {kind}")
    registry = root.value.get("resource_registry")
    if registry is not None and isinstance(registry.value, dict):
        by_resource = registry.value.get("resources")
        if by_resource is not None:
            yield from _named_problems(by_resource, file, "resource_registry.resources")
        for name, node in registry.value.items():
            if name != "resources" and not isinstance(node.value, str | None):
                message = f"expected the name of a type or of a template, got {node.plain()}"
                yield HTTPBadRequest(node.span(file, f"resource_registry.{name}"), message)
    sinks = root.value.get("event_sinks")
    if sinks is not None and isinstance(sinks.value, list):
        yield from _sink_problems(sinks.value, file)


def _named_problems(node: Node, file: str, path: str, depth: int = 0) -> Iterator[Problem]:
    """Yield the problems of the registry entries for single resources.

    At depth 2 and more, an entry may be a type mapping.
    """
    if depth > 1 and isinstance(node.value, str):
        return
    if not isinstance(node.value, dict):
        message = f"expected a map of settings for single resources, got {node.plain()}"
        yield HTTPBadRequest(node.span(file, path), message)
        return
    for name, inner in node.value.items():
        inner_path = f"{path}.{name}"
        if inner.value is None:
            continue
        if name == "hooks":
            for word, word_node in _words(inner):
                if word not in list(Hook):
                    near = hint(nearest(str(word), list(Hook))) or f"; known are {', '.join(Hook)}"
                    message = f'there is no hook "{word}"{near}'
                    yield InvalidBreakPointHook(word_node.span(file, inner_path), message)
        elif name == "restricted_actions":
            for word, word_node in _words(inner):
                if word not in list(RestrictedAction):
                    near = hint(nearest(str(word), list(RestrictedAction)))
                    message = f'there is no restricted action "{word}"{near}'
                    yield InvalidRestrictedAction(word_node.span(file, inner_path), message)
        else:
            yield from _named_problems(inner, file, inner_path, depth + 1)


def _words(node: Node) -> list[tuple[Any, Node]]:
    if isinstance(node.value, list):
        return [
            (item.value if isinstance(item.value, str) else item.plain(), item)
            for item in node.value
        ]
    return [(node.value if isinstance(node.value, str) else node.plain(), node)]


def _sink_problems(sinks: Iterable[Node], file: str) -> Iterator[Problem]:
    for number, sink in enumerate(sinks):
        at = sink.span(file, f"event_sinks[{number}]")
        fields = sink.plain()
        if not isinstance(fields, dict) or fields.get("type") not in SINKS:
            kind = fields.get("type") if isinstance(fields, dict) else fields
            yield Invalid(at, f"the type of an event sink must be {' or '.join(SINKS)}, not {kind}")
            continue
        for name in (name for name in fields if name not in SINK_KEYS):
            near = hint(nearest(str(name), SINK_KEYS))
            yield Invalid(at, f'an event sink of type {fields["type"]} has no "{name}"{near}')
        if not fields.get("target") or not isinstance(fields["target"], str):
            yield Invalid(at, "the target of an event sink must be the name of a queue")
        ttl = fields.get("ttl")
        if ttl is not None and (type(ttl) is not int or ttl < 1):
            yield Invalid(at, f"the ttl of an event sink must be a number of seconds, not {ttl}")
