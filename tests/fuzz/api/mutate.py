"""Requests that succeed, broken in one place or several: what no client sends and anybody may."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from tests.fuzz.api.wire import Sent

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 1e308, 0.1, "", " ", "0", "null",
    "\0", "\ud800", "\u202e", "ü" * 300, "x" * 5000, "../../etc/passwd", "%s%n", "{{7*7}}",
    "'; DROP TABLE stack; --", "${jndi:ldap://127.0.0.1/a}", "http://127.0.0.1:1/", [], [[]],
    {}, {"": ""}, {"a": {"a": {"a": None}}}, [None], ["x"] * 1000, {"\0": 1}, float("nan"),
    float("inf"), -(2**63) - 1, "1e400", "a\r\nX-Evil: 1", "\x1b[2J", "\ufffe", "\x0b",
    "x" * 70_000,
    {"\ud800": "\udfff"}, "a" * 255, "a" * 256, "\U0001f4a9" * 70, "true", "2026-01-01T00:00:00Z",
    {"get_param": "secret"}, {"get_file": "file:///etc/passwd"}, {"str_replace": 1}, -0.0, 1e-320,
]  # fmt: skip
ODD_PIECES = [
    "", ".", "..", "%2e%2e", "%2F", "%00", "%ff", "%C3%28", "%", "%zz", "a%0d%0aX-Evil:%201", "*",
    "~", "ü", "x" * 3000, "x" * 70_000, "\0", "\ud800", "\udfff\ud800", "%ED%A0%80", "%ed%bf%bf",
    "a\r\nX-Evil: 1", "a b", "\t", "\x7f", "%252e%252e", "....//", "\\..\\", "\u202e", "a" * 256,
    "%0a", "%C0%AE", "9" * 400, "1e3", "+1", "\u0661", "00000000-0000-0000-0000-000000000000",
    "a?b#c",
    "stacks", "detail", "preview", "arn:openstack:heat::x:stacks/a/b",
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
    "a=" + "x" * 70_000, "%00=%00", "%ED%A0%80=1", "\ud800=\0",
    "&".join(f"k{n}=1" for n in range(1001)),
    "limit=\u0661", "marker=%ED%A0%80", "name=%00", "tags-any=%00", "not-tags=\x80",
    "filters=status%3D%00",
]  # fmt: skip
CONTENT_TYPES = [
    "application/json", "application/json; charset=utf-16", "text/plain", "text/xml",
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/yaml",
    "nonsense", "", "application/octet-stream", "*/*", "application/json-patch+json", "\ud800",
    "application/json; charset=nonsense", "application/" + "x" * 5000, "multipart/form-data",
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
    ("Cookie", "a=b"), ("Origin", "null"), ("Origin", "http://evil.example"),
    ("OpenStack-API-Version", "container-infra 99.99"), ("OpenStack-API-Version",
    "container-infra 1.1"),
    ("OpenStack-API-Version", "\0"), ("OpenStack-API-Version", "container-infra " + "9" * 5000),
    ("OpenStack-API-Version", "container-infra ١.١"), ("Accept", "*/*;q=\ud800"), ("Accept",
    "x/" * 2000),
    ("Accept-Encoding", "gzip;q=x, br"), ("X-Auth-Token", "\ud800"), ("X-Auth-Token", ""),
    ("Authorization", "AWS4-HMAC-SHA256 Credential=a/b, Signature=\xe9"), ("Date", "yesterday"),
    ("X-Amz-Date", "99999999T999999Z"), ("X-Forwarded-Proto", "javascript"), ("Host",
    "evil.example"),
    ("X-Forwarded-For", "\0"), ("X-Forwarded-Prefix", "/evil.example"), ("traceparent",
    "00-zz-zz-zz"),
    ("traceparent", "00-" + "a" * 32 + "-" + "b" * 16 + "-01"), ("X-Hearth-Node", "\xff"),
    ("If-Match", "x" * 8000), ("X-Trace-Info", "e30="), ("X-Trace-HMAC", "x"), ("Content-MD5", "x"),
]  # fmt: skip
ODD_KEYS = [
    "\0",
    "",
    "x" * 2000,
    "ü",
    "__proto__",
    "get_file",
    "\ud800",
    "a" * 256,
    "Ref",
    "Fn::Join",
]
METHODS = ["GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW", "get", "\xff"]
"""Not DELETE: a member would delete what is kept."""
FORM = "application/x-www-form-urlencoded"
JSON = (("Content-Type", "application/json"),)


def mutated(
    one: Sent, luck: random.Random, names: Sequence[str], ids: Sequence[str], *, path: bool = True
) -> Sent:
    """Return the request with one thing wrong.

    `names` are the query parameters of all routes, `ids` those of things, also of other tenants. If
    `path` is false, the request is still about the same thing.
    """
    ways = [_query, _known_query, _method, _header] + [_piece] * 2 * path
    if one.body:
        form = any(value == FORM for _, value in one.headers)
        ways += [_raw, _kind] + ([_field] * 4 if form else [_value, _value, _value, _several, _key])
    if "?" in one.path:
        ways += [_changed_query] * 2
    return luck.choice(ways)(one, luck, Odd(names, ids))


class Odd:
    """What mutations take from the world: names of query parameters, and ids of things."""

    def __init__(self, names: Sequence[str], ids: Sequence[str]) -> None:
        self.names, self.ids = names, ids

    def piece(self, luck: random.Random) -> str:
        """Return a part of a path: as often an id as something odd."""
        return luck.choice(self.ids) if luck.random() < 0.4 else luck.choice(ODD_PIECES)

    def text(self, luck: random.Random) -> str:
        """Return the value of a parameter."""
        if luck.random() < 0.3:
            return self.piece(luck)
        value = luck.choice(ODD_VALUES)
        return value if isinstance(value, str) else json.dumps(value)


def _piece(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    path, _, query = one.path.partition("?")
    pieces = path.split("/")
    at, piece = luck.randrange(1, max(2, len(pieces))), odd.piece(luck)
    if luck.random() < 0.3:
        pieces.insert(at, piece)
    else:
        pieces[at : at + 1] = [piece]
    path = "/".join(pieces) + (f"?{query}" if query else "")
    raw = luck.random() < 0.3
    return replace(one, path=path, raw=raw, why=f"{one.why} piece {at} {piece[:30]!r}")


def _query(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    path, _, query = one.path.partition("?")
    more = luck.choice(ODD_QUERIES)
    path = f"{path}?{query}&{more}" if query else f"{path}?{more}"
    return replace(one, path=path, raw=luck.random() < 0.2, why=f"{one.why} {more[:60]!r}")


def _known_query(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    """A parameter that some route has, with a value that none expects."""
    path, _, query = one.path.partition("?")
    more = f"{luck.choice(odd.names)}={_quoted(odd.text(luck))}"
    path = f"{path}?{query}&{more}" if query else f"{path}?{more}"
    return replace(one, path=path, why=f"{one.why} {more[:60]!r}")


def _changed_query(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    """One of the parameters that the request has."""
    path, _, query = one.path.partition("?")
    pairs = query.split("&")
    at = luck.randrange(len(pairs))
    name = pairs[at].partition("=")[0]
    pairs[at] = f"{name}={_quoted(odd.text(luck))}"
    return replace(one, path=f"{path}?{'&'.join(pairs)}", why=f"{one.why} {pairs[at][:60]!r}")


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="%")


def _method(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    method = luck.choice(METHODS)
    return replace(one, method=method, why=f"{one.why} {one.method} as {method}")


def _header(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    name, value = luck.choice(HEADERS)
    return replace(
        one, headers=(*one.headers, (name, value)), why=f"{one.why} {name}: {value[:40]!r}"
    )


def _kind(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    kind = luck.choice(CONTENT_TYPES)
    others = tuple(pair for pair in one.headers if pair[0] != "Content-Type")
    return replace(
        one, headers=(*others, ("Content-Type", kind)), why=f"{one.why} type {kind[:40]!r}"
    )


def _field(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    """A field of a form."""
    pairs = parse_qsl(one.body.decode("utf-8", "replace"), keep_blank_values=True)
    if not pairs:
        return one
    at = luck.randrange(len(pairs))
    name, value = pairs[at]
    pairs[at] = (name, odd.text(luck)) if luck.random() < 0.7 else (odd.text(luck), value)
    body = urlencode([(_bytes(a), _bytes(b)) for a, b in pairs]).encode()
    return replace(one, body=body, why=f"{one.why} field {name}")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _several(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    """Several values of the body."""
    for _ in range(luck.randint(2, 5)):
        one = _value(one, luck, odd)
    return one


def _value(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    body = _loaded(one.body)
    places = _places(body)
    if not places:
        return _raw(one, luck, odd)
    holder, key = luck.choice(places)
    value = luck.choice(odd.ids) if luck.random() < 0.15 else luck.choice(ODD_VALUES)
    holder[key] = _swapped(holder[key]) if luck.random() < 0.2 else value
    why = f"{one.why} {key} = {str(holder[key])[:40]!r}"
    return replace(one, body=_dumped(body), why=why)


def _swapped(value: Any) -> Any:
    """The same value as another type."""
    match value:
        case str():
            return [value]
        case bool() | int() | float():
            return str(value)
        case list():
            return {str(n): one for n, one in enumerate(value)}
        case dict():
            return list(value.items())
    return "null"


def _loaded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _dumped(value: Any) -> bytes:
    text = json.dumps(value)
    return text.encode() if len(text) % 2 else _plain(value, text)


def _plain(value: Any, text: str) -> bytes:
    """The same without escapes, where it has no half of a surrogate pair."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return text.encode()


