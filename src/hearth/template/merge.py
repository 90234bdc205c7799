"""Merging of several environment files. Source: docs/spec/environment.md, section 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.model.json_text import parse_json, too_deep
from hearth.model.problem import (
    ConflictingMergeStrategyForParam,
    HTTPBadRequest,
    InvalidMergeStrategyForParam,
    Rejected,
)
from hearth.model.span import Span
from hearth.template.parameters import ParameterType

STRATEGIES = ("overwrite", "merge", "deep_merge")


class Merger:
    """Merges environment files, in the order in which they are added.

    Source: docs/spec/environment.md, section 3.
    """

    def __init__(self, start: Mapping[str, Any], types: Mapping[str, ParameterType]) -> None:
        self.types = types
        self.sections: dict[str, Any] = {name: value for name, value in start.items() if value}
        self.strategies: dict[str, str] = {}
        self.combined: set[str] = set()  # parameters whose values were merged

    def add(self, file: str, environment: Mapping[str, Any]) -> None:
        """Merge another environment file, given by its name and its content.

        Raises Rejected if values of a parameter cannot be merged, or have conflicting strategies.
        """
        chosen = environment["parameter_merge_strategies"]
        for section, value in environment.items():
            if not value or section == "parameter_merge_strategies":
                continue
            if section in ("parameters", "parameter_defaults"):
                self.add_values(file, section, value, chosen)
            elif isinstance(value, list):
                self.sections.setdefault(section, value)
            else:
                merged = dict(self.sections.get(section, {}))
                merged.update({k: v for k, v in value.items() if v is not None or k not in merged})
                self.sections[section] = merged

    def add_values(
        self, file: str, section: str, values: Mapping[str, Any], chosen: Mapping[str, str]
    ) -> None:
        present = self.sections.get(section)
        first = not present
        target = dict(present or {})
        for name, value in values.items():
            if name in self.types:
                strategy = self.strategy(file, name, chosen)
            elif first:
                strategy = "overwrite"
            else:
                continue
            if first:
                target[name] = value
            elif value is not None:
                merge = strategy != "overwrite" and target.get(name) is not None
                if merge and section == "parameters":
                    self.combined.add(name)
                target[name] = (
                    self.merged(file, name, target[name], value, strategy) if merge else value
                )
        self.sections[section] = target

    def strategy(self, file: str, name: str, chosen: Mapping[str, str]) -> str:
        default = chosen.get("default", "overwrite")
        default = default if default in STRATEGIES else "overwrite"
        declared = chosen.get(name)
        if declared is not None and declared not in STRATEGIES:
            declared = default
        remembered = self.strategies.get(name)
        if declared is not None and remembered is not None and declared != remembered:
            message = (
                f'parameter "{name}" is merged with the strategy {remembered} '
                f"and cannot be merged with {declared} in {file}"
            )
            raise Rejected([ConflictingMergeStrategyForParam(Span(file), message)])
        strategy = declared or remembered or default
        self.strategies.setdefault(name, strategy)
        return strategy

    def merged(self, file: str, name: str, old: Any, new: Any, strategy: str) -> Any:
        kind = self.types[name]
        deep = strategy == "deep_merge"
        try:
            match kind:
                case ParameterType.JSON:
                    return merged_maps(_as_map(old), _as_map(new), deep)
                case ParameterType.LIST:
                    return _merged_lists(old, new)
                case ParameterType.BOOLEAN if isinstance(new, str):
                    message = f'boolean parameter "{name}" cannot be merged'
                    raise Rejected([InvalidMergeStrategyForParam(Span(file), message)])
                case _ if isinstance(old, str) and isinstance(new, str):
                    return old + new
        except ValueError:
            pass
        message = f'the values of parameter "{name}" of type {kind} cannot be merged'
        raise Rejected([HTTPBadRequest(Span(file), message)])


def _as_map(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        value = parse_json(value)
    if not isinstance(value, Mapping) or too_deep(value):
        raise ValueError(value)
    return dict(value)


def _merged_lists(old: Any, new: Any) -> Any:
    if isinstance(old, str) and isinstance(new, str):
        return f"{old},{new}"
    as_lists = [value.split(",") if isinstance(value, str) else value for value in (old, new)]
    if not all(isinstance(value, list) for value in as_lists):
        raise ValueError(new)
    return as_lists[0] + as_lists[1]


def merged_maps(old: Mapping[str, Any], new: Mapping[str, Any], deep: bool) -> dict[str, Any]:
    """Return the old map updated with the entries of the new one; null values are ignored.

    If `deep` is true, values that both maps have under a key are also combined: maps are merged
    deeply, and lists and texts are concatenated.
    """
    result = dict(old)
    for key, value in new.items():
        if value is None:
            continue
        present = result.get(key)
        if deep and isinstance(present, Mapping) and isinstance(value, Mapping):
            result[key] = merged_maps(present, value, deep)
        elif deep and isinstance(present, list) and isinstance(value, list):
            result[key] = [*present, *value]
        elif deep and isinstance(present, str) and isinstance(value, str):
            result[key] = f"{present}{value}"
        else:
            result[key] = value
    return result
