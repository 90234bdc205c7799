"""The context that a resource type's methods receive, and the results that they return."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct, field

from hearth.cloud.contract import Body, Cloud, Response
from hearth.model.state import Action

if TYPE_CHECKING:
    from hearth.resources.deployments import Deployments
    from hearth.resources.heat.adjustment import Adjustment


class Ready(Struct, frozen=True):
    """Result of a poll: the step is complete; `body` is the last response body."""

    body: Mapping[str, Any] | None = None


class Later(Struct, frozen=True):
    """Result of a poll: the step is not complete; poll again after `after_s` seconds.

    `seen` is what the service showed, such as "status BUILD", for the reason of a timeout.
    """

    after_s: float = 2.0
    body: Mapping[str, Any] | None = None
    seen: str = ""


class Failed(Struct, frozen=True):
    """Result of a poll: the step failed. If `retry` is true, the engine deletes the object and
    creates it again.

    `error` is the name of the error class in the resource's status reason. Source:
    docs/spec/engine.md, sections 10 and 31.
    """

    reason: str
    error: str = "ResourceInError"
    retry: bool = False


INHERITED = "inherited"
"""The key of a record's private data with the properties that were copied from another resource.

Its value is JSON text.
"""

Progress = Ready | Later | Failed


class Made(Struct, frozen=True):
    """The result of a write call, or of a search for the object that the call created.

    None or an empty map means "unchanged". A key of `data` whose value is None is removed from the
    record's private data. `metadata` replaces the resource's metadata.
    """

    physical_id: str | None = None
    data: Mapping[str, str | None] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None


class Step(Struct, frozen=True):
    """One write call and what belongs to it: `find` its result, `do` it, `poll` until it is
    complete.

    After a crash or a lost answer the engine calls `find`; if that returns None, the engine calls
    `do` again. Without `find`, it waits until the object would be visible and then calls `do`
    again. `do` returns None if there is nothing to record.
    """

    name: str
    do: Callable[[ResourceContext], Awaitable[Made | None]]
    find: Callable[[ResourceContext], Awaitable[Made | None]] | None = None
    poll: Callable[[ResourceContext], Awaitable[Progress]] | None = None


class StackFacts(Struct, frozen=True):
    """The values about a stack that resource types may use: ids, names, URLs and the timeout."""

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
    stack_scheduler_hints: bool = False  # whether schedulers hear where a server or volume belongs


class Change(Struct, frozen=True):
    """An update of the properties: `changed` has the names of the top-level properties that
    differ.
    """

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    changed: frozenset[str]
    data: Mapping[str, str] = field(default_factory=dict)  # private; empty in a preview


class SignalResult(Struct, frozen=True):
    """The effect of a signal on a resource: new metadata or private data, and the text of the
    event.

    If `reason` is None, nothing changes and no event is written. `earlier` has the event texts of
    signals that were collected together with this one. `replaces` is the reference id of a resource
    that an update of the stack then replaces.
    """

    metadata: Mapping[str, Any] | None = None
    data: Mapping[str, str | None] | None = None
    reason: str | None = None
    scaling: Scaling | None = None
    replaces: str | None = None
    earlier: tuple[str, ...] = ()


class Scaling(Struct, frozen=True):
    """A request to change the size of a group; `group` is its reference id or its name.

    If `cooldown_s` is None, the group's own cooldown applies.
    """

    group: str
    adjustment: Adjustment
    cooldown_s: float | None
    type: str  # of the adjustment, in the words that messages have

    @property
    def reason(self) -> str:
        """The text that the group's metadata stores for the cooldown, such as "ChangeInCapacity :
        1".
        """
        return f"{self.type} : {self.adjustment.amount:g}"


class Child(Struct, frozen=True):
    """The desired state of a nested stack, as its resource type requests it."""

    template: Mapping[str, Any] | str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout_mins: int | None = None
    data: Mapping[str, str | None] = field(default_factory=dict)  # for the record's private data
    has_next: bool = False  # the type asks for another one when this one is complete
    pause_s: float = 0.0  # before it is asked for
    touched: frozenset[str] = frozenset()  # members that it changes or removes


class Users:
    """The users in the stack's domain project, with which software in servers calls the API.

    Raises CloudFault 403 for a user that was not created under the intent key `key`: a user id may
    come from a request, and these methods act with the rights of the domain administrator. Source:
    docs/spec/engine.md, section 32.
    """

    @property
    def domain_id(self) -> str | None:
        """The id of the domain that contains the users; None if it is not known."""
        return None

    async def make(self, name: str, password: str, *, key: str) -> str:
        """Create the user `name` under the intent key `key`, unless it exists; return its id.

        `password` is the password of a new user.
        """
        raise NotImplementedError

    async def find(self, name: str, *, key: str) -> str | None:
        """Return the id of the user `name` that an earlier `make` with this key created, or
        None.
        """
        raise NotImplementedError

    async def named(self, name: str) -> str | None:
        """Return the id of the user `name` that a resource of the stack created, or None."""
        raise NotImplementedError

    async def key_pair(self, user_id: str, *, key: str) -> tuple[str, str]:
        """Return (access key, secret key) of a user; create the pair if there is none."""
        raise NotImplementedError

    async def keep_key_pair(self, user_id: str, access: str, secret: str) -> None:
        """Give a user the key pair (`access`, `secret`), unless the user has it already."""
        raise NotImplementedError

    async def key_pairs(self, user_id: str) -> list[str]:
        """Return the access keys of all key pairs of a user."""
        raise NotImplementedError

    async def drop_key_pair(self, user_id: str, access: str) -> None:
        """Delete the key pair with the access key `access`."""
        raise NotImplementedError

    async def enable(self, user_id: str, *, key: str, enabled: bool) -> None:
        """Enable or disable the user that was created under the intent key `key`."""
        raise NotImplementedError

    async def drop(self, user_id: str, *, key: str) -> None:
        """Delete the user that was created under the intent key `key`, with all its key pairs."""
        raise NotImplementedError

    async def token(self, user_id: str, password: str) -> str:
        """Return a new token of the user, scoped to the stack's domain project."""
        raise NotImplementedError

    async def cloud(self, user_id: str, password: str) -> Cloud:
        """Return a cloud connection with the user's credentials, scoped to the stack's domain
        project.
        """
        raise NotImplementedError


