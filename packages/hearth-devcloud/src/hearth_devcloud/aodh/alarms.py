"""The alarms API: create, list, show, update and delete alarms; their state and history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hearth_devcloud.aodh import quotas, trusts
from hearth_devcloud.aodh.quotas import ALARMS, only_admins
from hearth_devcloud.aodh.rules import METERED, OLD_TYPES, TYPES, bad, checked, rule_of
from hearth_devcloud.aodh.times import cron
from hearth_devcloud.collection import (
    Check,
    Collection,
    Fault,
    Field,
    Invalid,
    boolean,
    integer,
    list_of,
    nullable,
    one_of,
    text,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.listing import page
from hearth_devcloud.store import Resource, stamp_micro

HISTORY = "alarming.history"
OK, ALARM, UNKNOWN = "ok", "alarm", "insufficient data"
STATES = (OK, ALARM, UNKNOWN)
ACTIONS = {OK: "ok_actions", ALARM: "alarm_actions", UNKNOWN: "insufficient_data_actions"}
SCHEMES = frozenset(
    {"http", "https", "log", "test", "zaqar"}
    | {"trust+http", "trust+https", "trust+zaqar", "trust+heat"}
)
NOT_SET = "Not evaluated yet"
_ASKABLE = {"alarm_id", "enabled", "name", "type", "severity", "user_id", "project_id", "state"}
_SORTABLE = _ASKABLE | {"timestamp", "state_timestamp", "repeat_actions"}
_EVERYWHERE = "all_projects"


def _zone(value: Any) -> str:
    zone = text()(value)
    try:
        if zone:
            ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"Timezone {zone} is not valid") from None
    return str(zone)


_TIME = Collection(
    "alarming",
    "time_constraints",
    "time_constraint",
    {
        "name": Field(text(), required=True),
        "description": Field(text(), default=""),
        "start": Field(cron, required=True),
        "duration": Field(integer(0), required=True),
        "timezone": Field(_zone, default=""),
    },
)


def _times(value: Any) -> Any:
    constraints = list_of(lambda constraint: checked(_TIME, constraint))(value)
    if len({item["name"] for item in constraints}) < len(constraints):
        raise ValueError("Time constraint names must be unique for a given alarm.")
    return constraints


def _action(value: Any) -> str:
    if not isinstance(value, str) or urlsplit(value).scheme not in SCHEMES:
        raise ValueError(f"Unsupported action {value}")
    return value


def _fields(types: Mapping[str, Check]) -> Collection:
    """Return the fields of an alarm in a cloud that has these types of rules."""
    return Collection(
        "alarming",
        "alarms",
        "alarm",
        {
            "name": Field(text(), required=True),
            "description": Field(text(2**16, null=True)),
            "enabled": Field(boolean, default=True),
            "type": Field(one_of(*types), required=True),
            "severity": Field(one_of("low", "moderate", "critical"), default="low"),
            "state": Field(one_of(*STATES), default=UNKNOWN),
            "repeat_actions": Field(boolean, default=False),
            **{name: Field(list_of(_action), default=list) for name in ACTIONS.values()},
            "time_constraints": Field(_times, default=list),
            "user_id": Field(text(null=True)),
            "project_id": Field(text(null=True)),
            **{f"{kind}_rule": Field(nullable(check)) for kind, check in types.items()},
            **dict.fromkeys(
                ("alarm_id", "timestamp", "state_timestamp", "state_reason", "evaluate_timestamp"),
                Field(),
            ),
        },
    )


_NOW, _BEFORE = _fields(TYPES), _fields(OLD_TYPES)


def _wanted(call: Call) -> Body:
    """Return the checked fields of the alarm in a request body. Raises Refusal 400."""
    request = call.json()
    if not isinstance(request, dict):
        raise bad("Invalid input for field/attribute data.")
    old = call.cloud.knobs.threshold_alarms
    types = OLD_TYPES if old else TYPES
    try:
        values = (_BEFORE if old else _NOW).for_create(request)
    except Invalid as error:
        raise _invalid(error, request, types) from None
    rule, kind = f"{values['type']}_rule", values["type"]
    if values[rule] is None:
        raise bad(f"{rule} must be set for {kind} type alarm")
    rules = {f"{type_name}_rule" for type_name in types}
    surplus = [name for name in rules - {rule} if values.pop(name) is not None]
    if surplus:
        raise bad(f"{rule} and {surplus[0]} cannot be set at the same time")
    return values


def _invalid(error: Invalid, attributes: Body, types: Iterable[str]) -> Refusal:
    name = error.names[0]
    match error.fault:
        case Fault.UNKNOWN:
            return bad(f"Unknown attribute for argument data: {name}")
        case Fault.MISSING:
            return bad(f"Invalid input for field/attribute {name}. Mandatory field missing.")
        case _ if name == "type":
            kinds = ", ".join(sorted(types))
            message = f"Value: '{attributes[name]}'. Value should be one of: {kinds}"
            return bad(f"Invalid input for field/attribute type. {message}")
    return bad(f"Invalid input for field/attribute {error.message}")


def _owners(call: Call, values: Body) -> None:
    """Set the user and project of an alarm to those of the caller, unless the request names them.

    Raises Refusal 401 if a caller who is not an administrator names another user or project.
    """
    for name, caller_value in (
        ("user_id", call.caller.user_id),
        ("project_id", call.caller.project_id),
    ):
        if values[name] in (None, caller_value):
            values[name] = caller_value
        elif not call.caller.is_admin:
            kind = name.removesuffix("_id").capitalize()
            raise Refusal(401, message=f"Not Authorized to access {kind} {values[name]}")


def _with_trusts(call: Call, values: Body, trust_ids: set[str]) -> None:
    """Add a trust to each action URL that needs one; `trust_ids` are ids of the alarm's trusts."""
    actions = {name: values[name] for name in ACTIONS.values()}
    values.update(trusts.completed(call, actions, trust_ids))


