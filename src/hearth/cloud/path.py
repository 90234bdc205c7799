"""Values in the paths of calls: an id can come from a request, so every value is quoted."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from hearth.cloud.fault import CloudFault

UPWARDS = frozenset({".", ".."})


def segment(value: object) -> str:
    """Return `value` quoted as one segment of a path, or as one value of a query.

    Raises CloudFault 404 for values that cannot be a name: an empty text, `.` and `..`, which would
    change the path.
    """
    text = str(value)
    if not text or text in UPWARDS:
        raise CloudFault("", 404, "NotFound", f'Invalid id or name "{text}".')
    return quote(text, safe="")


def filled_path(template: str, values: Mapping[str, Any]) -> str:
    """Return the path with each `{name}` replaced by its value, quoted. Raises CloudFault 404."""
    return template.format_map(_Segments(values))


class _Segments(dict[str, Any]):
    def __getitem__(self, name: str) -> str:
        return segment(super().__getitem__(name))


def straight(service: str, path: str) -> str:
    """Return `path`. Raises CloudFault if it contains the segments `.` or `..`."""
    place = path.partition("?")[0]
    if any(unquote(part) in UPWARDS for part in place.split("/")) or "\\" in place:
        raise CloudFault(
            service, 400, "BadPath", f'invalid path "{place[:200]}": it contains ".", ".." or "\\".'
        )
    return path
