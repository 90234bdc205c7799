"""The context of a resource during an action, and the results of a type's steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hearth.cloud.contract import Body, Cloud, Response
from hearth.model.state import Action

if TYPE_CHECKING:
    from hearth.resources.deployments import Deployments
    from hearth.resources.heat.adjustment import Adjustment


@dataclass(frozen=True)
class Ready:
    """The step is done; `body` is the last body from the service."""

    body: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Later:
    """The step is not complete: poll again after this many seconds."""

    after_s: float = 2.0
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Failed:
    """The step failed finally; `retry` asks the engine to delete the object and create it again.

    `error` is the class name of the reason. Source: spec/engine.md, sections 10 and 31.
    """

    reason: str
    error: str = "ResourceInError"
    retry: bool = False


INHERITED = "inherited"
"""The key of private data that contains, as JSON, properties copied from another resource."""

Progress = Ready | Later | Failed


@dataclass(frozen=True)
class Made:
    """The result of a write call or of a search for it; None and empty mean "unchanged".

    A key of `data` whose value is None is removed from the record's private data. `metadata`
    replaces the record's metadata.
    """

    physical_id: str | None = None
    data: Mapping[str, str | None] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Step:
    """One write call that can be repeated: `find` its result, `do` it, `poll` until it is ready.

    `find` returns None if the call certainly left nothing that can be found. A step without `find`
    may simply be repeated. `do` returns None if there is nothing to record.
    """

    name: str
    do: Callable[[ResourceContext], Awaitable[Made | None]]
    find: Callable[[ResourceContext], Awaitable[Made | None]] | None = None
    poll: Callable[[ResourceContext], Awaitable[Progress]] | None = None


@dataclass(frozen=True)
class StackFacts:
    """The facts about a stack that resource types may use."""

    id: str
    name: str
    project_id: str
    user_project_id: str | None = None
    root_id: str | None = None
    region: str | None = None
    heat_url: str = ""  # of the orchestration API, with the version and the project
    cfn_url: str = ""
    identity_url: str = ""
    metadata_url: str = ""  # of the cfn API as servers reach it
    waitcondition_url: str = ""
    timeout_mins: int | None = None
    schedulers_told: bool = False  # whether schedulers hear where a server or volume belongs


@dataclass(frozen=True)
class Change:
    """Properties before and after an update, and the top-level names that differ."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    changed: frozenset[str]
    data: Mapping[str, str] = field(default_factory=dict)  # private; empty in a plan


@dataclass(frozen=True)
class SignalResult:
    """The effect of a signal: new metadata or private data, and the text of its event.

    With `reason` None nothing changes and no event is written. `earlier` has the event texts of
    signals that were collected together with this one.
    """

    metadata: Mapping[str, Any] | None = None
    data: Mapping[str, str | None] | None = None
    reason: str | None = None
    scaling: Scaling | None = None
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scaling:
    """A request to change the size of a group, which is named by its reference id or name.

    With `cooldown_s` None the cooldown of the group applies.
    """

    group: str
    adjustment: Adjustment
    cooldown_s: float | None
    type: str  # of the adjustment, in the words that messages have

    @property
    def reason(self) -> str:
        """The reason of the cooldown, as text."""
        return f"{self.type} : {self.adjustment.amount:g}"


@dataclass(frozen=True)
class Child:
    """The stack that a nested type requests as its nested stack."""

    template: Mapping[str, Any] | str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout_mins: int | None = None
    data: Mapping[str, str | None] = field(default_factory=dict)  # for the record's private data
    more: bool = False  # the type asks for another one when this one is complete
    pause_s: float = 0.0  # before it is asked for
    touched: frozenset[str] = frozenset()  # members that it changes or removes


class Users:
    """Users in the stack's domain project, for software in servers. Source: engine.md, 32.

    The engine passes an object that is bound to the stack domain, or none without a domain; then
    types that need a user fail with a message. A user id may come from a request, so the domain's
    rights are used only for the user that was created under the record's key. Raises CloudFault 403
    for any other user.
    """

    @property
    def domain_id(self) -> str | None:
        """The id of the domain of the users, None if it is not known."""
        return None

    async def make(self, name: str, password: str, *, key: str) -> str:
        """Return the id of the user `name`; create the user if necessary."""
        raise NotImplementedError

    async def find(self, name: str, *, key: str) -> str | None:
        """Return the id of the user `name` that an earlier `make` with this key created."""
        raise NotImplementedError

    async def named(self, name: str) -> str | None:
        """Return the id of the user `name` that a resource of the stack created, or None."""
        raise NotImplementedError

    async def key_pair(self, user_id: str, *, key: str) -> tuple[str, str]:
        """Return the access key and secret of the user with `key`; create them if necessary."""
        raise NotImplementedError

    async def keep_key_pair(self, user_id: str, access: str, secret: str) -> None:
        """Add an existing key pair to a user, unless the user has it."""
        raise NotImplementedError

    async def key_pairs(self, user_id: str) -> list[str]:
        """Return the access keys of a user."""
        raise NotImplementedError

    async def drop_key_pair(self, user_id: str, access: str) -> None:
        """Delete one key pair of a user."""
        raise NotImplementedError

    async def enable(self, user_id: str, *, key: str, enabled: bool) -> None:
        """Enable or disable the user that was created under `key`."""
        raise NotImplementedError

    async def drop(self, user_id: str, *, key: str) -> None:
        """Delete the user that was created under `key`, with all its access keys."""
        raise NotImplementedError

    async def token(self, user_id: str, password: str) -> str:
        """Return a token of a user, for the stack's project."""
        raise NotImplementedError

    async def cloud(self, user_id: str, password: str) -> Cloud:
        """Return the cloud with the credentials of a user, for the stack's project."""
        raise NotImplementedError


