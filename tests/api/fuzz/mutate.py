"""Recorded requests, broken in one place each: what no client sends and anybody may."""

import json
import random
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from hearth.api.openapi import operation_id
from hearth.api.reference import exchanges
from hearth.api.v1.routes import ROUTES
from tests.walk.ground import WORDS

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 1e308, 0.1, "", " ", "0", "null",
    "\0", "\ud800", "\u202e", "ü" * 300, "x" * 5000, "../../etc/passwd", "%s%n", "{{7*7}}",
    "'; DROP TABLE stack; --", "${jndi:ldap://127.0.0.1/a}", "http://127.0.0.1:1/", [], [[]],
    {}, {"": ""}, {"a": {"a": {"a": None}}}, [None], ["x"] * 1000, {"\0": 1},
]  # fmt: skip
ODD_PIECES = [
    "", ".", "..", "%2e%2e", "%2F", "%00", "%ff", "%C3%28", "%", "%zz", "a%0d%0aX-Evil:%201", "*",
    "~", "ü", "x" * 3000, "stacks", "detail", "preview", "arn:openstack:heat::x:stacks/a/b",
    "arn:", "'", '"', "<script>", "None", "null", "-1", "0", "%F0%9F%92%A9", ";", "a;b=c", "a,b",
]  # fmt: skip
ODD_QUERIES = [
    "", "?", "&", "=", "limit", "limit=", "limit=x", "limit=-1", "limit=1&limit=2",
    "limit=99999999999999999999", "marker=", "marker=%00", "marker=nonsense", "sort_keys=",
    "sort_keys=nonsense", "sort_dir=up", "sort_dir=asc&sort_dir=desc", "with_count=maybe",
    "show_deleted=TRUE", "nested_depth=1e3", "nested_depth=999", "resolve_outputs=false&"
    "resolve_outputs=true", "a[]=1", "%ff=%fe", "a=%C3%28", "stack_status=%F0%9F%92%A9",
    "status=CREATE_", "id=1%27%20OR%201=1", "tags=%2C%2C%2Ca", "name=(((", "name=%5B",
    "with_attr=%00", "type=%25", "filter" * 500 + "=1", "with_detail=true&with_detail=x",
]  # fmt: skip
CONTENT_TYPES = [
    "application/json", "application/json; charset=utf-16", "text/plain", "text/xml",
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/yaml",
    "nonsense", "", "application/octet-stream", "*/*",
]  # fmt: skip
HEADERS = [
    ("Content-Encoding", "gzip"), ("Transfer-Encoding", "identity"), ("Expect", "nonsense"),
    ("Range", "bytes=0-1"), ("If-None-Match", "*"), ("Accept", "text/html"),
    ("Accept", "application/vnd.openstack.orchestration-v9"), ("X-Region-Name", "\xff"),
    ("X-HTTP-Method-Override", "DELETE"), ("X-Forwarded-Host", "evil.example"),
    ("Forwarded", "host=evil.example;proto=https"), ("X-Auth-User", "admin"),
    ("X-Auth-Key", "secret"), ("X-Roles", "admin"), ("X-Project-Id", "other"),
    ("X-Identity-Status", "Confirmed"), ("X-Service-Token", "nonsense"),
    ("X-OpenStack-Request-ID", "x" * 500), ("Accept-Language", "xx-" * 100),
    ("Connection", "close"), ("Cookie", "a=b"), ("Origin", "null"),
]  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """A request as it goes over the wire."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    why: str = ""


def recorded(names: dict[str, str]) -> list[Sent]:
    """The requests of the route walk, with what their paths name replaced."""
    found = []
    for endpoint in ROUTES:
        path = endpoint.path
        for name, value in names.items():
            path = path.replace("{" + name + "}", quote(value, safe=""))
        if "{" in path:
            continue
        kept = exchanges()[operation_id(endpoint)]["success"]
        query = kept["path"].partition("?")[2]
        body = json.dumps(kept["body"]).replace(WORDS, "mine").encode() if "body" in kept else b""
        found.append(Sent(endpoint.method, f"/v1{path}" + (f"?{query}" if query else ""), body))
    return found


def mutated(one: Sent, luck: random.Random) -> Sent:
    """The request with one thing wrong."""
    ways = [_piece, _query, _method, _header]
    if one.body:
        ways += [_value, _value, _value, _key, _raw, _kind]
    return luck.choice(ways)(one, luck)


def _piece(one: Sent, luck: random.Random) -> Sent:
    path, _, query = one.path.partition("?")
    pieces = path.split("/")
    at = luck.randrange(1, len(pieces))
    odd = luck.choice(ODD_PIECES)
    if luck.random() < 0.3:
        pieces.insert(at, odd)
    else:
        pieces[at] = odd
    return replace(one, path="/".join(pieces) + (f"?{query}" if query else ""), why=f"piece {at}")


def _query(one: Sent, luck: random.Random) -> Sent:
    path, _, query = one.path.partition("?")
    odd = luck.choice(ODD_QUERIES)
    return replace(one, path=f"{path}?{query}&{odd}" if query else f"{path}?{odd}", why=odd[:60])


def _method(one: Sent, luck: random.Random) -> Sent:
    method = luck.choice(["GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"])
    return replace(one, method=method, why=f"{one.method} as {method}")


def _header(one: Sent, luck: random.Random) -> Sent:
    odd = luck.choice(HEADERS)
    return replace(one, headers=(*one.headers, odd), why=str(odd)[:60])


def _kind(one: Sent, luck: random.Random) -> Sent:
    kind = luck.choice(CONTENT_TYPES)
    return replace(one, headers=(("Content-Type", kind),), why=f"type {kind}")


def _value(one: Sent, luck: random.Random) -> Sent:
    body = json.loads(one.body)
    holder, key = luck.choice(_places(body))
    holder[key] = luck.choice(ODD_VALUES)
    return replace(one, body=json.dumps(body).encode(), why=f"{key} = {str(holder[key])[:40]!r}")


def _key(one: Sent, luck: random.Random) -> Sent:
    body = json.loads(one.body)
    maps = [holder for holder, _ in _places(body) if isinstance(holder, dict)]
    holder = luck.choice(maps)
    key = luck.choice(list(holder))
    if luck.random() < 0.5:
        del holder[key]
    else:
        holder[luck.choice(["\0", "", "x" * 2000, "ü", "__proto__", "get_file"])] = holder[key]
    return replace(one, body=json.dumps(body).encode(), why=f"key {key}")


def _raw(one: Sent, luck: random.Random) -> Sent:
    at = luck.randrange(len(one.body))
    whole = one.body
    body = luck.choice([
        whole[:at], whole[:at] + b"\xff" + whole[at:], whole + whole, b"\xef\xbb\xbf" + whole,
        b"[" + whole + b"]", b"null", b"[]", b'"text"', b"{", b"{" * 3000, b"[" * 3000,
        b'{"a":' * 3000 + b"1" + b"}" * 3000, whole.decode().encode("utf-16"), b"\0" * 100,
        whole.replace(b":", b":" + b" " * 2_000_000, 1), b'{"a": NaN, ' + whole[1:],
        b'{"stack_name": "a", "stack_name": "b", ' + whole[1:], b"a=b&c=d", b"<a/>",
    ])  # fmt: skip
    return replace(one, body=body, why=f"raw {body[:20]!r} {len(body)}")


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value: what holds it, and its key there."""
    found: list[tuple[Any, Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        found.append((value, key))
        if isinstance(inner, (dict, list)):
            found += _places(inner)
    return found
