"""JSON that others have written."""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError, also for a text that is nested too deep.

    Python raises RecursionError for the latter, which a handler of ValueError does not expect.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
