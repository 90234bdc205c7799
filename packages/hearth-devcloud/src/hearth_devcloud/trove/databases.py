"""The API of the databases in an instance."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource
from hearth_devcloud.trove.base import INSTANCES, array, bad, entries, find, word

_RESERVED = {"mysql", "information_schema", "performance_schema", "sys", "lost+found", "#mysql50#"}
_CHARACTER_SETS = frozenset(
    """
armscii8 ascii big5 binary cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 cp932 dec8 eucjpms euckr
gb18030 gb2312 gbk geostd8 greek hebrew hp8 keybcs2 koi8r koi8u latin1 latin2 latin5 latin7 macce
macroman sjis swe7 tis620 ucs2 ujis utf16 utf16le utf32 utf8 utf8mb3 utf8mb4
""".split()  # noqa: SIM905
)
_PAGE_SIZE = 20

_fields = entries({"name": word(64)}, {"character_set": word(), "collate": word()})


def database(value: Any) -> Body:
    """Check a database in a request body and return it with defaults. Raises ValueError."""
    attributes: Body = {"character_set": "utf8", "collate": "utf8_general_ci", **_fields(value)}
    if attributes["name"] in _RESERVED:
        raise ValueError(f"{attributes['name']!r} is a reserved name")
    if attributes["character_set"] not in _CHARACTER_SETS:
        raise ValueError(f"{attributes['character_set']!r} not a valid character set")
    if not attributes["collate"].startswith(attributes["character_set"]):
        message = f"{attributes['collate']!r} not a valid collation for charset"
        raise ValueError(f"{message} {attributes['character_set']!r}")
    return attributes


def distinct_databases(databases: list[Body]) -> None:
    """Raise Refusal 400 if a name occurs twice in a list of databases."""
    names = [database["name"] for database in databases]
    if len(set(names)) < len(names):
        raise bad("Two databases have the same name.")


def ready(call: Call) -> Resource:
    """Return the instance in the path of a call. Raises Refusal 404, or 422 unless it runs."""
    instance = find(call, INSTANCES, call.ids[0])
    if instance.body["status"] not in ("ACTIVE", "BACKUP"):
        message = f"Instance {instance.id} is not ready. (Status is {instance.body['status']})."
        raise Refusal(422, message=message)
    return instance


def page_of(call: Call, key: str, rows: dict[str, Body]) -> Reply:
    """Return one page of databases or users; `rows` are their views by marker, which is unique."""
    names = sorted(rows)
    marker, limit = call.argument("marker"), call.argument("limit") or str(_PAGE_SIZE)
    if not limit.isdecimal() or not int(limit):
        raise bad(f"limit must be a positive number, not {limit!r}")
    if marker is not None:
        names = [name for name in names if name > marker]
    page = names[: int(limit)]
    body: Body = {key: [rows[name] for name in page]}
    if len(names) > len(page):
        href = f"{call.base}/database{call.path}?marker={page[-1]}&limit={limit}"
        body["links"] = [{"rel": "next", "href": href}]
    return Reply(200, body)


def create(call: Call) -> Reply:
    """Handle POST of databases; reply with status 202."""
    instance, entries = ready(call), array(call, "databases", database)
    distinct_databases(entries)
    present = instance.hidden["databases"]
    for entry in entries:
        if entry["name"] in present:
            raise bad(f'A database with the name "{entry["name"]}" already exists.')
    present.update({entry["name"]: entry for entry in entries})
    return Reply(202)


def databases(call: Call) -> Reply:
    """Handle GET of the databases: their names."""
    return page_of(call, "databases", {n: {"name": n} for n in ready(call).hidden["databases"]})


def delete(call: Call) -> Reply:
    """Handle DELETE of a database; reply with status 202."""
    hidden, name = ready(call).hidden, call.ids[1]
    if hidden["databases"].pop(name, None) is None:
        raise Refusal(404, message=f"Database {name} cannot be found on the instance.")
    for user in hidden["users"].values():
        user["databases"] = [database for database in user["databases"] if database != name]
    return Reply(202)


_PATH = "/v1.0/instances/{}/databases"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, databases),
    ("DELETE", _PATH + "/{}", delete),
]