def _no_ids() -> str:
    raise AssertionError("expected a context with `new_id`: this context cannot create ids")


@runtime_checkable
class Located(Protocol):
    """A resource type that knows the URL of its objects."""

    def location(self, ctx: ResourceContext) -> tuple[str, str, str | None]:
        """Return the service, the path and the microversion with which to call the object itself.

        If the microversion is None, the service uses its default.
        """


class ResourceContext(Struct):
    """The context of a resource during one action; the engine creates one for each node.

    After each call, and before the next one, the engine stores the new `physical_id`, `data`,
    `metadata` and `body` here. A type returns them and never sets them: a call that failed is
    repeated with the same context, and what the failed one had set would be stored nowhere.
    """

    record_id: str
    name: str
    type_name: str
    stack: StackFacts
    action: Action
    physical_id: str | None
    physical_name: str  # docs/spec/engine.md, section 36
    key: str  # the intent key of the record, the same for all attempts
    properties: Mapping[str, Any]  # coerced, names resolved to ids
    cloud: Cloud
    before: Mapping[str, Any] = field(default_factory=dict)  # as of the last success
    attempted: Mapping[str, Any] = field(default_factory=dict)
    """The properties of a failed update, some of which the object may have; empty without one."""
    changed: frozenset[str] = frozenset()  # top-level properties that differ
    data: Mapping[str, str] = field(default_factory=dict)  # private
    metadata: Mapping[str, Any] = field(default_factory=dict)
    template_metadata: Mapping[str, Any] | None = None  # None: it is as at the last success
    body: Mapping[str, Any] | None = None  # what the API showed last
    now: float = 0.0  # the engine's clock, in seconds
    started_at: float = 0.0  # when the action began, by the same clock
    created: bool = True  # a create of the resource has succeeded, whatever failed after it
    account_secret: Callable[[], str] = str  # the same for all stacks of the project
    secret: Callable[[], str] = str  # seed of what must look random; the same for all attempts
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    kind: object = None  # the resource type
    users: Users | None = None
    deployments: Deployments | None = None  # of types whose signals are their results
    members: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of a nested stack
    outputs: Mapping[str, Any] = field(default_factory=dict)  # of a nested stack
    read_metadata: Callable[[str], Awaitable[Mapping[str, Any]]] | None = None
    prepared: Mapping[str, Any] = field(default_factory=dict)  # by `prepare`
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For an existing group: the current definitions of its members, as in the template of its
    nested stack.
    """
    at_once: bool = False  # go to the final state without batches, for a prediction
    new_id: Callable[[], str] = _no_ids
    fetch: Callable[[str], Awaitable[str]] | None = None
    read_properties: Callable[[str], Mapping[str, Any] | None] | None = None
    read_name: Callable[[str], str | None] | None = None
    read_path: Callable[[], Awaitable[Sequence[tuple[str | None, str]]]] | None = None

    async def fetched(self, url: str) -> str:
        """Return the text of a file that came with the request, or else fetch the URL. Raises
        CloudFault.
        """
        assert self.fetch is not None, "this context cannot fetch URLs"
        return await self.fetch(url)

    async def metadata_of(self, reference: str) -> Mapping[str, Any]:
        """Return the current metadata of the resource whose reference id is `reference`, in this
        stack.
        """
        assert self.read_metadata is not None, "this context has no metadata of other resources"
        return await self.read_metadata(reference)

    async def path(self) -> Sequence[tuple[str | None, str]]:
        """Return the chain of stacks from the root to this one.

        Each item is (name of the resource in the parent stack, name of the stack). The first item
        is the root stack, (None, name).
        """
        assert self.read_path is not None, "this context has no path of stacks"
        return await self.read_path()

    def properties_of(self, reference: str) -> Mapping[str, Any] | None:
        """Return the stored properties of the resource whose reference id is `reference`, or
        None.
        """
        assert self.read_properties is not None, "this context has no properties of other resources"
        return self.read_properties(reference)

    def name_of(self, reference: str) -> str | None:
        """Return the physical name of the resource whose reference id is `reference`, or None."""
        return None if self.read_name is None else self.read_name(reference)

    async def request(
        self, method: str, path_suffix: str = "", json: Any = None, **options: Any
    ) -> Response:
        """Send a request to the object's own URL, extended by `path_suffix`."""
        assert isinstance(self.kind, Located), f"{self.type_name} has no URL of its objects"
        service, path, microversion = self.kind.location(self)
        if path_suffix:
            path = f"{path}/{path_suffix.lstrip('/')}"
        options.setdefault("microversion", microversion)
        return await self.cloud.request(service, method, path, json=json, **options)

    def given(self, name: str) -> Any:
        """Return the value of a property, or None if it has no value."""
        return self.properties.get(name)

    @property
    def wanted_name(self) -> str:
        """The property `name`, or the generated physical name if that property is not set."""
        return str(self.properties.get("name") or self.physical_name)

    @property
    def physical(self) -> str:
        """The physical id. Use it only for an object that exists."""
        assert self.physical_id is not None, f"{self.name} has no physical id"
        return self.physical_id

    def shown(self) -> Body:
        """Return a copy of the last response body; empty if there is none."""
        return dict(self.body or {})
