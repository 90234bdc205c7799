"""Errors of the cluster service that a user can fix, with the status of each.

Source: facts/magnum/errors.json.
"""

from dataclasses import dataclass

from hearth.model.problem import Problem, Rejected


@dataclass(frozen=True)
class ClusterProblem(Problem):
    """A refused request. The text up to the first full stop is the title of the answer."""

    status: int = 400
    words: str = ""

    @property
    def text(self) -> str:
        """The text of the error, which is title and detail of the answer."""
        return self.words


class WrongState(Rejected):
    """The cluster is in a state that does not allow the operation."""


def refused(status: int, words: str) -> Rejected:
    """Return the exception for a refused request."""
    return Rejected([ClusterProblem(None, status, words)])


def bad_request(words: str) -> Rejected:
    """Return the exception for a request with an error in it."""
    return refused(400, words)


def not_found(what: str, name: str) -> Rejected:
    """Return the exception for an object that does not exist, or not for this caller."""
    return refused(404, f"No {what} {name}. Check its name or id.")


def conflict(words: str) -> Rejected:
    """Return the exception for a request that contradicts the current state."""
    return refused(409, words)
