"""Writing and reading MIME multipart documents for cloud-init.

The boundary is not random: equal parts give an equal document.
"""

from collections.abc import Sequence
from email import message_from_string
from email.message import Message
from email.mime.text import MIMEText

BOUNDARY = "===============hearth-part=="


def multipart(parts: Sequence[str]) -> str:
    """Return a multipart document; each of the `parts` is a complete part with its headers."""
    boundary = BOUNDARY
    while any(boundary in part for part in parts):
        boundary = f"={boundary}"
    head = f'Content-Type: multipart/mixed; boundary="{boundary}"\nMIME-Version: 1.0\n\n'
    middle = "".join(f"--{boundary}\n{part}\n" for part in parts)
    return f"{head}{middle}--{boundary}--\n"


def text_part(text: str, subtype: str, name: str | None = None) -> str:
    """Return a MIME text part as text; with a file name `name` it is an attachment."""
    part = MIMEText(text, subtype, "us-ascii" if text.isascii() else "utf-8")
    if name:
        part.add_header("Content-Disposition", "attachment", filename=name)
    return part.as_string()


def parts_of(text: str) -> list[Message] | None:
    """Return the parts of `text` if it is a multipart document, else None."""
    message = message_from_string(text)
    payload = message.get_payload()
    if not isinstance(payload, list):
        return None
    return [part for part in payload if isinstance(part, Message)]
