"""The metadata of a share: calls for all of it, and for one item."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.manila.base import PATH, SHARES, TEXT, bad, find, missing
from hearth_devcloud.store import Resource


def pairs(value: Any) -> dict[str, str]:
    """Return metadata if it is a map of short strings. Raises ValueError otherwise."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {value!r}")
    for name, text in value.items():
        if not 0 < len(name) <= 255:
            raise ValueError("Metadata property key is blank or longer than 255 characters.")
        if not isinstance(text, str) or len(text) > 1023:
            raise ValueError(f"Metadata {name}: expected a string of at most 1023 characters")
    return dict(value)


def _own(call: Call) -> Resource:
    return find(call, SHARES, call.ids[0], "Share")


def _given(call: Call, key: str) -> dict[str, str]:
    try:
        return pairs(call.object(key))
    except ValueError as error:
        raise bad(str(error)) from None


def show(call: Call) -> Reply:
    """Handle GET of the metadata."""
    return Reply(200, {"metadata": _own(call).body["metadata"]})


def add(call: Call) -> Reply:
    """Handle POST of metadata: add it to that of the share."""
    share = _own(call)
    share.body["metadata"] = {**share.body["metadata"], **_given(call, "metadata")}
    return Reply(200, {"metadata": share.body["metadata"]})


def replace(call: Call) -> Reply:
    """Handle PUT of metadata: replace all metadata of the share."""
    share = _own(call)
    share.body["metadata"] = _given(call, "metadata")
    return Reply(200, {"metadata": share.body["metadata"]})


def item(call: Call) -> Reply:
    """Handle GET of a metadata item."""
    metadata: Body = _own(call).body["metadata"]
    if call.ids[1] not in metadata:
        raise missing("Metadata item", call.ids[1])
    return Reply(200, {"meta": {call.ids[1]: metadata[call.ids[1]]}})


def set_item(call: Call) -> Reply:
    """Handle PUT of a metadata item."""
    share, metadata = _own(call), _given(call, "meta")
    if list(metadata) != [call.ids[1]]:
        raise bad("Request body and URI mismatch")
    share.body["metadata"] = {**share.body["metadata"], **metadata}
    return Reply(200, {"meta": metadata})


def remove_item(call: Call) -> Reply:
    """Handle DELETE of a metadata item."""
    share, name = _own(call), call.ids[1]
    if name not in share.body["metadata"]:
        raise missing("Metadata item", name)
    metadata = {key: value for key, value in share.body["metadata"].items() if key != name}
    share.body["metadata"] = metadata
    return Reply(200, None, dict(TEXT))


_PATH = PATH + "/shares/{}/metadata"
ROUTES: list[Route] = [
    ("GET", _PATH, show),
    ("POST", _PATH, add),
    ("PUT", _PATH, replace),
    ("GET", _PATH + "/{}", item),
    ("PUT", _PATH + "/{}", set_item),
    ("DELETE", _PATH + "/{}", remove_item),
]
