"""Microversions in headers, and handlers that exist since a microversion."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hearth_devcloud.http import Call, Handler, Refusal, Reply

_VERSION = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")


def version_in(text: str) -> tuple[int, int] | None:
    """Return the microversion that a text like "2.50" names; None if it is none."""
    if _VERSION.fullmatch(text) is None:
        return None
    major, _, minor = text.partition(".")
    return int(major), int(minor)


@dataclass(frozen=True)
class Since:
    """The handler of a route that exists since a microversion.

    Calls with an older one get the error `status`.
    """

    version: tuple[int, int]
    handler: Handler
    status: int = 404
    message: str = "The resource could not be found."

    def __call__(self, call: Call) -> Reply:
        """Handle a call. Raises Refusal if its microversion is too old."""
        if call.version < self.version:
            raise Refusal(self.status, message=self.message)
        return self.handler(call)
