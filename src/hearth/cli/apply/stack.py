"""The stack of a command: its requests to the API."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from hearth.cli.apply.api import Api, UserError
from hearth.cli.board import link

EVENTS_PER_PAGE = 1000
DEPTH = "1000"  # of nested stacks in lists; each service lowers it to its own limit

Body = dict[str, Any]
Path = tuple[str, ...]  # the names that lead from the root stack to a resource


class StackClient(Struct):
    """The stack with a name. `details` is the stack as the API last showed it, or None if there is
    no stack of that name.
    """

    api: Api
    name: str
    details: Body | None = None

    @property
    def path(self) -> str:
        """The path of the stack below the project. The stack must exist."""
        assert self.details is not None
        return f"/stacks/{quote(self.name, safe='')}/{self.details['id']}"

    @property
    def status(self) -> str:
        """The state of the stack, such as CREATE_COMPLETE; empty if there is none."""
        return str(self.details["stack_status"]) if self.details is not None else ""

    @property
    def in_progress(self) -> bool:
        """Whether an operation of the stack is in progress."""
        return self.status.endswith("_IN_PROGRESS")

    @property
    def good(self) -> bool:
        """Whether the last operation succeeded; a rollback is a failed operation."""
        return self.status.endswith("_COMPLETE") and not self.status.startswith("ROLLBACK")

    async def find(self) -> "StackClient":
        """Look the stack up by its name, and return self. Raises UserError."""
        answer = await self.api.call("GET", "/stacks", query={"name": self.name})
        matches = [stack for stack in answer["stacks"] if stack["stack_name"] == self.name]
        self.details = matches[0] if matches else None
        if self.details is not None:
            await self.look()
        return self

    async def demand(self) -> "StackClient":
        """Look the stack up, and return self. Raises UserError if it does not exist."""
        if (await self.find()).details is None:
            raise UserError([f"there is no stack {self.name} in {self.api.location}"], 404)
        return self

    async def look(self, *, outputs: bool = True) -> None:
        """Read the stack again, if wanted with its outputs. Raises UserError."""
        query = None if outputs else {"resolve_outputs": "False"}
        self.details = (await self.api.call("GET", self.path, query=query))["stack"]

    async def plan(self, body: Body) -> Body:
        """Return the plan of a create or an update. Raises UserError."""
        if self.details is not None:
            answer = await self.api.call("PUT", f"{self.path}/plan", body)
        else:
            new = {"stack_name": self.name, **created(body)}
            answer = await self.api.call("POST", "/stacks/plan", new)
        plan: Body = answer["plan"]
        return plan

    async def apply(self, body: Body) -> None:
        """Begin the create or the update. Raises UserError."""
        if self.details is not None:
            await self.api.call("PUT", self.path, body)
        else:
            new = {"stack_name": self.name, **created(body)}
            answer = await self.api.call("POST", "/stacks", new)
            self.details = {"id": answer["stack"]["id"], "stack_status": "CREATE_IN_PROGRESS"}

    async def destroy(self) -> None:
        """Begin the delete. Raises UserError."""
        await self.api.call("DELETE", self.path)

    async def check(self) -> None:
        """Begin a check of all resources. Raises UserError."""
        await self.api.call("POST", f"{self.path}/actions", {"check": None})

    async def resources(self) -> Sequence[Body]:
        """Return all resources, with those of nested stacks. Raises UserError."""
        answer = await self.api.call("GET", f"{self.path}/resources", query={"nested_depth": DEPTH})
        return list(answer["resources"])

    async def last_event(self) -> str | None:
        """Return the id of the newest event, or None. Raises UserError."""
        if self.details is None:
            return None
        query = {"sort_dir": "desc", "limit": "1", "nested_depth": DEPTH}
        events = (await self.api.call("GET", f"{self.path}/events", query=query))["events"]
        return str(events[0]["id"]) if events else None

    async def all_events(self) -> list[Body]:
        """Return all events, the oldest first. Raises UserError."""
        events: list[Body] = []
        marker = None
        while page := await self.events(marker):
            events += page
            marker = str(page[-1]["id"])
        return events

    async def events(self, marker: str | None) -> Sequence[Body]:
        """Return the events after the event `marker`, the oldest first, with those of nested
        stacks. Raises UserError.
        """
        query = {"nested_depth": DEPTH, "sort_dir": "asc", "limit": str(EVENTS_PER_PAGE)}
        if marker is not None:
            query["marker"] = marker
        return list((await self.api.call("GET", f"{self.path}/events", query=query))["events"])


def created(body: Body) -> Body:
    """Return the body of a create that does the same as that of an update."""
    return {key: value for key, value in body.items() if key != "converge"}


def paths(resources: Sequence[Body]) -> Iterator[tuple[Path, Body]]:
    """Yield (path, resource) for the resources of a stack and of its nested stacks."""
    above: dict[str, tuple[str, Body]] = {}  # the resource of a nested stack, by the stack's URL
    for resource in resources:
        if (nested := link(resource, "nested")) is not None:
            above[nested] = (str(link(resource, "stack")), resource)
    for resource in resources:
        path, stack = [resource["resource_name"]], str(link(resource, "stack"))
        while stack in above:
            stack, parent = above[stack]
            path.insert(0, parent["resource_name"])
        yield tuple(path), resource


def nested_paths(resources: Sequence[Body]) -> dict[str, Path]:
    """Return the path of each nested stack, by its name."""
    path_by_stack = {}
    for path, resource in paths(resources):
        if (nested := link(resource, "nested")) is not None:
            path_by_stack[nested.rsplit("/", 2)[1]] = path
    return path_by_stack
