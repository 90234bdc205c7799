"""Errors that a user can fix, and an overview of all error classes of the project.

Values:

    Problem                     one error that a user can fix: text, place, suggestion
      Worded                    a problem whose text is passed to its constructor
        StackValidationFailed   and the other classes below; `Notice` is only a warning

Exceptions:

    Rejected                    a request is not accepted; contains all its problems
    CloudFault                  a call to a cloud failed (hearth.cloud.fault)
      NoAnswer                  the cloud may or may not have carried out the call
        Unreadable              the response of the cloud cannot be read
    CfnError                    an error of the CloudFormation API (hearth.api.cfn.faults)
    WrongSetting                an invalid setting in the configuration (hearth.process.prepare)

`rejection` returns a Rejected with one problem. The engine has further exceptions in
hearth.engine.worker, and the embedded cloud has its own. `api/fault.py` turns `Rejected` and
`CloudFault` into HTTP responses. The class name of a problem is the `error.type` of the REST
response, unless the class overrides `kind`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Concatenate, ParamSpec

from msgspec import Struct

from hearth.model.span import Span

P = ParamSpec("P")


class _Placed(Struct, frozen=True):
    at: Span | None


class Problem(_Placed, frozen=True, kw_only=True):
    """One error that a user can fix. `at` is its place in a template, or None.

    `code` is the code of the `hearth lint` rule. `suggestion` is the text that the author probably
    meant.
    """

    code: str = ""
    suggestion: str | None = None

    @property
    def kind(self) -> str:
        """The `error.type` in a REST response."""
        return type(self).__name__

    @property
    def text(self) -> str:
        """The text of the error, without the place."""
        raise NotImplementedError

    @property
    def message(self) -> str:
        """The complete message in one line: path, text, and in brackets file, line and column."""
        path = f"{self.at.path}: " if self.at and self.at.path else ""
        position = f" [{self.at}]" if self.at and self.at.line else ""
        return f"{path}{self.text}{position}"

    def __str__(self) -> str:
        """The place and the text, as compilers write it: `file:line:column: text`."""
        return f"{self.at}: {self.text}" if self.at else self.text


class Worded(Problem, frozen=True):
    """A problem whose text is passed to its constructor."""

    words: str

    @property
    def text(self) -> str:
        return self.words


class StackValidationFailed(Worded, frozen=True):
    """A template, a parameter, a property or a name is invalid.

    `prefix` starts the message: `Property error`, or the class name of a wrapped error.
    """

    prefix: str = ""

    @property
    def message(self) -> str:
        base_message = super().message
        return f"{self.prefix}: {base_message}" if self.prefix else base_message


class ResourcePropertyConflict(StackValidationFailed, frozen=True):
    """A resource has properties that exclude each other."""


class PropertyUnspecifiedError(StackValidationFailed, frozen=True):
    """A resource has none of several properties of which one is needed."""


class Notice(Worded, frozen=True):
    """A warning that lint reports: the template is accepted but probably contains a mistake."""


class ParameterNotProvided(StackValidationFailed, frozen=True):
    """A property refers to a parameter that has no value.

    Clients depend on the exact form of the message, which is Heat's.
    """

    @property
    def kind(self) -> str:
        return "StackValidationFailed"

    @property
    def message(self) -> str:
        path, position = (self.at.path, f" [{self.at}]") if self.at else ("", "")
        return f"{self.prefix}: : {path}: : {self.text}{position}"


class TemplateMissing(StackValidationFailed, frozen=True):
    """A nested template is not in the files of the request.

    `template` is its name. A caller that may fetch it can add it to the files and retry.
    """

    template: str = ""

    @property
    def kind(self) -> str:
        return "StackValidationFailed"


class UserParameterMissing(Problem, frozen=True):
    """A parameter has neither a value nor a default."""

    name: str

    @property
    def text(self) -> str:
        return f'parameter "{self.name}" has no value and no default'


class UnknownUserParameter(Problem, frozen=True):
    """The request contains a value for a parameter that the template does not declare.

    `nearest` is the most similar parameter, or None.
    """

    name: str
    nearest: str | None = None

    @property
    def text(self) -> str:
        return f'the template has no parameter "{self.name}"{hint(self.nearest)}'


class ImmutableParameterModified(Problem, frozen=True):
    """An update changes parameters that are declared immutable."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        names = ", ".join(self.names)
        return f"The following parameters are immutable and may not be updated: {names}"


class InvalidSchemaError(Worded, frozen=True):
    """The declaration of a parameter is invalid."""


class InvalidTemplateVersion(Problem, frozen=True):
    """The template version is unknown, or the template has more than one version key.

    `known_versions` are the versions that exist. If `ambiguous` is true, `version` lists the
    version keys.
    """

    version: str
    known_versions: tuple[str, ...] = ()
    ambiguous: bool = False

    @property
    def text(self) -> str:
        if self.ambiguous:
            return f"the template has more than one version key: {self.version}"
        versions = ", ".join(self.known_versions)
        near = hint(self.suggestion)
        return (
            f'The template version is invalid: "{self.version}"{near}; known versions: {versions}'
        )


class NoTemplateVersion(Worded, frozen=True):
    """A template given as an object has no version key."""

    @property
    def kind(self) -> str:
        return "InvalidTemplateVersion"


