"""Containers: they are `Creating` at first, and then `Created` or `Running`."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Callable
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    Check,
    Collection,
    Field,
    Invalid,
    boolean,
    integer,
    list_of,
    mapping,
    nullable,
    one_of,
    text,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.listing import filtered, ordered, page
from hearth_devcloud.store import Resource
from hearth_devcloud.zun import wiring
from hearth_devcloud.zun.base import (
    CONTAINERS,
    SERVICE,
    arguments,
    bad,
    conflict,
    find_container,
    flag,
)

_HOST = "devcloud"
_NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,254}$")
_IMAGE = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_.:/@-]{1,254}$")
_HOSTNAME = re.compile(r"^[a-zA-Z0-9._-]{1,255}$")
_REMOVABLE = ("Created", "Error", "Stopped", "Deleted", "Dead")
_STATES = {
    "update": ("Created", "Running", "Stopped", "Paused"),
    "delete": _REMOVABLE,
    "delete_force": (*_REMOVABLE, "Creating", "Running", "Unknown"),
    "delete_after_stop": (*_REMOVABLE, "Running"),
}


def allow(container: Resource, action: str, states: tuple[str, ...]) -> None:
    """Raise Refusal 409 unless the container is in one of the states."""
    if container.body["status"] not in states:
        message = f"Cannot {action} container {container.id} in {container.body['status']} state"
        raise conflict(message)


def _matching(pattern: re.Pattern[str]) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not pattern.match(value):
            raise ValueError(f"{value!r} does not match {pattern.pattern}")
        return value

    return check


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a number")
    if not re.fullmatch(r"[0-9]*(\.[0-9]+)?", str(value)) or not 0 < float(value) <= 128:
        raise ValueError(f"{value!r} is not a number of CPUs")
    return float(value)


def _texts(value: Any) -> dict[str, str]:
    texts = mapping(value)
    for name, label in texts.items():
        if not isinstance(label, str):
            raise ValueError(f"{name}: expected a string, got {label!r}")
    return dict(texts)


def _policy(value: Any) -> Body:
    policy: Body = mapping(value)
    names = ("no", "always", "on-failure", "unless-stopped")
    if policy.get("Name") not in names or policy.keys() - {"Name", "MaximumRetryCount"}:
        raise ValueError(f"expected a Name of {names}, and MaximumRetryCount")
    count = integer(0)(policy.get("MaximumRetryCount") or 0)
    if count and policy["Name"] in ("always", "unless-stopped"):
        raise ValueError(f"maximum retry count not valid with restart policy of {policy['Name']}")
    return {
        "Name": policy["Name"],
        "MaximumRetryCount": str(0 if policy["Name"] == "no" else count),
    }


def _net(value: Any) -> Body:
    net: Body = mapping(value)
    if net.keys() - {"network", "port", "v4-fixed-ip", "v6-fixed-ip"}:
        raise ValueError("unknown keys of a network")
    if ("network" in net) == ("port" in net):
        raise ValueError("a network needs either network or port")
    for version in (4, 6):
        address = net.get(f"v{version}-fixed-ip")
        if address is not None and ipaddress.ip_address(str(address)).version != version:
            raise ValueError(f"{address} is not an IPv{version} address")
    return net


def _mount(value: Any) -> Body:
    mount: Body = mapping(value)
    if mount.keys() - {"source", "destination", "size", "type"}:
        raise ValueError("unknown keys of a mount")
    if not isinstance(mount.get("destination"), str) or not mount.keys() & {"source", "size"}:
        raise ValueError("a mount needs destination, and source or size")
    if "size" in mount:
        integer(1)(mount["size"])
    return mount


def _command(value: Any) -> list[str]:
    if isinstance(value, str):
        return shlex.split(value)
    return list_of(text(65535))(value)  # type: ignore[no-any-return]


_TEXT = Field(nullable(text(255)))
_FLAG = Field(nullable(boolean), default=False)
_COMMON = {
    "name": Field(nullable(_matching(_NAME))),
    "cpu": Field(nullable(_number)),
    "memory": Field(nullable(integer(4))),
}
CREATED = Collection(
    SERVICE,
    "containers",
    "container",
    {
        **_COMMON,
        "image": Field(_matching(_IMAGE), required=True),
        "image_driver": Field(nullable(one_of("docker", "glance"))),
        "image_pull_policy": Field(nullable(one_of("never", "always", "ifnotpresent"))),
        "command": Field(nullable(_command)),
        "workdir": _TEXT,
        "labels": Field(_texts, default=dict),
        "environment": Field(_texts, default=dict),
        "hints": Field(mapping, default=dict),
        "restart_policy": Field(nullable(_policy)),
        "interactive": _FLAG,
        "tty": _FLAG,
        "auto_remove": _FLAG,
        "auto_heal": _FLAG,
        "privileged": _FLAG,
        "runtime": _TEXT,
        "hostname": Field(nullable(_matching(_HOSTNAME))),
        "availability_zone": _TEXT,
        "disk": Field(nullable(integer(0))),
        "security_groups": Field(list_of(text(255), null=True), default=list),
        "nets": Field(list_of(_net, null=True), default=list),
        "mounts": Field(list_of(_mount, null=True), default=list),
    },
)
UPDATED = Collection(SERVICE, "containers", "container", _COMMON)
_SINCE = {
    "nets": 2,
    "auto_remove": 3,
    "runtime": 5,
    "hostname": 9,
    "mounts": 11,
    "privileged": 21,
    "tty": 36,
}


def _checked(call: Call, kind: Collection, *, creating: bool) -> Body:
    request = call.json()
    if not isinstance(request, dict):
        raise bad("The body must be an object")
    late = [name for name in request if call.version < (1, _SINCE.get(name, 0))]
    if "name" in request and not creating and call.version < (1, 14):
        late.append("name")
    if late:
        raise bad(f"Additional properties are not allowed ({late[0]!r} was unexpected)")
    command = request.get("command")
    if command is not None and isinstance(command, str) != (call.version < (1, 20)):
        raise bad(f"Invalid input for field 'command'. Value: {command!r}")
    make: Callable[[Body], Body] = kind.for_create if creating else kind.for_update
    try:
        return make(request)
    except Invalid as error:
        raise bad(f"Invalid input: {error.message}") from None


def create(call: Call) -> Reply:
    """Handle POST of a container; reply with status 202. The argument `run` starts it."""
    run = flag(arguments(call, ("run",)), "run")
    values = _checked(call, CREATED, creating=True)
    store, project_id = call.cloud.store, call.caller.project_id
    if values["image_driver"] == "glance":
        image = values["image"]
        if not any(
            image in (candidate.id, candidate.body["name"])
            for candidate in store.all(tables.IMAGES)
        ):
            raise Refusal(404, message=f"Image {image} could not be found.")
    groups = wiring.groups_of(call, values["security_groups"])
    nets, mounts = values.pop("nets"), values.pop("mounts")
    ident = store.new_id()
    body: Body = {
        "uuid": ident,
        **values,
        "name": values["name"] or f"zeta-{store.new_serial('containers')}-container",
        "memory": None if values["memory"] is None else str(values["memory"]),
        "image_driver": values["image_driver"] or "docker",
        "security_groups": groups or [],
        "hostname": values["hostname"] or ident[:12],
        "status": "Creating",
        "status_reason": None,
        "status_detail": None,
        "task_state": "container_creating",
        "host": None,
        "addresses": {},
        "ports": [],
        "user_id": call.caller.user_id,
        "project_id": project_id,
    }
    hidden: Body = {"groups": groups, "run": run, "fails": call.effects.error}
    hidden |= {name: [] for name in ("ports", "own_ports", "volumes", "own_volumes")}
    container = Resource(ident, CONTAINERS, project_id, body, hidden)
    try:
        for net in nets or [{}]:
            wiring.plug(call, container, net)
        for mount in mounts:
            wiring.mount(call, container, mount)
    except Refusal:
        wiring.release(call.cloud, container)
        raise
    store.insert(container)
    reply = Reply(202, view(call, container))
    reply.headers["Location"] = f"{call.base}/{SERVICE}/v1/containers/{ident}"
    slow_s = call.effects.slow_s
    after_s = call.cloud.settings.build_s if slow_s is None else slow_s
    store.later(after_s, container, "container.created")
    return reply


def created(cloud: Cloud, container: Resource) -> None:
    """Complete the creation of a container: it runs, or has not been started yet."""
    body = container.body
    if body["status"] != "Creating":
        return
    body.update(task_state=None, host=_HOST)
    if container.hidden.pop("fails", False):
        body.update(status="Error", status_reason="Docker internal error: it cannot be started")
        return
    running = container.hidden["run"]
    body["status"] = "Running" if running else "Created"
    body["status_detail"] = "Just now" if running else None
    body["addresses"] = wiring.addresses(cloud, container)


def view(call: Call, container: Resource) -> Body:
    """Return a container in the format of the API."""
    hidden = {"availability_zone", "hints", *(("tty",) if call.version < (1, 36) else ())}
    fields = {name: value for name, value in container.body.items() if name not in hidden}
    if fields["command"] is not None and call.version < (1, 20):
        fields["command"] = shlex.join(fields["command"])
    if call.version >= (1, 28):
        fields["cpu_policy"] = "shared"
    if call.version >= (1, 31):
        fields["registry_id"] = None
    root = f"{call.base}/{SERVICE}"
    fields["links"] = [
        {"rel": "self", "href": f"{root}/v1/containers/{container.id}"},
        {"rel": "bookmark", "href": f"{root}/containers/{container.id}"},
    ]
    return fields


_PAGING = frozenset({"limit", "marker", "sort_key", "sort_dir", "all_projects"})
_FILTERS = ("name", "image", "project_id", "user_id", "memory", "host", "task_state", "status")


def containers(call: Call) -> Reply:
    """Handle GET of the containers of the project, by pages."""
    options = arguments(call, (*_PAGING, *_FILTERS, "auto_remove"))
    everywhere = flag(options, "all_projects")
    if everywhere and not call.caller.is_admin:
        raise Refusal(403, message="Policy doesn't allow container:get_all:all_projects.")
    matching = [
        container
        for container in call.cloud.store.all(CONTAINERS)
        if everywhere or container.project_id == call.caller.project_id
    ]
    matching = ordered(filtered(matching, call.query, _PAGING), call)
    page_containers, has_next = page(matching, call)
    body: Body = {
        "containers": [view(call, container) for container in page_containers],
        "next": None,
    }
    if has_next:
        kept_query = "&".join(p for p in call.raw_query.split("&") if not p.startswith("marker="))
        body["next"] = (
            f"{call.base}/{SERVICE}{call.path}?{kept_query}&marker={page_containers[-1].id}"
        )
    return Reply(200, body)


def show(call: Call) -> Reply:
    """Handle GET of a container, by its UUID or name."""
    return Reply(200, view(call, find_container(call)))


def update(call: Call) -> Reply:
    """Handle PATCH of a container's name, CPUs or memory."""
    container, changes = find_container(call), _checked(call, UPDATED, creating=False)
    allow(container, "update", _STATES["update"])
    if any(value is None for value in changes.values()):
        raise bad("Invalid input: name, cpu and memory cannot be removed")
    if "memory" in changes:
        changes["memory"] = str(changes["memory"])
    container.body.update(changes)
    return Reply(200, view(call, container))


