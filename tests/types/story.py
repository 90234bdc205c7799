"""One type's life on a cloud: what was done, what came of it."""

import contextlib
import json
import re
import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import requests

from hearth.resources.base import ResourceType
from hearth.resources.capabilities import NestedType, ReplacedAlways, UpdatedAlways
from tests.types.case import Start, Subject, Template

ACTIONS = ("check", "suspend", "resume")
MARKED = re.compile(r"hearth:[0-9a-f]{8}-[^\"\s]*|hearth[-_]key", re.IGNORECASE)


class Wrong(Exception):
    """Something went otherwise than it should."""


@dataclass
class Verb:
    """One thing that was done, and what went wrong with it; empty: nothing."""

    start: str
    verb: str
    of: str = ""
    wrong: str = ""
    seconds: float = 0.0


@dataclass
class Story:
    """All that was done with one type."""

    type_name: str
    verbs: list[Verb] = field(default_factory=list)
    unavailable: str = ""  # why this cloud cannot have it

    @property
    def wrong(self) -> list[str]:
        return [f"{v.start}: {v.verb} {v.of}: {v.wrong}" for v in self.verbs if v.wrong]


class Orchestration:
    """The API of a caller: any that is compatible with Heat's."""

    def __init__(self, url: str, project_id: str, token: Callable[[], str], patience_s: float):
        self.root = f"{url}/v1/{project_id}"
        self.token = token
        self.patience_s = patience_s
        self.http = requests.Session()
        self.guest = requests.Session()  # whose calls belong to no request to Hearth
        self.signals: Mapping[str, list[Any]] = {}
        self.signalled: set[str] = set()
        self.files: Mapping[str, str] = {}

    def of(self, case: Mapping[str, Any]) -> "Orchestration":
        """The same, which sends a case's files with each template, and its signals while it waits:
        once to each new resource."""
        other = copy(self)
        other.signals, other.signalled = case.get("signal", {}), set()
        other.files = case.get("files", {})
        return other

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The body of an answer; raises Wrong with the error's message."""
        headers = {"X-Auth-Token": self.token(), "Accept": "application/json"}
        answer = self.http.request(
            method, self.root + path, json=body, headers=headers, timeout=120
        )
        if answer.status_code >= 400:
            try:
                message = answer.json()["error"]["message"]
            except (ValueError, KeyError, TypeError):
                message = answer.text[:500]
            raise Wrong(f"{answer.status_code} {message}")
        return answer.json() if answer.text else None

    def create(self, name: str, template: Template | str) -> str:
        """The path of a new stack."""
        body = {
            "stack_name": name, "template": template, "timeout_mins": 10, "files": self.files,
        }  # fmt: skip
        stack = self.call("POST", "/stacks", body)["stack"]
        return f"/stacks/{name}/{stack['id']}"

    def stack(self, path: str) -> Any:
        return self.call("GET", f"{path}?resolve_outputs=False")["stack"]

    def ended(self, path: str, action: str) -> None:
        """Wait until an action is COMPLETE; raises Wrong with the reason otherwise."""
        deadline, pause = time.monotonic() + self.patience_s, 0.02
        while time.monotonic() < deadline:
            try:
                stack = self.stack(path)
            except Wrong as wrong:
                if action == "DELETE" and str(wrong).startswith("404"):
                    return
                raise
            if stack["stack_status"] == f"{action}_COMPLETE":
                return
            self.signal(path)
            if stack["stack_status"] == f"{action}_FAILED":
                raise Wrong(stack["stack_status_reason"])
            time.sleep(pause)
            pause = min(pause * 1.3, 0.25)
        raise Wrong(f"{action} is not over after {self.patience_s:g} s")

    def signal(self, path: str) -> None:
        """Send the signals that are still to be sent, to resources that are there by now."""
        for name, bodies in self.signals.items():
            try:
                found = self.resource(path, name)
            except Wrong:
                continue
            ident = f"{path} {found['physical_resource_id']}"
            if found["resource_status"] != "CREATE_COMPLETE" or ident in self.signalled:
                continue
            self.signalled.add(ident)
            for body in bodies:
                if found["resource_type"] == "OS::Heat::SwiftSignalHandle":
                    url = found["attributes"]["endpoint"]
                    assert self.guest.put(url, data=json.dumps(body), timeout=120).ok
                else:
                    self.call("POST", f"{path}/resources/{name}/signal", body)

    def update(
        self, path: str, template: Template | str, *, converge: bool = False, agreed: str = ""
    ) -> None:
        """Update, and wait for the end; `agreed` is the hash of a plan."""
        more: dict[str, Any] = {"converge": True} if converge else {}
        if agreed:
            more["plan"] = agreed
        body = {"template": template, "files": self.files, **more}
        self.call("PUT", path, body)
        self.ended(path, "UPDATE")

    def plan(self, path: str, template: Template | str) -> dict[str, Any]:
        """What an update would do, by resource."""
        found = self.whole_plan(path, template, converge=False)["resources"]
        return {one["resource"]: one for one in found}

    def whole_plan(self, path: str, template: Template | str, *, converge: bool) -> dict[str, Any]:
        """The plan of an update, with its hash."""
        body = {"template": template, "files": self.files, "converge": converge}
        found: dict[str, Any] = self.call("PUT", f"{path}/plan", body)["plan"]
        return found

    def act(self, path: str, action: str) -> None:
        self.call("POST", f"{path}/actions", {action: None})
        self.ended(path, action.upper())

    def delete(self, path: str) -> None:
        self.call("DELETE", path)
        self.ended(path, "DELETE")

    def resource(self, path: str, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.call("GET", f"{path}/resources/{name}")["resource"]
        return found

    def actions(self, path: str, name: str) -> list[str]:
        """What was done with a resource, oldest first; an entry for each event."""
        found = self.call("GET", f"{path}/resources/{name}/events?sort_dir=asc")["events"]
        return [event["resource_status"].partition("_")[0] for event in found]

    def outputs(self, path: str) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = self.call("GET", path)["stack"].get("outputs") or []
        return found


def tell(subject: Subject, heat: Orchestration, name: str) -> Story:
    """Live through all of it; a start that went wrong ends there, the next one begins anew."""
    story = Story(subject.type_name)
    heat = heat.of(subject.case)
    try:
        starts = list(subject.starts())
    except Exception as problem:
        story.verbs.append(Verb("-", "generate", wrong=f"{type(problem).__name__}: {problem}"))
        return story
    for start in starts:
        _live(story, subject, start, heat, f"{name}-{start.name}")
    return story


def _live(
    story: Story, subject: Subject, start: Start, heat: Orchestration, stack_name: str
) -> None:
    resource, kind = subject.resource, subject.kind
    path = ""

    def do(verb: str, action: Callable[[], Any], of: str = "") -> Any:
        entry = Verb(start.name, verb, of)
        story.verbs.append(entry)
        began = time.monotonic()
        try:
            return action()
        except Exception as problem:
            entry.wrong = str(problem) if isinstance(problem, Wrong) else repr(problem)
            raise
        finally:
            entry.seconds = round(time.monotonic() - began, 3)

    def same(template: Template | str, *, converge: bool) -> None:
        before = heat.actions(path, resource)
        heat.update(path, template, converge=converge)
        done = heat.actions(path, resource)[len(before) :]
        always = isinstance(kind, ReplacedAlways | UpdatedAlways)
        if done and not (always or isinstance(kind, NestedType)):
            raise Wrong(f"the resource was worked on: {', '.join(done)}")

    try:
        path = do("create", lambda: _created(heat, stack_name, start.template))
    except Exception:
        path = path or _path_of(heat, stack_name)
    else:
        try:
            do("attributes", lambda: _attributes(heat, path, resource, kind))
            do("empty plan", lambda: _still(heat, path, start.template, kind))
            do("no-op update", lambda: same(start.template, converge=False))
            do("no-op update with a look at the cloud", lambda: same(start.template, converge=True))
            for action in ACTIONS:
                do(action, lambda action=action: heat.act(path, action))
            for change in start.changes:
                verb = "update" if change.in_place else "replace"
                template = subject.with_properties(change.properties)
                do(
                    verb,
                    lambda t=template, c=change: _changed(heat, path, resource, t, c.in_place),
                    change.name,
                )
                do("empty plan", lambda t=template: _still(heat, path, t, kind), change.name)
            if start.changes:
                do("attributes", lambda: _attributes(heat, path, resource, kind), "after all")
        except Exception:
            pass  # told in the story; what is left is deleted
    if path:
        with contextlib.suppress(Exception):  # told in the story
            do("delete", lambda: heat.delete(path))


def _created(heat: Orchestration, name: str, template: Template | str) -> str:
    path = heat.create(name, template)
    heat.ended(path, "CREATE")
    return path


def _path_of(heat: Orchestration, name: str) -> str:
    """The stack of that name, made although its create has failed."""
    try:
        stack = heat.call("GET", f"/stacks/{name}")["stack"]
    except Wrong:
        return ""
    return f"/stacks/{name}/{stack['id']}"


def _attributes(heat: Orchestration, path: str, resource: str, kind: ResourceType) -> None:
    shown = heat.resource(path, resource)
    _unmarked(heat, path, resource)
    missing = set(kind.attributes) - {"show"} - set(shown["attributes"])
    if missing:
        raise Wrong(f"no attributes {sorted(missing)}")
    errors = [one["output_error"] for one in heat.outputs(path) if one.get("output_error")]
    if errors:
        raise Wrong("; ".join(errors))


def _unmarked(heat: Orchestration, path: str, resource: str) -> None:
    """No attribute tells by what Hearth knows its objects again."""
    every = heat.call("GET", f"{path}/resources/{resource}?with_attr=show")["resource"]
    shown = {"attributes": every["attributes"], "outputs": heat.outputs(path)}
    if found := MARKED.findall(json.dumps(shown)):
        raise Wrong(f"it shows {sorted(set(found))}")


def _still(heat: Orchestration, path: str, template: Template | str, kind: ResourceType) -> None:
    """What has just been applied has a plan without changes."""
    if isinstance(kind, ReplacedAlways | UpdatedAlways):
        return
    busy = [one for one in heat.plan(path, template).values() if changes(one)]
    if busy:
        told = "; ".join(f"{one['action']} {one['resource']} {one['reasons']}" for one in busy)
        raise Wrong(f"the plan is not empty: {told}")


def changes(one: Mapping[str, Any]) -> bool:
    """Whether an entry of a plan changes anything; a nested stack is always updated."""
    if one["action"] == "update" and one.get("nested") and not one["reasons"]:
        return any(map(changes, one["nested"]["resources"]))
    return bool(one["action"] != "keep")


def _changed(
    heat: Orchestration, path: str, resource: str, template: Template | str, in_place: bool
) -> None:
    seen = heat.actions(path, resource)
    told = heat.plan(path, template)[resource]["action"]
    if told not in ("may replace", *(("update", "may update") if in_place else ("replace",))):
        raise Wrong(f"the plan told {told}")
    heat.update(path, template)
    done = set(heat.actions(path, resource)[len(seen) :])
    if not done:
        raise Wrong("nothing was done")
    if ("CREATE" not in done) != in_place:
        raise Wrong("replaced" if in_place else "not replaced")
    if not in_place:
        heat.act(path, "check")  # what is new did not go with what it replaced
