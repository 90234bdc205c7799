"""Problems of use cases; the compiler and the engine have their own. Source: spec/errors.md."""

from dataclasses import dataclass

from hearth.model.problem import Problem, Worded


@dataclass(frozen=True)
class HTTPServiceUnavailable(Worded):
    """A service that a check needs does not respond."""


@dataclass(frozen=True)
class HTTPForbidden(Worded):
    """The token does not belong to the project in the path."""


@dataclass(frozen=True)
class Forbidden(Worded):
    """A policy rule forbids the request, or a stack domain user requests more than its own
    resource.
    """


@dataclass(frozen=True)
class HTTPNotFound(Worded):
    """An object of that kind does not exist."""


@dataclass(frozen=True)
class ResourceActionNotSupported(Worded):
    """The resource type does not support the action."""


@dataclass(frozen=True)
class ConfigInUse(Problem):
    """A deployment still uses the software configuration that a request deletes."""

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


@dataclass(frozen=True)
class ResourceNotFound(Problem):
    """The stack has no resource of this name."""

    name: str
    stack: str

    @property
    def text(self) -> str:
        return f"The Resource ({self.name}) could not be found in Stack {self.stack}."


@dataclass(frozen=True)
class ResourceNotAvailable(Problem):
    """The template defines the resource, but it has not been created."""

    name: str

    @property
    def text(self) -> str:
        return f"The Resource ({self.name}) is not available."
