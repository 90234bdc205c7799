"""Microversions: the version that a request selects, and the version headers of responses.

Source: tests/facts/magnum/versions.json.
"""

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.answer import JSONResponse
from hearth.api.clusters import fault
from hearth.api.front.scope import below
from hearth.clusters.config import ClusterConfig

Version = tuple[int, int]

HEADER = "OpenStack-API-Version"
MINIMUM: Version = (1, 1)
FIRST = "1.1"
SERVICES = frozenset(
    {"container-infra", "container-infrastructure", "container-infrastructure-management"}
)
_NUMBERS = re.compile(r"(-?\d{1,9})\.(\d{1,9})", re.ASCII)
_PATHS = re.compile(r"/v1(/|$)")


class Malformed(Exception):
    """The version header of a request is malformed; the message explains what is expected."""


def parsed(text: str) -> Version:
    """Return the version that a text such as 1.10 describes. Raises Malformed."""
    match = _NUMBERS.fullmatch(text)
    if match is None:
        raise Malformed(f'Unknown version "{text}". Expected a number such as 1.10, or latest.')
    return int(match[1]), int(match[2])


def version_text(version: Version) -> str:
    """Return a version as text, such as 1.10."""
    return f"{version[0]}.{version[1]}"


def requested_version(header: str | None, highest: Version) -> Version:
    """Return the version in the header of a request. The word `latest` means the version `highest`.

    If `header` is None, return the lowest version. The result may be a version that is not
    supported. Raises Malformed.
    """
    if header is None:
        return MINIMUM
    service, *versions = header.split()
    if service not in SERVICES or len(versions) != 1:
        raise Malformed(
            f'Malformed header {HEADER}. Expected "container-infra" and a version, got "{header}".'
        )
    return highest if versions[0] == "latest" else parsed(versions[0])


class Microversions:
    """Middleware that determines the microversion of a request and adds the version headers.

    `config` names the highest version, and the service in the headers. Handlers read the version
    from `request.state.version`. The response is 406 if the header is malformed or the version is
    not supported. Requests outside `/v1` pass unchanged.
    """

    def __init__(self, app: ASGIApp, config: ClusterConfig) -> None:
        self._app = app
        self._service = config.header_service
        self._highest = parsed(config.version_max)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _PATHS.match(below(scope)):
            await self._app(scope, receive, send)
            return
        try:
            version = requested_version(Headers(scope=scope).get(HEADER) or None, self._highest)
        except Malformed as problem:
            await fault.answer(406, str(problem), code="")(scope, receive, send)
            return
        app = self._app if MINIMUM <= version <= self._highest else self._unsupported(version)
        scope.setdefault("state", {})["version"] = version
        await app(scope, receive, lambda message: send(self._with_headers(message, version)))

    def _with_headers(self, message: Message, version: Version) -> Message:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers[HEADER] = f"{self._service} {version_text(version)}"
            headers["OpenStack-API-Minimum-Version"] = f"{self._service} {FIRST}"
            headers["OpenStack-API-Maximum-Version"] = (
                f"{self._service} {version_text(self._highest)}"
            )
            headers.add_vary_header(HEADER)
        return message

    def _unsupported(self, version: Version) -> JSONResponse:
        highest = version_text(self._highest)
        title = f"Version {version_text(version)} is not supported"
        return JSONResponse(
            {
                "errors": [
                    {
                        "code": "magnum.microversion-unsupported",
                        "title": title,
                        "description": f"{title}. The lowest is {FIRST}, the highest {highest}.",
                        "min_version": FIRST,
                        "max_version": highest,
                        "links": [],
                    }
                ]
            },
            status_code=406,
        )