class InvalidTemplateSection(Problem, frozen=True):
    """A top-level key of the template is not a section of its template version.

    `nearest` is the most similar section, or None.
    """

    section: str
    nearest: str | None = None

    @property
    def text(self) -> str:
        return f'"{self.section}" is not a section of this version{hint(self.nearest)}'


class InvalidTemplateReference(Problem, frozen=True):
    """A reference names a resource that the template does not define or that a condition disables.

    `nearest` is the most similar resource, or None. `words` replaces the standard text if the
    reference itself is malformed.
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
"""The maximum number of resource names of a cycle that a message lists."""


class CircularDependencyException(Problem, frozen=True):
    """Resources depend on each other. `cycle` has their names, with the first again at the end."""

    cycle: tuple[str, ...]

    @property
    def text(self) -> str:
        names = list(self.cycle)
        if len(names) > CYCLE_SHOWN_MAX:
            names[CYCLE_SHOWN_MAX - 1 : -1] = ["..."]
        return f"resources depend on each other in a cycle: {' -> '.join(names)}"


class RequestLimitExceeded(Worded, frozen=True):
    """A part of the request is larger than its limit."""


class TooManyOperations(Worded, frozen=True):
    """Too many stacks of the project are in progress; the request can be sent again later."""

    @property
    def kind(self) -> str:
        return "HTTPTooManyRequests"


class DownloadLimitExceeded(Worded, frozen=True):
    """A template or file that the request refers to is too large."""


class HTTPBadRequest(Worded, frozen=True):
    """The request is malformed: for example not JSON, not a template, or with a field of a wrong
    type.
    """


class Invalid(Worded, frozen=True):
    """The request is well formed but invalid."""


class InvalidDirection(Worded, frozen=True):
    """A request has an invalid sort direction."""

    @property
    def kind(self) -> str:
        return "ValueError"


class InvalidBreakPointHook(Worded, frozen=True):
    """An environment names a hook that does not exist."""


class InvalidRestrictedAction(Worded, frozen=True):
    """An environment restricts an action that does not exist."""


class InvalidExternalResourceDependency(Worded, frozen=True):
    """A resource has both `external_id` and `depends_on`."""


class ConflictingMergeStrategyForParam(Worded, frozen=True):
    """Two environment files give one parameter different merge strategies."""


class InvalidMergeStrategyForParam(Worded, frozen=True):
    """The merge strategy in an environment cannot be used for the type of the parameter."""


class NotFound(Worded, frozen=True):
    """An object that the request names, such as an output or a snapshot, does not exist."""


class NotSupported(Worded, frozen=True):
    """The request is never supported, or not supported in the current state of the stack."""


class ResourceTypeUnavailable(Worded, frozen=True):
    """The cloud has no service for a resource type. The message begins with HEAT-E99001, a code of
    Heat.
    """

    @property
    def message(self) -> str:
        return f"HEAT-E99001 {super().message}"


class EntityNotFound(Problem, frozen=True):
    """An object does not exist; `entity` is its type and `name` its name or id."""

    entity: str
    name: str

    @property
    def text(self) -> str:
        return f"The {self.entity} ({self.name}) could not be found."


class Rejected(Exception):
    """A request is not accepted; `problems` are all the reasons."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))

    def __reduce__(self) -> tuple[type[Rejected], tuple[tuple[Problem, ...]]]:
        return Rejected, (self.problems,)


def rejection(
    problem_type: Callable[Concatenate[None, P], Problem], *fields: P.args, **by_name: P.kwargs
) -> Rejected:
    """Return the exception for a request with one problem, which has no place in a template.

    `fields` and `by_name` are the fields of the problem without its place.
    """
    return Rejected([problem_type(None, *fields, **by_name)])


def nearest(word: str, candidates: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the one of `candidates` that is most similar to `word`, or None if none is similar.

    `similarity` is between 0 and 1 (equal words). Upper and lower case count as equal. Of more than
    500 words, only those with the same first character are considered.
    """
    texts = [candidate for candidate in candidates if isinstance(candidate, str)]
    if len(texts) > NEAREST_WORDS_MAX:
        texts = [candidate for candidate in texts if candidate[:1] == word[:1]][:NEAREST_WORDS_MAX]
    lower = {candidate.lower(): candidate for candidate in reversed(texts)}
    matches: Sequence[str] = get_close_matches(word.lower(), lower, n=1, cutoff=similarity)
    return lower[matches[0]] if matches else None


NEAREST_WORDS_MAX = 500


def nearest_file(name: str, files: Iterable[str]) -> str | None:
    """Return the file with the name most similar to `name`, or None if none is similar.

    Only files in the same folder and with the same extension are considered.
    """
    folder, base = posixpath.split(name)
    stem, ending = posixpath.splitext(base)
    stems = {}
    for file in files:
        its_folder, its_base = posixpath.split(file)
        its_stem, its_ending = posixpath.splitext(its_base)
        if (its_folder, its_ending) == (folder, ending):
            stems[its_stem] = file
    near = nearest(stem, stems)
    return stems[near] if near is not None else None


def hint(word: str | None) -> str:
    """Return `; did you mean WORD?`, or an empty text if `word` is None or empty."""
    return f"; did you mean {word}?" if word else ""
