"""What the user can fix: frozen values that say what, where, and what may be meant.

The class name is the `error.type` of the REST answer. A check collects problems; `Rejected`
carries them up, all at once.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from hearth.model.span import Span


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. `at` is None where there is no place to point at.

    `code` names the rule for those who explain it or switch it off; `suggestion` is what may be
    meant instead of the text at the place.
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
        """What is wrong, without the place."""
        raise NotImplementedError

    @property
    def message(self) -> str:
        """One line for people: the path, the matter, and file, line and column in brackets."""
        path = f"{self.at.path}: " if self.at and self.at.path else ""
        place = f" [{self.at}]" if self.at and self.at.line else ""
        return f"{path}{self.text}{place}"


@dataclass(frozen=True)
class Worded(Problem):
    """A problem whose finder words it."""

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
    """Nothing that is refused, and yet hardly meant: a warning."""


@dataclass(frozen=True)
class ParameterNotProvided(StackValidationFailed):
    """A property asks for a parameter that has no value. Programs compare this form of Heat's."""

    @property
    def kind(self) -> str:
        return "StackValidationFailed"

    @property
    def message(self) -> str:
        path, place = (self.at.path, f" [{self.at}]") if self.at else ("", "")
        return f"{self.prefix}: : {path}: : {self.text}{place}"


@dataclass(frozen=True)
class TemplateMissing(StackValidationFailed):
    """A child template that is not among the files: whoever may fetch it can try again with it."""

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
    """A parameter is declared in a way that makes no sense."""


@dataclass(frozen=True)
class InvalidTemplateVersion(Problem):
    """The version key holds no version we know, or there are two such keys."""

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
    """A template that came as an object, without a version key."""

    @property
    def kind(self) -> str:
        return "InvalidTemplateVersion"


@dataclass(frozen=True)
class InvalidTemplateSection(Problem):
    """A top-level key that is no section of this version."""

    section: str
    nearest: str | None = None

    @property
    def text(self) -> str:
        return f'"{self.section}" is not a section of this version{hint(self.nearest)}'


@dataclass(frozen=True)
class InvalidTemplateReference(Problem):
    """Something refers to a resource that the template does not define, or has switched off.

    `words` say it otherwise, where the reference itself is not in the form that it needs.
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
"""How many names of a cycle a message holds."""


@dataclass(frozen=True)
class CircularDependencyException(Problem):
    """Resources that wait for each other. The cycle ends where it begins."""

    cycle: tuple[str, ...]

    @property
    def text(self) -> str:
        shown = list(self.cycle)
        if len(shown) > CYCLE_SHOWN_MAX:
            shown[CYCLE_SHOWN_MAX - 1 : -1] = ["..."]
        return f"resources depend on each other in a circle: {' -> '.join(shown)}"


@dataclass(frozen=True)
class RequestLimitExceeded(Worded):
    """Something is larger than it may be."""


class DownloadLimitExceeded(Worded):
    """What a request names elsewhere is too large."""


class HTTPBadRequest(Worded):
    """The request itself is not well formed: no YAML, no template, no map."""


class Invalid(Worded):
    """The request is well formed and yet can not be meant."""


class InvalidDirection(Worded):
    """A list can not be sorted that way."""

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
    """Two environment files name different merge strategies for one parameter."""


class InvalidMergeStrategyForParam(Worded):
    """A parameter's values can not be combined in the way an environment asks for."""


class NotFound(Worded):
    """There is no such output, version, snapshot or the like."""


class NotSupported(Worded):
    """The operation is not possible in this state."""


class ResourceTypeUnavailable(Worded):
    """The service behind a resource type is missing. The message starts with its code."""

    @property
    def message(self) -> str:
        return f"HEAT-E99001 {super().message}"


@dataclass(frozen=True)
class EntityNotFound(Problem):
    """Something that is named does not exist."""

    entity: str
    name: str

    @property
    def text(self) -> str:
        return f"The {self.entity} ({self.name}) could not be found."


class ResourcePropertyConflict(Worded):
    """Properties that exclude each other are both given."""


class Rejected(Exception):
    """A request that can not be accepted, with everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))

    def __reduce__(self) -> tuple[type[Rejected], tuple[tuple[Problem, ...]]]:
        return Rejected, (self.problems,)


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that is most like the given one, None if none is near enough."""
    known = [candidate for candidate in words if isinstance(candidate, str)]
    if len(known) > NEAREST_WORDS_MAX:
        known = [one for one in known if one[:1] == word[:1]][:NEAREST_WORDS_MAX]
    lower = {candidate.lower(): candidate for candidate in reversed(known)}
    found: Sequence[str] = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return lower[found[0]] if found else None


NEAREST_WORDS_MAX = 500


def nearest_file(name: str, files: Iterable[str]) -> str | None:
    """The file of the same folder and ending that is most like the given one."""
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
    """`; did you mean …?` or nothing."""
    return f"; did you mean {word}?" if word else ""
