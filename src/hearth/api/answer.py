"""JSON responses of all APIs, with a fast encoder."""

from typing import Any

import msgspec
from starlette import responses

_ENCODER = msgspec.json.Encoder()


class JSONResponse(responses.JSONResponse):
    """A JSON response with a fast encoder, because lists of stacks, resources and events are
    long.
    """

    def render(self, content: Any) -> bytes:
        """Return the body of the response.

        Integers of more than 64 bits, and text values with their position in a template, need a
        slower encoder.
        """
        try:
            return _ENCODER.encode(content)
        except (TypeError, OverflowError):
            return super().render(content)
