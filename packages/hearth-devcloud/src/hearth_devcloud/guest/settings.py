"""The settings of the agent in user data: a part for cloud-init, or a file for Ignition."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any
from urllib.parse import unquote_to_bytes

from hearth_devcloud.sandbox.userdata import Unreadable, decompressed, parts
from hearth_devcloud.store import Body

DOCUMENT = "cfn-init-data"  # the name of the part or of the file


def agent_section(data: bytes) -> Body | None:
    """Return the section `heat` of the agent's settings, or None if it is missing or unreadable."""
    try:
        text = decompressed(data)
        document = _document(text)
        section = json.loads(document)["os-collect-config"]["heat"] if document else None
    except (Unreadable, ValueError, LookupError, TypeError, RecursionError):
        return None
    return section if isinstance(section, dict) and section.get("user_id") else None


def _document(text: bytes) -> bytes | None:
    if text.lstrip().startswith(b"{"):
        return _file_of_ignition(json.loads(text))
    return next((part.data for part in parts(text) if part.name == DOCUMENT), None)


def _file_of_ignition(config: Any) -> bytes | None:
    """Return the contents of the first file with the name DOCUMENT that an Ignition config creates.

    Raises LookupError, TypeError, ValueError or Unreadable if the config is malformed.
    """
    if not config["ignition"]["version"]:
        return None
    for file in config["storage"]["files"]:
        if str(file["path"]).rpartition("/")[2] == DOCUMENT:
            contents = file["contents"]
            data = _data_of_url(str(contents["source"]))
            return decompressed(data) if contents.get("compression") == "gzip" else data
    return None


def _data_of_url(url: str) -> bytes:
    """Return the data in a `data:` URL (RFC 2397). Raises ValueError for other URLs."""
    kind, comma, text = url.partition(",")
    if not kind.startswith("data:") or not comma:
        raise ValueError("not a data URL")
    data = unquote_to_bytes(text)
    try:
        return base64.b64decode(data, validate=True) if kind.endswith(";base64") else data
    except binascii.Error as problem:
        raise ValueError(str(problem)) from None
