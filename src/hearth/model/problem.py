"""Errors. This module defines what a user can fix; the tree shows how it relates to the others.

Values:

    Problem                     one error that a user can fix: what, where, a suggestion
      Worded                    its text is given when it is created
        StackValidationFailed   and the other classes below; `Notice` is only a warning

Exceptions:

    Rejected                    a request is not accepted; carries all its problems
    CloudFault                  a call to a cloud failed (hearth.cloud.fault)
      NoAnswer                  the cloud may or may not have carried out the call
        Unreadable              its answer cannot be read
    CfnError                    an error of the CloudFormation API (hearth.api.cfn.faults)
    WrongSetting                a setting of the operator cannot work (hearth.cli.process)

The engine turns a failure of a resource into an exception of hearth.engine.worker; the embedded
cloud has its own. `api/fault.py` turns `Rejected` and `CloudFault` into answers. The class name of
a problem is the `error.type` of the REST answer.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from hearth.model.span import Span


@dataclass(frozen=True)
class Problem:
    """One error. `at` is its place in a template, or None.

    `code` is the code of the `hearth lint` rule. `suggestion` is the text that the author probably
    meant.
    """

    at: Span | None
    code: str = field(default="", kw_only=True)
    suggestion: str | None = field(default=None, kw_only=True)

    @property
    def kind(self) -> str:
        """The error type on the wire."""
        return type(self).__name__

    @property
    def text(self) -> str:
        """The text of the error, without the place."""
        raise NotImplementedError

    @property
    def message(self) -> str:
        """One line for people: the path, the text, and file, line and column in brackets."""
        path = f"{self.at.path}: " if self.at and self.at.path else ""
        place = f" [{self.at}]" if self.at and self.at.line else ""
        return f"{path}{self.text}{place}"


@dataclass(frozen=True)
class Worded(Problem):
    """A problem whose text is given when it is created."""

    words: str

    @property
    def text(self) -> str:
        return self.words


@dataclass(frozen=True)
class StackValidationFailed(Worded):
    """A template, parameter, property or name check failed.

    `prefix` is `Property error` for property checks, or the type of an error that was wrapped.
    """

    prefix: str = ""

    @property
    def message(self) -> str:
        rest = super().message
        return f"{self.prefix}: {rest}" if self.prefix else rest


class Notice(Worded):
    """A warning: accepted, but probably a mistake."""


@dataclass(frozen=True)
class ParameterNotProvided(StackValidationFailed):
    """A property uses a parameter without a value.

    Clients depend on this form of Heat's message.
    """

    @property
    def kind(self) -> str:
        return "StackValidationFailed"

    @property
    def message(self) -> str:
        path, place = (self.at.path, f" [{self.at}]") if self.at else ("", "")
        return f"{self.prefix}: : {path}: : {self.text}{place}"


@dataclass(frozen=True)
class TemplateMissing(StackValidationFailed):
    """A nested template is not in the files. A caller that may fetch it can add it and retry."""

    template: str = ""

    @property
    def kind(self) -> str:
        return "StackValidationFailed"


@dataclass(frozen=True)
class UserParameterMissing(Problem):
    """A parameter without default got no value."""

    name: str

    @property
    def text(self) -> str:
        return f'parameter "{self.name}" has no value and no default'


@dataclass(frozen=True)
class UnknownUserParameter(Problem):
    """A value is given for a parameter that the template does not declare."""

    name: str
    nearest: str | None = None

    @property
    def text(self) -> str:
        return f'the template has no parameter "{self.name}"{hint(self.nearest)}'


@dataclass(frozen=True)
class ImmutableParameterModified(Problem):
    """An update changes parameters that are declared immutable."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        names = ", ".join(self.names)
        return f"The following parameters are immutable and may not be updated: {names}"


class InvalidSchemaError(Worded):
    """The declaration of a parameter is invalid."""


@dataclass(frozen=True)
class InvalidTemplateVersion(Problem):
    """The template version is unknown, or the template has two version keys."""

    version: str
    known: tuple[str, ...] = ()
    ambiguous: bool = False

    @property
    def text(self) -> str:
        if self.ambiguous:
            return f"the template has more than one version key: {self.version}"
        known = ", ".join(self.known)
        near = hint(self.suggestion)
        return f'The template version is invalid: "{self.version}"{near}; known are {known}'


