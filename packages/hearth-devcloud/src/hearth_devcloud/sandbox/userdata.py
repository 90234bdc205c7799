"""Parsing of user data as in cloud-init: a script or a MIME message, perhaps compressed by gzip."""

from __future__ import annotations

import email
import email.policy
import zlib
from dataclasses import dataclass
from email.message import Message

SIZE_MAX = 16 * 1024 * 1024  # bytes, decompressed
_GZIP = b"\x1f\x8b"
_BY_START = (
    (b"#!", "text/x-shellscript"),
    (b"#cloud-config-archive", "text/cloud-config-archive"),
    (b"#cloud-config-jsonp", "text/cloud-config-jsonp"),
    (b"#cloud-config", "text/cloud-config"),
    (b"#cloud-boothook", "text/cloud-boothook"),
    (b"#part-handler", "text/part-handler"),
    (b"#include", "text/x-include-url"),
    (b"## template: jinja", "text/jinja2"),
)
_TO_BE_LOOKED_AT = {
    "text/plain",
    "text/x-not-multipart",
    "application/octet-stream",
    "application/gzip",
    "application/x-gzip",
    "application/gzip-compressed",
    "application/x-compressed",
}


@dataclass(frozen=True)
class MimePart:
    """A part of user data: MIME type, file name and content."""

    type: str
    name: str
    data: bytes


class Unreadable(ValueError):
    """User data cannot be parsed; the message gives the reason."""


def parts(raw: bytes) -> list[MimePart]:
    """Split user data into its parts and return them in order. Raises Unreadable."""
    all_parts: list[MimePart] = []
    _add(decompressed(raw), all_parts)
    return all_parts


def decompressed(data: bytes) -> bytes:
    """Decompress gzip data; return other data unchanged. Raises Unreadable."""
    if not data.startswith(_GZIP):
        return data
    try:
        unpacker = zlib.decompressobj(wbits=31)
        plain = unpacker.decompress(data, SIZE_MAX + 1)
    except zlib.error as problem:
        raise Unreadable(f"the gzip data is damaged: {problem}") from None
    if len(plain) > SIZE_MAX:
        raise Unreadable(f"the data is longer than {SIZE_MAX} bytes when it is decompressed")
    if not unpacker.eof:
        raise Unreadable("the gzip data is damaged: it ends too early")
    return plain


def _add(data: bytes, all_parts: list[MimePart]) -> None:
    if not data.strip():
        return
    head = data[:4096].lower()
    if head.startswith((b"content-type:", b"mime-version:")) or b"\nmime-version:" in head:
        message = email.message_from_bytes(data, policy=email.policy.compat32)
        if "content-type" in message:
            _add_message(message, all_parts)
            return
    kind = _type_of(data)
    all_parts.append(MimePart(kind, _name(None, all_parts), data))


def _add_message(message: Message, all_parts: list[MimePart]) -> None:
    for part in message.walk():
        if part.is_multipart():
            continue
        payload = part.get_payload(decode=True)
        data = decompressed(payload if isinstance(payload, bytes) else b"")
        kind = part.get_content_type()
        if kind in _TO_BE_LOOKED_AT:
            kind = _type_of(data)
        all_parts.append(MimePart(kind, _name(part.get_filename(), all_parts), data))


def _name(filename: str | None, all_parts: list[MimePart]) -> str:
    """Return the file name of a part without folders; a missing name becomes `part-001` etc."""
    name = (filename or "").replace("/", "_").lstrip(".")
    return name or f"part-{len(all_parts) + 1:03d}"


def _type_of(data: bytes) -> str:
    return next((kind for start, kind in _BY_START if data.startswith(start)), "text/plain")