def _key(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    body = _loaded(one.body)
    maps = [holder for holder, _ in _places(body) if isinstance(holder, dict)]
    if not maps:
        return _raw(one, luck, odd)
    holder = luck.choice(maps)
    key = luck.choice(list(holder))
    if luck.random() < 0.5:
        del holder[key]
    else:
        holder[luck.choice(ODD_KEYS)] = holder[key]
    return replace(one, body=_dumped(body), why=f"{one.why} key {key}")


def _raw(one: Sent, luck: random.Random, odd: Odd) -> Sent:
    at = luck.randrange(len(one.body) + 1)
    whole = one.body
    body = luck.choice([
        whole[:at], whole[:at] + b"\xff" + whole[at:], whole + whole, b"\xef\xbb\xbf" + whole,
        b"[" + whole + b"]", b"null", b"[]", b'"text"', b"{", b"{" * 3000, b"[" * 3000,
        b'{"a":' * 3000 + b"1" + b"}" * 3000, whole.decode("utf-8", "replace").encode("utf-16"),
        b"\0" * 100,
        whole.replace(b":", b":" + b" " * 2_000_000, 1), b'{"a": NaN, ' + whole[1:],
        b'{"stack_name": "a", "stack_name": "b", ' + whole[1:], b"a=b&c=d", b"<a/>",
        b"", b'{"a": 1e999}', b'{"a": ' + b"9" * 5000 + b"}",
        b'"\\ud800"', b'{"\\ud800": 1}', b"\x80" * 50,
        b"\x1f\x8b\x08" + whole, b'{"__proto__": ' + whole + b"}",
        b"--x\r\n\r\n" + whole + b"\r\n--x--",
    ])  # fmt: skip
    return replace(one, body=body, why=f"{one.why} raw {body[:20]!r} {len(body)}")


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value: what holds it, and its key there."""
    found: list[tuple[Any, Any]] = []
    if not isinstance(value, (dict, list)):
        return []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        found.append((value, key))
        if isinstance(inner, (dict, list)):
            found += _places(inner)
    return found