def _trusts(alarm: Body) -> set[str]:
    return trusts.of(url for name in ACTIONS.values() for url in alarm[name])


def create(call: Call) -> Reply:
    """Handle POST of an alarm; reply with status 201."""
    values = _wanted(call)
    _owners(call, values)
    quotas.check(call, values["project_id"])
    _scoped(call, values)
    _with_trusts(call, values, set())
    store = call.cloud.store
    now, alarm_id = stamp_micro(store.time), store.new_id()
    values.update(
        alarm_id=alarm_id,
        timestamp=now,
        state_timestamp=now,
        evaluate_timestamp=now,
        state_reason=NOT_SET,
    )
    alarm = store.insert(Resource(alarm_id, ALARMS, values["project_id"], values))
    remember(call.cloud, alarm, "creation", alarm.body, call)
    headers = {"Location": f"{call.base}/alarming/v2/alarms/{alarm_id}"}
    return Reply(201, alarm.body, headers)


def _scoped(call: Call, values: Body) -> None:
    """Restrict a rule of an alarm to measures of the alarm's project.

    A rule of an administrator stays unchanged.
    """
    rule = rule_of(values)
    if values["type"] == "gnocchi_aggregation_by_resources_threshold" and not call.caller.is_admin:
        own_condition, requested = (
            {"=": {"created_by_project_id": values["project_id"]}},
            json.loads(rule["query"]),
        )
        if not (isinstance(requested, dict) and own_condition in requested.get("and", [])):
            rule["query"] = json.dumps({"and": [own_condition, requested]})
    if values["type"] == METERED and not call.caller.is_admin:
        own_query = {"field": "project_id", "op": "eq", "value": values["project_id"], "type": ""}
        conditions = [
            condition for condition in rule["query"] if condition["field"] != "project_id"
        ]
        rule["query"] = [*conditions, own_query]


