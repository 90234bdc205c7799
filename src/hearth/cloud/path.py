"""URL quoting of ids and names in the paths of calls, because they can come from a request."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from hearth.cloud.fault import CloudFault, NotFound

UPWARDS = frozenset({".", ".."})


def segment(value: object) -> str:
    """Return `value` quoted as one segment of a path, or as one value of a query.

    Raises CloudFault 404 for an empty text, `.` and `..`, because they would lead to another path.
    """
    text = str(value)
    if not text or text in UPWARDS:
        raise NotFound("", f'Invalid id or name "{text}".')
    return quote(text, safe="")


def filled_path(template: str, values: Mapping[str, Any]) -> str:
    """Return the path with each `{name}` replaced by its quoted value.

    Raises CloudFault 404 for values that `segment` refuses.
    """
    return template.format_map(_Segments(values))


class _Segments(dict[str, Any]):
    def __getitem__(self, name: str) -> str:
        return segment(super().__getitem__(name))


def straight(service: str, path: str) -> str:
    """Return `path`. Raises CloudFault if it contains a backslash or a segment `.` or `..`.

    `service` is the type of the service in the error.
    """
    bare_path = path.partition("?")[0]
    if any(unquote(part) in UPWARDS for part in bare_path.split("/")) or "\\" in bare_path:
        raise CloudFault(
            service, 400, "BadPath", f'Path "{bare_path[:200]}" must not contain ".", ".." or "\\".'
        )
    return path
