"""The stranger walk: every route, asked for by those who have nothing to do with the stack.

Nobody may learn more than that there is nothing, and nothing may change.
"""

import re
from typing import Any

from hearth.api.endpoint import Endpoint
from hearth.api.v1.routes import ROUTES
from tests.walk.ground import WORDS, Ground, table

OPEN = {  # they tell nothing of anybody: who asks in its own project is answered
    "stack_index", "stack_create", "stack_detail", "stack_preview", "stack_plan",
    "template_validate", "resource_types", "resource_schema", "generate_template",
    "template_versions", "template_functions", "build_info", "service_index",
    "software_config_index", "software_config_create", "software_deployment_index",
    "software_deployment_create", "software_deployment_metadata",
}  # fmt: skip
WAYS = ("no token", "bad token", "stranger", "own path", "other guest", "guest elsewhere")


def walk(ground: Ground) -> tuple[str, list[str]]:
    """The table, and what is wrong."""
    path = _things(ground)
    before = _state(ground, path)
    rows: list[tuple[str, ...]] = [("operation", "method", *WAYS)]
    wrong: list[str] = []
    for endpoint in ROUTES:
        cells = []
        for way in WAYS:
            status, text = _asked(ground, endpoint, way, path)
            cells.append(str(status))
            if status not in _expected(endpoint, way):
                wrong.append(f"{way}: {endpoint.method} {endpoint.path}: {status} {text[:200]}")
            if any(word in text for word in _told(ground, path, way)):
                wrong.append(f"{way}: {endpoint.method} {endpoint.path} tells: {text[:300]}")
        rows.append((endpoint.name, endpoint.method, *cells))
    if (after := _state(ground, path)) != before:
        wrong.append(f"the stack was changed: {before} is now {after}")
    return table(rows), wrong


def _things(ground: Ground) -> dict[str, str]:
    """Path parameters that name what is the first project's."""
    stack = ground.stack
    events = ground.ask("event_index_resource", resource_name="value", **stack).answer["events"]
    config = ground.ask("software_config_create", body={"name": "theirs", "config": WORDS}).answer
    config_id = config["software_config"]["id"]
    body = {"config_id": config_id, "server_id": "their-server", "input_values": {"x": WORDS}}
    body["stack_user_project_id"] = ground.people["guest"].project_id
    made = ground.ask("software_deployment_create", body=body).answer["software_deployment"]
    snapshot = ground.ask("stack_snapshot", body={"name": "theirs"}, **stack).answer
    ground.until(stack, "SNAPSHOT_COMPLETE")
    return {
        **stack,
        "stack_identity": stack["stack_id"],
        "resource_name": "value",
        "event_id": events[0]["id"],
        "snapshot_id": snapshot["id"],
        "output_key": "hidden",
        "number": "1",
        "other": "1",
        "config_id": config_id,
        "deployment_id": made["id"],
        "server_id": "their-server",
        "type_name": "OS::Heat::Value",
        "template_version": "heat_template_version.2021-04-16",
    }


def _state(ground: Ground, path: dict[str, str]) -> Any:
    stack = {key: path[key] for key in ("stack_name", "stack_id")}
    shown = ground.ask("stack_show", **stack).answer["stack"]
    shown["outputs"] = [one["output_key"] for one in shown["outputs"]]
    return (
        shown,
        ground.ask("resource_index", **stack).answer,
        ground.ask("software_deployment_show", deployment_id=path["deployment_id"]).answer,
        ground.ask("stack_list_snapshots", **stack).answer,
    )


def _asked(ground: Ground, endpoint: Endpoint, way: str, path: dict[str, str]) -> tuple[int, str]:
    owner = ground.people["member"].project_id
    body = {"suspend": None} if endpoint.name == "action_stack" else None
    if endpoint.body is not None and body is None:
        body = {"mark_unhealthy": True} if endpoint.name == "resource_mark_unhealthy" else {}
    by, token, tenant = "stranger", None, owner
    match way:
        case "no token":
            token = ""
        case "bad token":
            token = "gAAAAnonsense"
        case "own path":
            tenant = ground.people["stranger"].project_id
        case "other guest":
            by = "other guest"
        case "guest elsewhere":
            by, tenant = "other guest", ground.people["guest"].project_id
    filled = {**path, "tenant_id": tenant}
    names = set(re.findall(r"{(\w+)}", endpoint.path))
    found = ground.send(endpoint, by=by, token=token, body=body, **{n: filled[n] for n in names})
    return found.status, f"{dict(found.headers)} {found.answer}"


def _expected(endpoint: Endpoint, way: str) -> set[int]:
    match way:
        case "no token" | "bad token":
            return {401}
        case "stranger" | "other guest" | "guest elsewhere":
            return {403, 404} if endpoint.guest else {403}
        case _ if endpoint.name in OPEN:
            return {endpoint.status, 400, 403}  # 400: an empty body, 403: the rule is for admins
        case _:
            return {403, 404}


def _told(ground: Ground, path: dict[str, str], way: str) -> list[str]:
    """Words that only the first project knows."""
    words = [WORDS, ground.people["guest"].token]
    return words if way == "own path" else [*words, "stack_status"]
