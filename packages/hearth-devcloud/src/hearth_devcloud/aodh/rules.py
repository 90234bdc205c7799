"""The types of alarm rules: the fields of each type, and their checks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from hearth_devcloud.collection import (
    Check,
    Collection,
    Field,
    Invalid,
    Unconvertible,
    boolean,
    list_of,
    one_of,
    text,
)
from hearth_devcloud.collection import integer as whole
from hearth_devcloud.http import Body, Refusal

OPERATORS = ("lt", "le", "eq", "ne", "ge", "gt")
VALUE_TYPES = ("integer", "float", "string", "boolean", "datetime")
_METHODS = re.compile(r"(rate:)?(mean|sum|last|max|min|std|median|first|count|nunique|\d\d?pct)")


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def number(value: Any) -> float:
    """Convert a number or its text to a float. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Unconvertible(f"{value!r} is not a number")
    try:
        return float(value)
    except ValueError:
        raise Unconvertible(f"{value!r} is not a number") from None


def _method(value: Any) -> str:
    if not isinstance(value, str) or not _METHODS.fullmatch(value):
        raise ValueError(f"{value!r} is not an aggregation method")
    return value


def _json_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    try:
        json.loads(value)
    except ValueError:
        raise ValueError(f"{value!r} is not JSON") from None
    return value


def cast(value: Any, kind: str) -> Any:
    """Convert a value to the type `kind`, one of VALUE_TYPES. Raises ValueError."""
    match kind:
        case "integer":
            return int(value)
        case "float":
            return float(value)
        case "boolean":
            booleans = {"true": True, "1": True, "false": False, "0": False}
            if str(value).lower() not in booleans:
                raise ValueError(f"{value!r} is not a boolean")
            return booleans[str(value).lower()]
        case "datetime":
            return datetime.fromisoformat(str(value)).replace(tzinfo=None)
        case _:
            return str(value)


def _query(value: Any) -> Any:
    query = checked(_CONDITION, value)
    try:
        cast(query["value"], query["type"] or "string")
    except (ValueError, TypeError):
        message = f"Unable to convert the value {query['value']} to the expected data type"
        raise ValueError(f"{message} {query['type']}.") from None
    return query


def checked(collection: Collection, attributes: Any) -> Body:
    """Return the checked fields of an object, with defaults; null is as if it were not given.

    Raises ValueError.
    """
    if not isinstance(attributes, dict):
        raise ValueError(f"{attributes!r} is not an object")
    try:
        return collection.for_create({n: v for n, v in attributes.items() if v is not None})
    except Invalid as error:
        raise ValueError(error.message) from None


def _rule(name: str, fields: Mapping[str, Field]) -> Collection:
    return Collection("alarming", "rules", name, fields)


_LONG = text(2**16)
_CONDITION = _rule(
    "query",
    {
        "field": Field(text(), required=True),
        "op": Field(one_of(*OPERATORS), default="eq"),
        "value": Field(text(), required=True),
        "type": Field(one_of("", *VALUE_TYPES), default=""),
    },
)
_COMPARED = {
    "comparison_operator": Field(one_of(*OPERATORS), default="eq"),
    "threshold": Field(number, required=True),
    "evaluation_periods": Field(whole(1), default=1),
}
_MEASURED = {
    **_COMPARED,
    "aggregation_method": Field(_method, required=True),
    "granularity": Field(whole(1), default=60),
}
THRESHOLDS: Mapping[str, Collection] = {
    "gnocchi_resources_threshold": _rule(
        "gnocchi_resources_threshold_rule",
        {
            **_MEASURED,
            "metric": Field(text(), required=True),
            "resource_id": Field(text(), required=True),
            "resource_type": Field(text(), required=True),
        },
    ),
    "gnocchi_aggregation_by_metrics_threshold": _rule(
        "gnocchi_aggregation_by_metrics_threshold_rule",
        {**_MEASURED, "metrics": Field(list_of(text()), required=True)},
    ),
    "gnocchi_aggregation_by_resources_threshold": _rule(
        "gnocchi_aggregation_by_resources_threshold_rule",
        {
            **_MEASURED,
            "metric": Field(text(), required=True),
            "query": Field(_json_text, required=True),
            "resource_type": Field(text(), required=True),
        },
    ),
    "prometheus": _rule("prometheus_rule", {**_COMPARED, "query": Field(_LONG, required=True)}),
}
"""The types of alarms that compare values with a threshold, with the fields of their rules."""

_ABOUT = ("resource_id", "user_id", "project_id", "source", "metadata.")


def _of_samples(value: Any) -> Any:
    query = _query(value)
    if not query["field"].startswith(_ABOUT):
        raise ValueError(f"unrecognized field in query: {query['field']}")
    return query


METERED = "threshold"
_METERED = _rule(
    "threshold_rule",
    {
        **_COMPARED,
        "meter_name": Field(text(), required=True),
        "query": Field(list_of(_of_samples), default=list),
        "period": Field(whole(1), default=60),
        "statistic": Field(one_of("avg", "max", "min", "sum", "count"), default="avg"),
        "exclude_outliers": Field(boolean, default=False),
    },
)


def _composite(value: Any) -> Body:
    """Check a composite rule and return it. Raises ValueError.

    The rule is {"and": [rules]} or {"or": [rules]} with at least two rules; each of them is a
    composite rule, or a threshold rule with its `type`.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not an object")
    if len(value) == 1:
        ((word, inner),) = value.items()
        if word not in ("and", "or"):
            raise ValueError(f'Threshold rules should be combined with "and" or "or", not "{word}"')
        if not isinstance(inner, list) or len(inner) < 2:
            raise ValueError(f"{word!r} needs a list of at least two rules")
        return {word: [_composite(rule) for rule in inner]}
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in THRESHOLDS:
        raise ValueError(f"Unsupported sub-rule type: {kind}")
    own_values = {name: rule_value for name, rule_value in value.items() if name != "type"}
    return {**checked(THRESHOLDS[kind], own_values), "type": kind}


def _of(collection: Collection) -> Check:
    return lambda value: checked(collection, value)


_EVENT = _rule(
    "event_rule",
    {
        "event_type": Field(text(), default="*"),
        "query": Field(list_of(_query), default=list),
    },
)
_MEMBERS = _rule(
    "loadbalancer_member_health_rule",
    dict.fromkeys(("pool_id", "stack_id", "autoscaling_group_id"), Field(text(), required=True)),
)
EVENT, COMPOSITE, MEMBERS = "event", "composite", "loadbalancer_member_health"
TYPES: Mapping[str, Callable[[Any], Any]] = {
    **{kind: _of(collection) for kind, collection in THRESHOLDS.items()},
    EVENT: _of(_EVENT),
    COMPOSITE: _composite,
    MEMBERS: _of(_MEMBERS),
}
"""All types of alarms, each with the function that checks its rule."""

OLD_TYPES: Mapping[str, Callable[[Any], Any]] = {**TYPES, METERED: _of(_METERED)}
"""The same with the type on meters of Ceilometer, which Aodh had until Queens."""


def rule_of(alarm: Mapping[str, Any]) -> Any:
    """Return the rule of an alarm, which is in the field named after the alarm's type."""
    return alarm[f"{alarm['type']}_rule"]


def leaves(rule: Body) -> Iterator[Body]:
    """Yield the threshold rules in a composite rule, from left to right."""
    for word in ("and", "or"):
        if word in rule:
            for inner in rule[word]:
                yield from leaves(inner)
            return
    yield rule