def delete(call: Call) -> Reply:
    """Handle DELETE of a container; reply with status 204, or 409 if its state forbids it.

    The argument `stop` stops a running container before; `force` is for administrators.
    """
    options = arguments(call, ("force", "stop", "all_projects"))
    force, stop = flag(options, "force"), flag(options, "stop")
    container = find_container(call)
    if stop and call.version < (1, 12):
        raise bad("Invalid param stop because the current request version is below 1.12")
    if force and call.version >= (1, 7) and not call.caller.is_admin:
        raise Refusal(403, message="Policy doesn't allow container:delete_force.")
    states = "delete_force" if force else "delete_after_stop" if stop else "delete"
    allow(container, states, _STATES[states])
    container.body.update(status="Deleting", task_state="container_deleting")
    if call.effects.error:
        container.body.update(status="Error", status_reason="It cannot be deleted", task_state=None)
    else:
        call.cloud.store.later(call.effects.slow_s or 0, container, "container.gone")
    return Reply(204)


def gone(cloud: Cloud, container: Resource) -> None:
    """Remove a container whose deletion is complete, with its own ports and volumes."""
    wiring.release(cloud, container)
    cloud.store.remove(container)


_PATH = "/v1/containers"
ROUTES: list[Route] = [
    ("POST", _PATH, create),
    ("GET", _PATH, containers),
    ("GET", _PATH + "/{}", show),
    ("PATCH", _PATH + "/{}", update),
    ("DELETE", _PATH + "/{}", delete),
]