class NoTemplateVersion(Worded):
    """A template given as an object has no version key."""

    @property
    def kind(self) -> str:
        return "InvalidTemplateVersion"


@dataclass(frozen=True)
class InvalidTemplateSection(Problem):
    """A top-level key is not a section of this template version."""

    section: str
    nearest: str | None = None

    @property
    def text(self) -> str:
        return f'"{self.section}" is not a section of this version{hint(self.nearest)}'


@dataclass(frozen=True)
class InvalidTemplateReference(Problem):
    """A reference names a resource that the template does not define, or that a condition disables.

    `words` replaces the message if the reference itself has the wrong form.
    """

    name: str
    nearest: str | None = None
    words: str = ""

    @property
    def text(self) -> str:
        if self.words:
            return self.words
        return f'there is no resource "{self.name}"{hint(self.nearest)}'


CYCLE_SHOWN_MAX = 20
"""The maximum number of names of a cycle in a message."""


@dataclass(frozen=True)
class CircularDependencyException(Problem):
    """Resources depend on each other. The first name of the cycle is also its last."""

    cycle: tuple[str, ...]

    @property
    def text(self) -> str:
        shown = list(self.cycle)
        if len(shown) > CYCLE_SHOWN_MAX:
            shown[CYCLE_SHOWN_MAX - 1 : -1] = ["..."]
        return f"resources depend on each other in a cycle: {' -> '.join(shown)}"


@dataclass(frozen=True)
class RequestLimitExceeded(Worded):
    """A part of the request is larger than its limit."""


class DownloadLimitExceeded(Worded):
    """A template or file that the request refers to is too large."""


class HTTPBadRequest(Worded):
    """The request is malformed: not YAML, not a template, not a map."""


class Invalid(Worded):
    """The request is well formed but invalid."""


class InvalidDirection(Worded):
    """A list cannot be sorted in that direction."""

    @property
    def kind(self) -> str:
        return "ValueError"


class InvalidBreakPointHook(Worded):
    """An environment names a hook that does not exist."""


class InvalidRestrictedAction(Worded):
    """An environment restricts an action that does not exist."""


class InvalidExternalResourceDependency(Worded):
    """A resource with an external id has `depends_on` beside it."""


class ConflictingMergeStrategyForParam(Worded):
    """Two environment files give one parameter different merge strategies."""


class InvalidMergeStrategyForParam(Worded):
    """The merge strategy of an environment does not fit the parameter."""


class NotFound(Worded):
    """An output, version, snapshot or similar does not exist."""


class NotSupported(Worded):
    """The operation is not possible in this state."""


class ResourceTypeUnavailable(Worded):
    """The cloud has no service for a resource type. The message starts with a code."""

    @property
    def message(self) -> str:
        return f"HEAT-E99001 {super().message}"


@dataclass(frozen=True)
class EntityNotFound(Problem):
    """A named object does not exist."""

    entity: str
    name: str

    @property
    def text(self) -> str:
        return f"The {self.entity} ({self.name}) could not be found."


class ResourcePropertyConflict(Worded):
    """Properties that exclude each other are both given."""


class Rejected(Exception):
    """A request that is not accepted, with all its problems."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))

    def __reduce__(self) -> tuple[type[Rejected], tuple[tuple[Problem, ...]]]:
        return Rejected, (self.problems,)


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the most similar word, or None if none is similar enough."""
    known = [candidate for candidate in words if isinstance(candidate, str)]
    if len(known) > NEAREST_WORDS_MAX:
        known = [one for one in known if one[:1] == word[:1]][:NEAREST_WORDS_MAX]
    lower = {candidate.lower(): candidate for candidate in reversed(known)}
    found: Sequence[str] = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return lower[found[0]] if found else None


NEAREST_WORDS_MAX = 500


def nearest_file(name: str, files: Iterable[str]) -> str | None:
    """Return the most similar file in the same folder with the same extension, or None."""
    folder, base = posixpath.split(name)
    stem, ending = posixpath.splitext(base)
    stems = {}
    for one in files:
        its_folder, its_base = posixpath.split(one)
        its_stem, its_ending = posixpath.splitext(its_base)
        if (its_folder, its_ending) == (folder, ending):
            stems[its_stem] = one
    near = nearest(stem, stems)
    return stems[near] if near is not None else None


def hint(word: str | None) -> str:
    """Return `; did you mean …?`, or an empty text."""
    return f"; did you mean {word}?" if word else ""
