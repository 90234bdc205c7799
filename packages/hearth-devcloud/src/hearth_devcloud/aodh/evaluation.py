"""Evaluation of alarms with measures, events and the health of pool members.

Alarms are not evaluated periodically. The admin API calls `receive` with new measures and events,
and other services call `happened` when events are enabled.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatch
from typing import Any

from hearth_devcloud.aodh import notices
from hearth_devcloud.aodh.alarms import ALARM, OK, STATES, UNKNOWN, move, remember
from hearth_devcloud.aodh.quotas import ALARMS
from hearth_devcloud.aodh.rules import (
    COMPOSITE,
    EVENT,
    MEMBERS,
    METERED,
    THRESHOLDS,
    bad,
    cast,
    leaves,
    number,
    rule_of,
)
from hearth_devcloud.aodh.times import within
from hearth_devcloud.http import Body, Cloud
from hearth_devcloud.store import Resource, stamp_micro

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    name: getattr(operator, name) for name in ("lt", "le", "eq", "ne", "ge", "gt")
}
EVENTS = "alarming.events"
_TRAITS = {str: 1, int: 2, float: 3, datetime: 4}


@dataclass(frozen=True)
class Finding:
    """The result of an evaluation: the new state (None: unchanged), its reason, and its data."""

    state: str | None
    reason: str = ""
    data: Mapping[str, Any] | None = None


def receive(cloud: Cloud, news: Mapping[str, Any]) -> list[Body]:
    """Evaluate the alarms that match `news`; return the result for each of them. Raises Refusal.

    `news` has one of these forms: `metric` and `values`, with `resource_id` if the values belong to
    one resource; `event` with `event_type` and `traits`; `pool` with its `unhealthy` members;
    `alarm` and `state`, which sets the state. In all forms, `alarm` (a name or an id) and
    `project_id` restrict the alarms that are evaluated. If `alarm` is given, `metric` is optional.
    """
    done = []
    for alarm in _asked(cloud, news):
        finding = _finding(cloud, alarm, news)
        if finding is not None:
            done.append(_conclude(cloud, alarm, finding))
    return done


def _asked(cloud: Cloud, news: Mapping[str, Any]) -> list[Resource]:
    _check(news)
    alarm, project = news.get("alarm"), news.get("project_id")
    return [
        candidate
        for candidate in cloud.store.all(ALARMS)
        if candidate.body["enabled"]
        and alarm in (None, candidate.id, candidate.body["name"])
        and project in (None, candidate.project_id)
        and within(candidate.body["time_constraints"], cloud.store.time)
    ]


def _check(news: Mapping[str, Any]) -> None:
    match news:
        case {"event": {"event_type": str()}} | {"pool": str(), "unhealthy": list()}:
            return
        case {"state": str(state), "alarm": str()} if state in STATES:
            return
        case {"values": list(values), "metric": str()} | {"values": list(values), "alarm": str()}:
            try:
                [number(value) for value in values if value is not None]
            except ValueError as error:
                raise bad(str(error)) from None
            return
    raise bad(
        "expected one of these combinations: metric and values; event; pool and unhealthy; "
        "alarm and state"
    )


def _finding(cloud: Cloud, alarm: Resource, news: Mapping[str, Any]) -> Finding | None:
    kind = alarm.body["type"]
    if "state" in news:
        reason = news.get("reason") or f"Transition to {news['state']} as told"
        return Finding(news["state"], reason, {"type": kind, "disposition": "told"})
    if "event" in news:
        return _of_event(alarm, news["event"]) if kind == EVENT else None
    if "pool" in news:
        return _of_members(alarm, news) if kind == MEMBERS else None
    rules = list(leaves(rule_of(alarm.body))) if kind == COMPOSITE else [rule_of(alarm.body)]
    if kind not in (COMPOSITE, METERED, *THRESHOLDS) or not _measured(alarm, rules, news):
        return None
    return _of_rules(alarm, rules) if kind == COMPOSITE else _of_values(alarm, rules[0])


# measures


def _measured(alarm: Resource, rules: Sequence[Body], news: Mapping[str, Any]) -> bool:
    """Store the measured values for each rule of an alarm that uses their metric and resource.

    Return whether there is such a rule.

    A null value is a gap: the values before the gap are dropped.
    """
    samples = alarm.hidden.setdefault("samples", {})
    about = [index for index, rule in enumerate(rules) if _about(rule, news)]
    for index in about:
        measures = [*samples.get(str(index), []), *news["values"]]
        while None in measures:
            measures = measures[measures.index(None) + 1 :]
        samples[str(index)] = [
            number(value) for value in measures[-rules[index]["evaluation_periods"] :]
        ]
    return bool(about)


def _about(rule: Body, news: Mapping[str, Any]) -> bool:
    metric, resource = news.get("metric"), news.get("resource_id")
    if metric is None:
        return True
    if resource is not None and _resource(rule) not in (None, resource):
        return False
    names = (rule.get("metric"), rule.get("meter_name"), rule.get("query"))
    return metric in names or metric in rule.get("metrics", ())


def _resource(rule: Body) -> Any:
    """Return the id of the resource that a rule measures, or None if it names none."""
    if "meter_name" not in rule:
        return rule.get("resource_id")
    ids = (condition["value"] for condition in rule["query"] if condition["field"] == "resource_id")
    return next(ids, None)


def _outside(alarm: Resource, rule: Body, index: int = 0) -> list[bool] | None:
    """Return for each evaluation period of a rule whether its value crosses the threshold.

    Return None if there are too few values. `index` is the position of the rule in the alarm.
    """
    values = alarm.hidden["samples"].get(str(index), [])
    if len(values) < rule["evaluation_periods"]:
        return None
    beyond = _COMPARE[rule["comparison_operator"]]
    return [beyond(value, rule["threshold"]) for value in values]


def _of_values(alarm: Resource, rule: Body) -> Finding:
    before, periods = alarm.body["state"], rule["evaluation_periods"]
    outside, data = _outside(alarm, rule), {"type": "threshold", "count": periods}
    if outside is None:
        data |= {"disposition": "unknown", "most_recent": None}
        return Finding(UNKNOWN, f"{periods} datapoints are unknown", data)
    last = alarm.hidden["samples"]["0"][-1]
    if len(set(outside)) > 1 and before != UNKNOWN:
        state, count = before, sum(outside) if before == ALARM else outside.count(False)
    else:
        state, count = ALARM if outside[-1] else OK, outside.count(outside[-1])
    side = "outside" if state == ALARM else "inside"
    transition = f"Remaining as {state}" if state == before else f"Transition to {state}"
    data |= {"disposition": side, "count": count, "most_recent": last}
    reason = f"{transition} due to {count} samples {side} threshold, most recent: {last}"
    return Finding(state, reason, data)


# composite rules


def _of_rules(alarm: Resource, rules: Sequence[Body]) -> Finding:
    outcomes = [_outside(alarm, rule, index) for index, rule in enumerate(rules)]
    judged = [None if outcome is None else outcome[-1] for outcome in outcomes]
    names = iter([f"rule{index}" for index in range(1, len(rules) + 1)])
    form, verdict = _judge(rule_of(alarm.body), iter(judged), names)
    state = UNKNOWN if verdict is None else ALARM if verdict else OK
    causes = {f"rule{i}": rule for i, rule in enumerate(rules, 1) if judged[i - 1] is verdict}
    transition = "remaining as" if state == alarm.body["state"] else "transition to"
    how = f"{transition} {state}, due to rules: {', '.join(causes)}"
    reason = f"Composite rule alarm with composition form: {form} {how}"
    data = {"type": COMPOSITE, "composition_form": form, "causative_rules": causes}
    return Finding(state, reason, data)


def _judge(
    rule: Body, judged: Iterator[bool | None], names: Iterator[str]
) -> tuple[str, bool | None]:
    """Return a composite rule as text, and whether it is satisfied (None: unknown).

    `judged` and `names` yield the results and names of the threshold rules, from left to right.
    """
    for word, decides in (("or", True), ("and", False)):
        if word in rule:
            parts = [_judge(inner, judged, names) for inner in rule[word]]
            verdicts = [verdict for _, verdict in parts]
            form = f"({f' {word} '.join(form for form, _ in parts)})"
            if decides in verdicts:
                return form, decides
            return form, None if None in verdicts else not decides
    return next(names), next(judged)


# members of a pool


def _of_members(alarm: Resource, news: Mapping[str, Any]) -> Finding | None:
    rule, unhealthy = rule_of(alarm.body), news["unhealthy"]
    if rule["pool_id"] != news["pool"]:
        return None
    state = ALARM if unhealthy else OK
    transition = "Remaining as" if state == alarm.body["state"] else "Transition to"
    last = f", most recent: {unhealthy[-1]}" if unhealthy else ""
    reason = f"{transition} {state} due to {len(unhealthy)} unhealthy members{last}"
    members = [member if isinstance(member, dict) else {"id": member} for member in unhealthy]
    data = {
        "type": MEMBERS,
        "count": len(unhealthy),
        "unhealthy_members": members,
        "stack_id": rule["stack_id"],
        "asg_id": rule["autoscaling_group_id"],
    }
    return Finding(state, reason, data)


# events


def event(cloud: Cloud, event_type: str, traits: Any) -> Body:
    """Return a new event in the format of OpenStack's event notifications.

    `traits` is a list of [name, type, value], or a map. Raises Refusal 400 for other values.
    """
    if isinstance(traits, dict):
        traits = [[name, _TRAITS.get(type(value), 1), value] for name, value in traits.items()]
    if not isinstance(traits, list) or not all(_is_trait(trait) for trait in traits):
        raise bad("traits must be a list of [name, type, value], or a map")
    return {
        "message_id": cloud.store.new_id(),
        "event_type": event_type,
        "generated": stamp_micro(cloud.store.time),
        "traits": traits,
    }


def _is_trait(trait: Any) -> bool:
    return isinstance(trait, list) and len(trait) == 3 and isinstance(trait[0], str)


def _of_event(alarm: Resource, happened: Body) -> Finding | None:
    rule = rule_of(alarm.body)
    traits = {name: value for name, _, value in happened["traits"]}
    project = traits.get("project_id") or traits.get("tenant_id")
    if project not in (None, alarm.project_id):
        return None
    if not fnmatch(happened["event_type"], rule["event_type"]):
        return None
    if not all(_meets(condition, happened, traits) for condition in rule["query"]):
        return None
    query = json.dumps(rule["query"], sort_keys=True)
    reason = f"Event {happened['message_id']} hits the query {query}."
    return Finding(ALARM, reason, {"type": EVENT, "event": happened})


def _meets(condition: Body, happened: Body, traits: Mapping[str, Any]) -> bool:
    field, kind = condition["field"], condition["type"] or "string"
    field_value: Any = happened
    if field.startswith("traits."):
        field_value = traits.get(field.removeprefix("traits."))
    else:
        for word in field.split("."):
            field_value = field_value.get(word) if isinstance(field_value, dict) else None
    if field_value is None:
        return False
    try:
        return _COMPARE[condition["op"]](cast(field_value, kind), cast(condition["value"], kind))
    except (ValueError, TypeError):
        return False


# the consequences of an evaluation


def _conclude(cloud: Cloud, alarm: Resource, finding: Finding) -> Body:
    """Set an alarm's state to the result of an evaluation and send its notifications.

    Return a report for the admin API.
    """
    before, state = alarm.body["state"], finding.state or alarm.body["state"]
    alarm.body["evaluate_timestamp"] = stamp_micro(cloud.store.time)
    cloud.store.changed = True
    if state != before:
        move(cloud, alarm, state, finding.reason)
        detail = {"state": state, "transition_reason": finding.reason}
        remember(cloud, alarm, "state transition", detail)
    again = alarm.body["repeat_actions"] and state != UNKNOWN
    told_of: list[Body] = []
    if state != before or again:
        told_of = notices.send(cloud, alarm, before, finding.reason, finding.data or {})
    return {
        "alarm_id": alarm.id,
        "name": alarm.body["name"],
        "previous": before,
        "current": state,
        "reason": finding.reason,
        "notices": told_of,
    }


def happened(cloud: Cloud, event_type: str, traits: Body) -> None:
    """Schedule the evaluation of event alarms with an event of another service.

    Do nothing if events are disabled.
    """
    if cloud.knobs.events:
        body = event(cloud, event_type, traits)
        resource = Resource(body["message_id"], EVENTS, traits["tenant_id"], body, seed=True)
        cloud.store.later(0, cloud.store.insert(resource), "alarming.event")


def heard(cloud: Cloud, event: Resource) -> None:
    """Carry out a transition that `happened` scheduled: evaluate event alarms with the event."""
    cloud.store.remove(event)
    receive(cloud, {"event": event.body})


TRANSITIONS = {"alarming.event": heard}
