"""Problems that use cases report. Problems of the compiler and of the engine are defined in
`model/problem.py` and `engine/core/rules.py`.

Source: docs/spec/errors.md.
"""

from hearth.model.problem import Problem, Worded


class HTTPServiceUnavailable(Worded, frozen=True):
    """The problem of a request that cannot be checked because a service does not respond."""


class HTTPForbidden(Worded, frozen=True):
    """The problem of a token that does not belong to the project in the request's path."""


class Forbidden(Worded, frozen=True):
    """The problem of a request that a policy rule forbids.

    It is also used if a stack domain user requests more than its own resource.
    """


class HTTPNotFound(Worded, frozen=True):
    """The problem of a request for an object that does not exist."""


class ResourceActionNotSupported(Worded, frozen=True):
    """The problem of an action that the resource type does not support."""


class PlanChanged(Worded, frozen=True):
    """The problem of a request that agrees to a plan which is no longer the plan."""


class ConfigInUse(Problem, frozen=True):
    """The problem of deleting a software configuration that a deployment still uses."""

    config: str
    deployment: str

    @property
    def kind(self) -> str:
        return "InvalidRestrictedAction"

    @property
    def text(self) -> str:
        return (
            f"The software config {self.config} is used by the software deployment"
            f" {self.deployment}: delete the deployment first."
        )


class ResourceNotFound(Problem, frozen=True):
    """The problem of a resource name that the stack does not have."""

    name: str
    stack: str

    @property
    def text(self) -> str:
        return f"The Resource ({self.name}) could not be found in Stack {self.stack}."


class ResourceNotAvailable(Problem, frozen=True):
    """The problem of a resource that is in the template but has not been created yet."""

    name: str

    @property
    def text(self) -> str:
        return f"The Resource ({self.name}) is not available."
