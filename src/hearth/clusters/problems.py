"""Errors of the cluster service that a user can correct, with the HTTP status of each.

Source: tests/facts/magnum/errors.json.
"""

from hearth.model.problem import Problem, Rejected, rejection


class ClusterProblem(Problem, frozen=True):
    """An error in a request. The text up to the first full stop is the title in the response."""

    status: int = 400
    explanation: str = ""

    @property
    def text(self) -> str:
        """The complete text of the error: the title and the detail of the response."""
        return self.explanation


class UnknownTemplate(ClusterProblem, frozen=True):
    """The template for a new cluster does not exist."""


class WrongState(Rejected):
    """The operation is not allowed in the current state of the cluster."""


def bad_request(message: str) -> Rejected:
    """Return an exception for an invalid request (status 400)."""
    return rejection(ClusterProblem, 400, message)


def forbidden(message: str) -> Rejected:
    """Return an exception for a request that the caller may not make (403)."""
    return rejection(ClusterProblem, 403, message)


def not_found(
    noun: str, name: str, problem_type: type[ClusterProblem] = ClusterProblem
) -> Rejected:
    """Return an exception for an object that does not exist or that the caller may not see (404).

    `noun` is the kind of object, and `name` its name or id in the request.
    """
    return rejection(problem_type, 404, f"No {noun} {name}. Check its name or id.")


def conflict(message: str) -> Rejected:
    """Return an exception for a request that conflicts with the current state (409)."""
    return rejection(ClusterProblem, 409, message)
