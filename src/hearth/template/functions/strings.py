"""Functions that create, split and hash text.

Source: docs/spec/hot.md, sections 8.5 to 8.8, 8.16.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from hearth.model.problem import hint, nearest
from hearth.model.value import ValueKind
from hearth.template.errors import EvaluationError
from hearth.template.function import Check, Function, bounded, pure, register
from hearth.template.signature import LISTS, MAPS, TEXT, Takes, names, positions, whole


def as_json(value: Any) -> str:
    """Return a value as JSON text with sorted keys."""
    return json.dumps(value, sort_keys=True)


def _joined(delimiter: Any, items: list[Any], structured: bool) -> str:
    if not isinstance(delimiter, str):
        raise EvaluationError(f"the delimiter must be a string, not {delimiter!r}")
    texts = []
    for item in items:
        match item:
            case str():
                texts.append(item)
            case None:
                texts.append("")
            case dict() | list() if structured:
                texts.append(as_json(item))
            case _:
                raise EvaluationError(f"only strings can be joined, not {item!r}")
    bounded(sum(map(len, texts)) + len(delimiter) * len(texts))
    return delimiter.join(texts)


def list_join(args: Any) -> str:
    """Join the items of one or more lists with a delimiter; `args` is [delimiter, list, …].

    Items that are maps or lists are converted to JSON, and null to an empty text.
    """
    items: list[Any] = []
    for part in args[1:]:
        if not part:
            continue
        if not isinstance(part, list):
            raise EvaluationError(f"only lists can be joined, not {part!r}")
        items.extend(part)
    return _joined(args[0], items, structured=True)


def join_one(args: Any) -> str:
    """Join the texts in a single list with a delimiter; `args` is [delimiter, list].

    Null becomes an empty text. Other items raise EvaluationError.
    """
    if len(args) != 2:
        raise EvaluationError("expected a delimiter and a list")
    items = args[1] or []
    if not isinstance(items, list):
        raise EvaluationError(f"only a list can be joined, not {items!r}")
    return _joined(args[0], items, structured=False)


def _check_join(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) < 2:
        return "expected a list with a delimiter and one or more lists"
    return None


def _check_join_one(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) != 2:
        return "expected a list with a delimiter and one list"
    return None


def _text_of(value: Any, structured: bool) -> str:
    match value:
        case str():
            return value
        case None:
            return ""
        case bool() | int() | float():
            return str(value)
        case dict() | list() if structured:
            return as_json(value)
        case _:
            raise EvaluationError(f"{value!r} cannot be inserted into a string")


def replaced(template: Any, params: Any, structured: bool) -> tuple[str, set[str]]:
    """Replace all keys of `params` in the template; inserted texts are not searched again.

    Longer keys are replaced first. Return the text and the keys that occurred in it. If
    `structured` is true, maps and lists are inserted as JSON; otherwise they raise EvaluationError.
    """
    if not isinstance(template, str):
        raise EvaluationError(f"the template must be a string, not {template!r}")
    if not isinstance(params, Mapping):
        raise EvaluationError(f"the params must be a map, not {params!r}")
    values = {}
    for key, value in params.items():
        try:
            values[str(key)] = _text_of(value, structured)
        except EvaluationError as error:
            raise EvaluationError(f'params, "{key}": {error}') from None
    if "" in values:
        raise EvaluationError("an empty key cannot be replaced")
    if not values:
        return template, set()
    keys = sorted(values, key=lambda key: (-len(key), key))
    used: set[str] = set()

    # One scan would let a short key to the left win over a longer one to the right; keys are
    # therefore replaced one by one, and inserted texts are not searched again.
    parts: list[str | tuple[str]] = [template]
    for key in keys:
        parts = _split(parts, key, values[key], used)
    texts = [part if isinstance(part, str) else part[0] for part in parts]
    bounded(sum(map(len, texts)))
    return "".join(texts), used


def _split(
    parts: list[str | tuple[str]], key: str, value: str, used: set[str]
) -> list[str | tuple[str]]:
    result: list[str | tuple[str]] = []
    for part in parts:
        if not isinstance(part, str) or key not in part:
            result.append(part)
            continue
        used.add(key)
        for index, piece in enumerate(part.split(key)):
            if index:
                result.append((value,))
            if piece:
                result.append(piece)
    return result


def _replacer(structured: bool, strict: bool, empty_allowed: bool) -> Callable[[Any], str]:
    def replace(args: Any) -> str:
        if not isinstance(args, Mapping) or "template" not in args or "params" not in args:
            raise EvaluationError("expected template and params")
        params = args["params"]
        text, used = replaced(args["template"], params, structured)
        if strict:
            unused = sorted(str(key) for key in params if str(key) not in used)
            if unused:
                raise EvaluationError(f"params not found in the template: {', '.join(unused)}")
        if not empty_allowed:
            for key, value in params.items():
                if value is None or value == "" or value == [] or value == {}:
                    raise EvaluationError(f'the value of "{key}" is empty')
        return text

    return replace


def _check_replace(args: Any) -> str | None:
    if not isinstance(args, dict):
        return "expected a map with the keys template and params"
    absent = [key for key in ("template", "params") if key not in args]
    if absent:
        near = next((key for key in args if nearest(str(key), absent)), None)
        unknown = f': unknown key "{near}"{hint(nearest(str(near), absent))}' if near else ""
        return f"expected a map with the keys template and params{unknown}"
    if isinstance(args["params"], list | str | int | float | bool):
        return "params must be a map"
    return None


def fn_replace(args: Any) -> str:
    """Return a text in which some parts are replaced (`Fn::Replace`).

    `args` is the list [map from each part to its replacement, text].
    """
    return replaced(args[1], args[0], structured=False)[0]


def _check_fn_replace(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) != 2:
        return "expected a list with a map and a string"
    if isinstance(args[0], list | str | int | float | bool):
        return "the first argument must be a map"
    return None


def str_split(args: Any) -> Any:
    """Split a text at a delimiter; return a list of the parts, or the part with the given index.

    `args` is the list [delimiter, text] or [delimiter, text, index]. If the text is null, so is the
    result.
    """
    if not isinstance(args, list) or len(args) < 2:
        raise EvaluationError("expected a delimiter and a string")
    delimiter, text = args[0], args[1]
    if text is None:
        return None
    if not isinstance(text, str):
        raise EvaluationError(f"only a string can be split, not {text!r}")
    if not isinstance(delimiter, str) or not delimiter:
        raise EvaluationError("the delimiter must be a non-empty string")
    pieces = text.split(delimiter)
    if len(args) < 3:
        return pieces
    try:
        return pieces[int(args[2])]
    except (ValueError, TypeError, OverflowError):
        raise EvaluationError(f"the index must be a number, not {args[2]!r}") from None
    except IndexError:
        raise EvaluationError(
            f"there is no piece {args[2]}: the string has {len(pieces)} pieces, counted from 0"
        ) from None


def _check_list(args: Any) -> str | None:
    return "expected a list of arguments" if isinstance(args, str | dict) else None


def fn_split(args: Any) -> list[str]:
    """Split a text at a delimiter and return a list of the parts (`Fn::Split`).

    `args` is the list [delimiter, text].
    """
    if not isinstance(args, list) or len(args) != 2:
        raise EvaluationError("expected a delimiter and a string")
    delimiter, text = args
    if not isinstance(text, str) or not isinstance(delimiter, str) or not delimiter:
        raise EvaluationError(
            f"expected a non-empty delimiter and a string, got {delimiter!r} and {text!r}"
        )
    return text.split(delimiter)


def _check_fn_split(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) != 2 or not isinstance(args[0], str):
        return "expected a list with a delimiter and a string"
    return None


def digest(args: Any) -> str:
    """Return the hash of a text in hexadecimal digits; `args` is the list [algorithm, text]."""
    if not isinstance(args, list):
        raise EvaluationError("expected a list with an algorithm and a string")
    if len(args) != 2:
        raise EvaluationError("expected exactly an algorithm and a string")
    algorithm, text = args
    if not isinstance(algorithm, str) or not isinstance(text, str):
        raise EvaluationError("the algorithm and the value to hash must both be strings")
    if algorithm.lower() not in hashlib.algorithms_available:
        raise EvaluationError(f'there is no algorithm "{algorithm}"')
    try:
        return hashlib.new(algorithm.lower(), text.encode("latin-1")).hexdigest()
    except UnicodeEncodeError:
        raise EvaluationError("only Latin-1 characters can be hashed") from None
    except TypeError:
        raise EvaluationError(
            f'"{algorithm}" has no fixed digest length; use another algorithm, such as sha256'
        ) from None


URL_KEYS = ("scheme", "username", "password", "host", "port", "path", "query", "fragment")


def _url_wrong(args: Any, computed: bool) -> str | None:
    if not isinstance(args, dict):
        return "expected a map of the parts of a URL"
    for key in args:
        if key not in URL_KEYS:
            return f'"{key}" is not a part of a URL'
    for key in URL_KEYS:
        value = args.get(key)
        if key not in args or not _literal(value):
            continue
        if key == "query":
            if not isinstance(value, dict):
                return "the query must be a map"
            return None
        if key == "port":
            wrong = _port_wrong(value)
            if wrong:
                return wrong
        elif not isinstance(value, str):
            return f"the {key} must be a string"
        elif computed and key == "scheme" and ":" in value:
            return "the scheme must not contain a colon"
    return None


def _literal(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list | dict)


def _port_wrong(value: Any) -> str | None:
    try:
        port = int(value)
    except (ValueError, TypeError, OverflowError):
        return f'the port "{value}" is not a number'
    return None if 0 < port < 65536 else f"the port {port} is not between 1 and 65535"


def make_url(args: Any) -> str:
    """Build a URL from its parts; `args` is a map with keys of URL_KEYS.

    Raises EvaluationError if a part is invalid.
    """
    wrong = _url_wrong(args, computed=True)
    if wrong:
        raise EvaluationError(wrong)
    parts = []
    scheme = args.get("scheme", "")
    if scheme:
        parts.append(f"{scheme}:")
    host = _host(args.get("host", ""))
    authority = _user(args) + host + (f":{args['port']}" if args.get("port") else "")
    if authority:
        parts.append(f"//{authority}")
    path = args.get("path", "")
    if path:
        if authority and not path.startswith("/"):
            path = "/" + path
        parts.append(quote(path, safe="/"))
    if args.get("query"):
        parts.append("?" + urlencode(args["query"], safe="/"))
    if args.get("fragment"):
        parts.append("#" + quote(str(args["fragment"]), safe="/"))
    return "".join(parts)


def _user(args: Any) -> str:
    user = quote(args.get("username", ""), safe="")
    if args.get("password"):
        user += ":" + quote(args["password"], safe="")
    return f"{user}@" if user else ""


def _host(host: str) -> str:
    """Return the host, percent-encoded for a URL.

    An IPv6 address is put in brackets, and the `%` before its zone is encoded.
    """
    if ":" not in host and not host.startswith("["):
        return quote(host, safe="")
    return f"[{quote(host.removeprefix('[').removesuffix(']'), safe=':')}]"


def base64(args: Any) -> str:
    """Return the text unchanged, because Hearth encodes it later if the cloud requires that."""
    if not isinstance(args, str):
        raise EvaluationError(f"only a string can be encoded, not {args!r}")
    return args


_replace_takes = names(template=TEXT, params=MAPS)
_join_takes = positions(TEXT, rest=LISTS)


def _split_kinds(args: Any) -> frozenset[ValueKind]:
    return frozenset(
        {ValueKind.STRING if isinstance(args, list) and len(args) > 2 else ValueKind.LIST}
    )


def _text_function(
    name: str,
    function: Callable[[Any], str],
    check: Check | None = None,
    takes: Takes | None = None,
) -> None:
    register(Function(name, pure(function), check, takes=takes, gives=ValueKind.STRING))


_text_function("list_join", list_join, _check_join, _join_takes)
_text_function("list_join.one", join_one, _check_join_one, _join_takes)
_text_function("Fn::Join", join_one, _check_join_one, _join_takes)
for _name, _structured, _strict, _empty_allowed in (
    ("str_replace", True, False, True),
    ("str_replace.text", False, False, True),
    ("str_replace_strict", True, True, True),
    ("str_replace_vstrict", True, True, False),
):
    _replace = _replacer(structured=_structured, strict=_strict, empty_allowed=_empty_allowed)
    _text_function(_name, _replace, _check_replace, _replace_takes)
_text_function("Fn::Replace", fn_replace, _check_fn_replace, positions(MAPS, TEXT))
_text_function("digest", digest, None, positions(TEXT, TEXT))
_text_function(
    "make_url",
    make_url,
    lambda args: _url_wrong(args, computed=False),
    names(scheme=TEXT, username=TEXT, password=TEXT, host=TEXT, path=TEXT, query=MAPS),
)
_text_function("Fn::Base64", base64, None, whole(TEXT))
register(
    Function(
        "str_split", pure(str_split), _check_list, takes=positions(TEXT, TEXT), gives=_split_kinds
    )
)
register(
    Function(
        "Fn::Split",
        pure(fn_split),
        _check_fn_split,
        takes=positions(TEXT, TEXT),
        gives=ValueKind.LIST,
    )
)
