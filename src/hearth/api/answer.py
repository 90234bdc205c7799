"""JSON answers of all APIs, with a fast encoder."""

from typing import Any

import msgspec
from starlette import responses

_ENCODER = msgspec.json.Encoder()


class JSONResponse(responses.JSONResponse):
    """A JSON answer with a fast encoder, because lists of stacks, resources and events are long."""

    def render(self, content: Any) -> bytes:
        """Return the body. A slower encoder handles integers beyond 64 bits and text values that
        carry their position in a template.
        """
        try:
            return _ENCODER.encode(content)
        except (TypeError, OverflowError):
            return super().render(content)