def find(call: Call) -> Resource:
    """Return the alarm that the path names. Raises Refusal 404."""
    alarm = call.cloud.store.get(ALARMS, call.ids[0])
    is_own = alarm is not None and alarm.project_id == call.caller.project_id
    if alarm is None or not (is_own or call.caller.is_admin):
        scope = f" in project {call.caller.project_id}"
        raise Refusal(404, message=f"Alarm {call.ids[0]} not found{scope}")
    return alarm


def _questions(call: Call) -> Iterable[tuple[str, str, str]]:
    fields, values = call.query.get("q.field", []), call.query.get("q.value", [])
    operators = call.query.get("q.op", ["eq"] * len(fields))
    if not len(fields) == len(values) == len(operators):
        raise bad(
            "Invalid input for field/attribute q: expected as many q.value and q.op as q.field."
        )
    return zip(fields, operators, values, strict=True)


def index(call: Call) -> Reply:
    """Handle GET of the project's alarms, filtered by `q.field`, `q.op` and `q.value`."""
    project: str | None = call.caller.project_id
    conditions: list[tuple[str, str]] = []
    for name, operator, value in _questions(call):
        if operator not in ("eq", ""):
            raise bad(f"Invalid input for field/attribute op. Unimplemented operator: {operator}")
        if name == _EVERYWHERE:
            only_admins(call)
            project = None
        elif name not in _ASKABLE:
            message = f'unrecognized field in query: [{{"field": "{name}"}}]'
            raise bad(f"Unknown argument: {message}")
        else:
            if name == "project_id" and value != project:
                only_admins(call)
                project = value
            conditions.append((name, value))
    alarms = [
        alarm
        for alarm in call.cloud.store.all(ALARMS)
        if project in (None, alarm.project_id)
        and all(_alike(alarm.body[name], value) for name, value in conditions)
    ]
    for order in reversed(call.query.get("sort", [])):
        key, _, direction = order.partition(":")
        if key not in _SORTABLE:
            raise bad(f"the sort parameter '{order}' is not valid")
        alarms.sort(key=partial(_sorted_by, key), reverse=direction == "desc")
    return Reply(200, [alarm.body for alarm in page(alarms, call)[0]])


def _sorted_by(key: str, alarm: Resource) -> str:
    return str(alarm.body[key])


def _alike(value: Any, text: str) -> bool:
    return text.lower() == str(value).lower() if isinstance(value, bool) else text == value


def show(call: Call) -> Reply:
    """Handle GET of an alarm."""
    return Reply(200, find(call).body)


def update(call: Call) -> Reply:
    """Handle PUT of an alarm: replace it completely, with defaults for omitted fields."""
    alarm, values = find(call), _wanted(call)
    before = dict(alarm.body)
    for name in ("user_id", "project_id"):
        values[name] = values[name] or before[name]
    if values["project_id"] != call.caller.project_id or values["user_id"] != before["user_id"]:
        _owners(call, values)
    if rule_of(values) != before.get(f"{values['type']}_rule"):
        alarm.hidden.pop("samples", None)
        _scoped(call, values)
    trust_ids = _trusts(before)
    _with_trusts(call, values, trust_ids)
    now = stamp_micro(call.cloud.store.time)
    set_anew = values["state"] != before["state"]
    values.update(
        alarm_id=alarm.id,
        timestamp=now,
        state_timestamp=now if set_anew else before["state_timestamp"],
        state_reason=NOT_SET if set_anew else before["state_reason"],
        evaluate_timestamp=before["evaluate_timestamp"],
    )
    alarm.body.clear()
    alarm.body.update(values)
    trusts.dropped(call.cloud, trust_ids - _trusts(values))
    changes = {n: v for n, v in values.items() if before.get(n) != v and n != "timestamp"}
    if changes:
        remember(call.cloud, alarm, "rule change", changes, call)
    return Reply(200, alarm.body)


