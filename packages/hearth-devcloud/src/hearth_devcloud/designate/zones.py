"""The API of zones and record sets, which are PENDING for a short time after each change."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from hearth_devcloud.collection import (
    Collection,
    Field,
    Invalid,
    integer,
    is_uuid,
    list_of,
    mapping,
    nullable,
    one_of,
    text,
)
from hearth_devcloud.fixed_ids import fixed
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.listing import filtered, page
from hearth_devcloud.store import Resource, stamp_micro

_NAME = re.compile(r"^(?:(?:\*|[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)\.)+$", re.IGNORECASE)


_KINDS = (
    *("A", "AAAA", "CAA", "CERT", "CNAME", "MX", "NAPTR"),
    *("NS", "PTR", "SOA", "SPF", "SRV", "SSHFP", "TXT"),
)


class Incomplete(Refusal):
    """A request body does not match the schema: one field is missing or invalid.

    `path` leads to the field; `validator` and `value` are the violated rule of the JSON schema.
    """

    def __init__(self, path: list[str | int], message: str, validator: str, value: object) -> None:
        super().__init__(400, "invalid_object", message)
        error: Body = {"path": path, "message": message}
        self.errors: list[Body] = [{**error, "validator": validator, "validator_value": value}]


def _name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.match(value):
        raise ValueError(f"{value!r} is not a domain name with a final dot")
    return value


def _email(value: Any) -> str:
    if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", str(value)):
        raise ValueError(f"{value} is not an email address")
    return str(value)


_ZONE_TTL_S = 3600
_TTL_MAX_S = 2147483647


def _zone_ttl(value: Any) -> Any:
    return _ZONE_TTL_S if value is None else integer(1, _TTL_MAX_S)(value)


ZONES = Collection(
    "dns",
    "zones",
    "zone",
    {
        "name": Field(_name, required=True, update=False),
        "email": Field(nullable(_email)),
        "description": Field(nullable(text(160))),
        "ttl": Field(_zone_ttl, default=_ZONE_TTL_S),
        "type": Field(one_of("PRIMARY", "SECONDARY"), default="PRIMARY", update=False),
        "masters": Field(list_of(), default=list),
        "attributes": Field(mapping, default=dict, update=False),
    },
)
RECORDS = Collection(
    "dns",
    "recordsets",
    "recordset",
    {
        "name": Field(_name, required=True, update=False),
        "type": Field(
            one_of(*_KINDS),
            required=True,
            update=False,
        ),
        "records": Field(list_of(text(4096)), required=True),
        "description": Field(nullable(text(160))),
        "ttl": Field(integer(1, _TTL_MAX_S, null=True)),
    },
)


def _invalid(error: Invalid) -> Refusal:
    return Refusal(400, "invalid_object", error.message)


def _shown(call: Call, resource: Resource) -> Body:
    path = f"zones/{resource.id}"
    if resource.table == RECORDS.table:
        path = f"zones/{resource.body['zone_id']}/recordsets/{resource.id}"
    return {**resource.body, "links": {"self": f"{call.base}/dns/v2/{path}"}}


def _pending(call: Call, resource: Resource, action: str) -> Reply:
    body, store = resource.body, call.cloud.store
    body.update(status="PENDING", action=action)
    if action != "CREATE":
        body["version"] += 1
        body["updated_at"] = stamp_micro(store.time)
    resource.hidden["fails"] = call.effects.error
    store.later(call.effects.slow_s or 0, resource, "dns.done")
    return Reply(202, _shown(call, resource))


def done(cloud: Cloud, resource: Resource) -> None:
    """Complete the pending change of a zone or record set, as the name servers would do."""
    body = resource.body
    if resource.hidden.pop("fails", False):
        body["status"] = "ERROR"
        return
    if body["action"] == "DELETE":
        for record in cloud.store.where(RECORDS.table, zone_id=resource.id):
            cloud.store.remove(record)
        cloud.store.remove(resource)
        return
    body.update(status="ACTIVE", action="NONE")
    if body["updated_at"] is None:
        body["updated_at"] = stamp_micro(cloud.store.time)


def _zone(call: Call) -> Resource:
    zone_id = call.ids[0]
    if not is_uuid(zone_id):
        raise Refusal(400, "invalid_uuid", f"Invalid UUID zone_id: {zone_id}")
    zone = call.cloud.store.get(ZONES.table, zone_id)
    caller = call.caller
    if zone is None or not (caller.is_admin or zone.project_id == caller.project_id):
        raise Refusal(404, "zone_not_found", "Could not find Zone")
    return zone


def _new(call: Call, kind: Collection, body: Body, *, implicit: bool = False) -> Resource:
    store = call.cloud.store
    body = {
        "id": store.new_id(),
        "project_id": call.caller.project_id,
        **body,
        "status": "PENDING",
        "action": "CREATE",
        "version": 1,
        "created_at": stamp_micro(store.time),
        "updated_at": None,
    }
    resource = Resource(body["id"], kind.table, call.caller.project_id, body)
    return store.insert(resource, implicit=implicit)


def create(call: Call) -> Reply:
    """Handle POST of a zone; reply with status 202."""
    attributes = call.json()
    try:
        values = ZONES.for_create(attributes if isinstance(attributes, dict) else {})
    except Invalid as error:
        raise _invalid(error) from None
    if values["email"] is None and values["type"] == "PRIMARY":
        text_ = "'email' is a required property"
        raise Incomplete(["type", "email"], text_, "required", "email")
    _check_masters(values)
    for name in {"email", "ttl"} & attributes.keys() if values["type"] == "SECONDARY" else ():
        text_ = f"'{name}' can't be specified when type is SECONDARY"
        raise Incomplete(["type"], text_, "not_allowed", name)
    store = call.cloud.store
    if store.where(ZONES.table, name=values["name"]):
        raise Refusal(409, "duplicate_zone", "Duplicate Zone")
    extra = {
        "pool_id": fixed("dns", "pool"),
        "serial": int(store.time),
        "shared": False,
        "transferred_at": None,
    }
    zone = _new(call, ZONES, {**values, **extra})
    host, email = "ns1.devcloud.test.", str(values["email"]).replace("@", ".")
    records = {"NS": [host], "SOA": [f"{host} {email}. {int(store.time)} 3557 600 86400 3600"]}
    for kind, lines in records.items():
        record = {"zone_id": zone.id, "name": values["name"], "zone_name": values["name"]}
        record |= {"type": kind, "records": lines, "description": None, "ttl": None}
        resource = _new(call, RECORDS, record, implicit=True)
        resource.body.update(status="ACTIVE", action="NONE")
    reply = _pending(call, zone, "CREATE")
    reply.headers["Location"] = f"{call.base}/dns/v2/zones/{zone.id}"
    return reply


def _listed(call: Call, kind: Collection, resources: list[Resource]) -> Reply:
    resources = filtered(resources, call.query)
    page_resources, _ = page(resources, call)
    query = f"?{call.raw_query}" if call.raw_query else ""
    body: Body = {kind.plural: [_shown(call, resource) for resource in page_resources]}
    body["links"] = {"self": f"{call.base}/dns{call.path}{query}"}
    body["metadata"] = {"total_count": len(resources)}
    return Reply(200, body)


def zones(call: Call) -> Reply:
    """Handle GET of the zones."""
    caller = call.caller
    everywhere = caller.is_admin and call.headers.get("X-Auth-All-Projects")
    own_zones = [
        t
        for t in call.cloud.store.all(ZONES.table)
        if everywhere or t.project_id == caller.project_id
    ]
    return _listed(call, ZONES, own_zones)


def show(call: Call) -> Reply:
    """Handle GET of a zone."""
    return Reply(200, _shown(call, _zone(call)))


def update(call: Call) -> Reply:
    """Handle PATCH of a zone; reply with status 202."""
    zone, attributes = _zone(call), call.json()
    try:
        changes = ZONES.for_update(attributes if isinstance(attributes, dict) else {})
    except Invalid as error:
        raise _invalid(error) from None
    _check_masters({**zone.body, **changes})
    zone.body.update(changes)
    return _pending(call, zone, "UPDATE")


def _check_masters(values: Body) -> None:
    if (values["type"] == "SECONDARY") != bool(values["masters"]):
        text_ = "'masters' is required for a SECONDARY zone, and allowed only for it"
        raise Incomplete(["masters"], text_, "required", "masters")


def delete(call: Call) -> Reply:
    """Handle DELETE of a zone; reply with status 202."""
    return _pending(call, _zone(call), "DELETE")


def _check_records(kind: str, records: list[str]) -> None:
    for index, record in enumerate(records):
        if kind not in ("A", "AAAA"):
            continue
        try:
            fits = ipaddress.ip_address(record).version == (4 if kind == "A" else 6)
        except ValueError:
            fits = False
        if not fits:
            message = f"{record!r} is not an IPv{4 if kind == 'A' else 6} address"
            raise Incomplete(["records", index], message, "format", [kind])


def create_record(call: Call) -> Reply:
    """Handle POST of a record set; reply with status 202."""
    zone, attributes = _zone(call), call.json()
    try:
        values = RECORDS.for_create(attributes if isinstance(attributes, dict) else {})
    except Invalid as error:
        raise _invalid(error) from None
    if not ("." + values["name"]).endswith("." + zone.body["name"]):
        raise Refusal(400, "invalid_recordset_location", "RecordSet is not within a valid zone")
    if values["type"] == "SOA":
        raise Refusal(400, "bad_request", "Creating a SOA recordset is not allowed")
    _check_records(values["type"], values["records"])
    filters = {"zone_id": zone.id, "name": values["name"], "type": values["type"]}
    if call.cloud.store.where(RECORDS.table, **filters):
        raise Refusal(409, "duplicate_recordset", "Duplicate RecordSet")
    alike = call.cloud.store.where(RECORDS.table, zone_id=zone.id, name=values["name"])
    if alike and "CNAME" in {values["type"], *(record.body["type"] for record in alike)}:
        message = "CNAME recordsets may not share a name with any other records"
        raise Refusal(400, "invalid_recordset_location", message)
    zone_fields = {"zone_id": zone.id, "zone_name": zone.body["name"]}
    return _pending(call, _new(call, RECORDS, {**values, **zone_fields}), "CREATE")


def records_of(call: Call) -> Reply:
    """Handle GET of the record sets of a zone."""
    records = call.cloud.store.where(RECORDS.table, zone_id=_zone(call).id)
    return _listed(call, RECORDS, records)


def _record(call: Call) -> Resource:
    record = call.cloud.store.get(RECORDS.table, call.ids[1])
    if record is None or record.body["zone_id"] != _zone(call).id:
        raise Refusal(404, "recordset_not_found", "Could not find RecordSet")
    return record


def show_record(call: Call) -> Reply:
    """Handle GET of a record set."""
    return Reply(200, _shown(call, _record(call)))


def _changeable(call: Call) -> Resource:
    """Return a record set that users may change. Raises Refusal 400 if the service manages it."""
    record, zone = _record(call), _zone(call)
    if record.body["type"] in ("SOA", "NS") and record.body["name"] == zone.body["name"]:
        raise Refusal(400, "bad_request", "Managed SOA and NS recordsets cannot be changed")
    return record


def update_record(call: Call) -> Reply:
    """Handle PUT of a record set; reply with status 202."""
    record, attributes = _changeable(call), call.json()
    try:
        changes = RECORDS.for_update(attributes if isinstance(attributes, dict) else {})
    except Invalid as error:
        raise _invalid(error) from None
    _check_records(record.body["type"], changes.get("records", []))
    record.body.update(changes)
    return _pending(call, record, "UPDATE")


def delete_record(call: Call) -> Reply:
    """Handle DELETE of a record set; reply with status 202."""
    return _pending(call, _changeable(call), "DELETE")


_PATH = "/v2/zones"
_RECORDS = _PATH + "/{}/recordsets"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, zones),
    ("GET", _PATH + "/{}", show),
    ("PATCH", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
    ("POST", _RECORDS, create_record),
    ("GET", _RECORDS, records_of),
    ("GET", _RECORDS + "/{}", show_record),
    ("PUT", _RECORDS + "/{}", update_record),
    ("DELETE", _RECORDS + "/{}", delete_record),
]
