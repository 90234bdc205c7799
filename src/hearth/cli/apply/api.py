"""What the commands need of an Orchestration API, in this process or behind a URL."""

from collections.abc import Sequence
from typing import Any, Protocol


class UserError(Exception):
    """A request was refused, or cannot be made. `lines` say why; `status` is that of the answer."""

    def __init__(self, lines: Sequence[str], status: int = 0) -> None:
        super().__init__("\n".join(lines))
        self.lines = list(lines)
        self.status = status


class Api(Protocol):
    """An Orchestration API, used as one user in one project."""

    location: str
    """Where the stack is kept, for messages: the path of the state file, or the name of a cloud."""

    async def call(
        self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None
    ) -> Any:
        """Make a request below the project and return the parsed body of the answer.

        Raises UserError if it is not answered with success.
        """
        ...

    def demand_working(self) -> None:
        """Raise UserError if requests are no longer carried out."""


def error_of(status: int, body: Any, raw: str) -> UserError:
    """Return the exception for an error response of the API."""
    error = body.get("error") if isinstance(body, dict) else None
    message = str(error.get("message") or "") if isinstance(error, dict) else raw
    return UserError(message.splitlines() or [f"status {status}"], status)