def delete(call: Call) -> Reply:
    """Handle DELETE of an alarm, its history and its trust; reply with status 204."""
    alarm, store = find(call), call.cloud.store
    for entry in store.where(HISTORY, alarm_id=alarm.id):
        store.remove(entry)
    trusts.dropped(call.cloud, _trusts(alarm.body))
    store.remove(alarm)
    return Reply(204)


def state(call: Call) -> Reply:
    """Handle GET of an alarm's state, which is a JSON string."""
    return Reply(200, json.dumps(find(call).body["state"]), {"Content-Type": "application/json"})


def set_state(call: Call) -> Reply:
    """Handle PUT of an alarm's state: set it without triggering actions."""
    alarm, state = find(call), call.json()
    if state not in STATES:
        raise bad("state invalid")
    move(call.cloud, alarm, state, "Manually set via API")
    detail = {"state": state, "state_reason": "Manually set via API"}
    remember(call.cloud, alarm, "state transition", detail, call)
    return Reply(200, json.dumps(state), {"Content-Type": "application/json"})


def move(cloud: Cloud, alarm: Resource, state: str, reason: str) -> None:
    """Set the state of an alarm to `state`, with a reason."""
    if alarm.body["state"] != state:
        alarm.body["state_timestamp"] = stamp_micro(cloud.store.time)
    alarm.body.update(state=state, state_reason=reason)
    cloud.store.changed = True


def remember(
    cloud: Cloud, alarm: Resource, change_type: str, detail: Body, call: Call | None = None
) -> None:
    """Add an entry to the history of an alarm: `change_type` is its type, `detail` its content.

    The user and project of the entry are those of `call`; without a call, they are null.
    """
    store, caller = cloud.store, call.identity if call is not None else None
    body = {
        "event_id": store.new_id(),
        "alarm_id": alarm.id,
        "type": change_type,
        "detail": json.dumps(detail),
        "user_id": caller.user_id if caller else None,
        "project_id": caller.project_id if caller else None,
        "on_behalf_of": alarm.project_id,
        "timestamp": stamp_micro(store.time),
    }
    store.insert(Resource(body["event_id"] or "", HISTORY, alarm.project_id, body, seed=True))


def history(call: Call) -> Reply:
    """Handle GET of an alarm's history, newest first."""
    entries = call.cloud.store.where(HISTORY, alarm_id=find(call).id)
    return Reply(200, [entry.body for entry in page(entries[::-1], call)[0]])


def capabilities(call: Call) -> Reply:
    """Handle GET of the capabilities of the service."""
    kinds = ("alarms", "alarms:history")
    api = {f"{kind}:query:simple": True for kind in kinds}
    api |= {f"{kind}:query:complex": False for kind in kinds}
    return Reply(200, {"api": api, "alarm_storage": {"storage:production_ready": True}})


def versions(call: Call) -> Reply:
    """Handle GET of the root URL, which lists the API version."""
    url = f"{call.base}/alarming/v2"
    version = {
        "id": "v2",
        "status": "stable",
        "updated": "2013-02-13T00:00:00Z",
        "links": [{"rel": "self", "href": url}],
        "media-types": [
            {"base": "application/json", "type": "application/vnd.openstack.telemetry-v2+json"}
        ],
    }
    return Reply(200, {"versions": {"values": [version]}})


_ONE = "/v2/alarms/{}"
ROUTES: list[Route] = [
    ("GET", "/", versions),
    ("GET", "/v2/capabilities", capabilities),
    ("POST", "/v2/alarms", create),
    ("GET", "/v2/alarms", index),
    ("GET", _ONE, show),
    ("PUT", _ONE, update),
    ("DELETE", _ONE, delete),
    ("GET", _ONE + "/state", state),
    ("PUT", _ONE + "/state", set_state),
    ("GET", _ONE + "/history", history),
]