def _no_ids() -> str:
    raise AssertionError("this context creates no ids")


class Located(Protocol):
    """A type whose objects have their own URL."""

    def location(self, ctx: ResourceContext) -> tuple[str, str, str | None]:
        """Return service, path and microversion of the object's own URL."""


@dataclass
class ResourceContext:
    """The context of one resource; the engine creates one for each node.

    The engine stores `physical_id`, `data` and `body` of each answer here before the next call.
    """

    record_id: str
    name: str
    type_name: str
    stack: StackFacts
    action: Action
    physical_id: str | None
    physical_name: str  # spec/engine.md, section 36
    key: str  # the intent key of the record, the same for all attempts
    properties: Mapping[str, Any]  # coerced, names resolved to ids
    cloud: Cloud
    before: Mapping[str, Any] = field(default_factory=dict)  # as of the last success
    changed: frozenset[str] = frozenset()  # top-level properties that differ
    data: Mapping[str, str] = field(default_factory=dict)  # private
    metadata: Mapping[str, Any] = field(default_factory=dict)
    template_metadata: Mapping[str, Any] | None = None  # None: it is as at the last success
    body: Mapping[str, Any] | None = None  # what the API showed last
    now: float = 0.0  # the engine's clock, in seconds
    started_at: float = 0.0  # when the action began, by the same clock
    secret: Callable[[], str] = str  # seed of what must look random; the same for all attempts
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    kind: Located | None = None
    users: Users | None = None
    deployments: Deployments | None = None  # of types whose signals are their results
    members: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of a nested stack
    outputs: Mapping[str, Any] = field(default_factory=dict)  # of a nested stack
    read_metadata: Callable[[str], Awaitable[Mapping[str, Any]]] | None = None
    found: Mapping[str, Any] = field(default_factory=dict)  # by `prepare`
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For an existing group: the current definitions of its members, as in the template of its
    nested stack.
    """
    at_once: bool = False  # what it shall be in the end, whatever lies between
    new_id: Callable[[], str] = _no_ids
    fetch: Callable[[str], Awaitable[str]] | None = None
    read_properties: Callable[[str], Mapping[str, Any] | None] | None = None
    read_path: Callable[[], Awaitable[Sequence[tuple[str | None, str]]]] | None = None

    async def fetched(self, url: str) -> str:
        """Return a file of the request, or the text at a URL. Raises CloudFault."""
        assert self.fetch is not None, "this context cannot fetch URLs"
        return await self.fetch(url)

    async def metadata_of(self, reference: str) -> Mapping[str, Any]:
        """Return the metadata of the resource of this stack with the reference id `reference`."""
        assert self.read_metadata is not None, "this context has no metadata of other resources"
        return await self.read_metadata(reference)

    async def path(self) -> Sequence[tuple[str | None, str]]:
        """Return the stacks from the root to this one: (name in the parent stack, name).

        The root stack has no parent: (None, name).
        """
        assert self.read_path is not None, "this context has no path of stacks"
        return await self.read_path()

    def properties_of(self, reference: str) -> Mapping[str, Any] | None:
        """Return the stored properties of the resource with the reference id `reference`, or
        None.
        """
        assert self.read_properties is not None, "this context has no properties of other resources"
        return self.read_properties(reference)

    async def request(
        self, method: str, path_suffix: str = "", json: Any = None, **more: Any
    ) -> Response:
        """Send a call to the object's own URL, followed by `path_suffix`."""
        assert self.kind is not None
        service, path, microversion = self.kind.location(self)
        if path_suffix:
            path = f"{path}/{path_suffix.lstrip('/')}"
        more.setdefault("microversion", microversion)
        return await self.cloud.request(service, method, path, json=json, **more)

    def given(self, name: str) -> Any:
        """Return the value of a property, or None without a value."""
        return self.properties.get(name)

    @property
    def wanted_name(self) -> str:
        """The name from the template, else the generated one."""
        return str(self.properties.get("name") or self.physical_name)

    @property
    def physical(self) -> str:
        """The physical id; only for an object that exists."""
        assert self.physical_id is not None, f"{self.name} has no physical id"
        return self.physical_id

    def shown(self) -> Body:
        """The last body from the service, or an empty one."""
        return dict(self.body or {})
