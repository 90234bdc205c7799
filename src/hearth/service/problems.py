"""Refusals of use cases, beside those of the compiler and the engine. Source: spec/errors.md."""

from dataclasses import dataclass

from hearth.model.problem import Problem, Worded


@dataclass(frozen=True)
class HTTPServiceUnavailable(Worded):
    """A service that the check needs does not answer."""


@dataclass(frozen=True)
class HTTPForbidden(Worded):
    """The token is not of the project in the path."""


@dataclass(frozen=True)
class Forbidden(Worded):
    """A rule refuses; or a user of a stack asks for more than the resource it was made for."""


@dataclass(frozen=True)
class HTTPNotFound(Worded):
    """There is nothing of that kind."""


@dataclass(frozen=True)
class ResourceActionNotSupported(Worded):
    """The type of the resource has no handler for that."""


@dataclass(frozen=True)
class ConfigInUse(Problem):
    """A deployment names the software configuration that shall go."""

    config: str
    deployment: str

    @property
    def kind(self) -> str:
        return "InvalidRestrictedAction"

    @property
    def text(self) -> str:
        return (
            f"The software config {self.config} is used by the software deployment"
            f" {self.deployment}: delete that first."
        )


@dataclass(frozen=True)
class ResourceNotFound(Problem):
    """The stack has no such resource."""

    name: str
    stack: str

    @property
    def text(self) -> str:
        return f"The Resource ({self.name}) could not be found in Stack {self.stack}."


@dataclass(frozen=True)
class ResourceNotAvailable(Problem):
    """The resource is in the template and has not been made."""

    name: str

    @property
    def text(self) -> str:
        return f"The Resource ({self.name}) is not available."
