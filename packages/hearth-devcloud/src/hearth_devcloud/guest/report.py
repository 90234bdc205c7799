"""Reports of a simulated agent about deployments, and its access to the Orchestration API."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from hearth_devcloud import jobs
from hearth_devcloud.guest.server import SERVERS
from hearth_devcloud.http import Cloud
from hearth_devcloud.store import Body, Thing

TOKEN_S = 1800.0
ORCHESTRATION = "orchestration"
NODE = "guest.node"  # the transition after each call that sets up a node
GONE = ("deleted", "error")  # states of servers without an agent
_JSON = {"Content-Type": "application/json"}


def report(cloud: Cloud, server: Thing, work: Body, *, failure: str = "") -> None:
    """Send the results of a deployment.

    If `failure` is set, the deployment has failed with this text; otherwise the results are in
    `work`.
    """
    status, config = 1 if failure else work["status"], work["config"]
    said = f"{config['name']} on {server.body['name']}: "
    results: Body = {
        "deploy_stdout": f"{said}{'begun' if status else 'done'}\n",
        "deploy_stderr": f"{said}{failure or 'failed by a fault rule'}\n" if status else "",
        "deploy_status_code": status,
    }
    wanted = _signal(cloud, server.hidden["agent"], inputs_of(config))
    if wanted is not None:
        data = json.dumps(results | ({} if failure else work["outputs"]))
        after_s = work["latency_s"]
        jobs.order(cloud, "guest.signalled", server.id, data=data, after_s=after_s, **wanted)


def inputs_of(config: Body) -> dict[str, Any]:
    """Return the values of a deployment's inputs by name."""
    return {one["name"]: one.get("value") for one in config.get("inputs", ())}


def alive(cloud: Cloud, job: Thing) -> Thing | None:
    """Return the server that a job is for, or None if its agent no longer runs."""
    server = cloud.store.get(SERVERS, job.hidden["about"])
    return server if server is not None and server.body["vm_state"] not in GONE else None


def access(cloud: Cloud, tokens: Body, section: Body) -> Body | None:
    """Return a map with a `token` of the agent's user and the `url` of the Orchestration API.

    `section` contains the user and password; `tokens` caches the results. Return None if the user
    cannot log in or the catalogue has no such service.
    """
    user_id = str(section["user_id"])
    known = tokens.get(user_id)
    found: Body
    if known is not None and known["until"] > cloud.store.time:
        found = known
        return found
    user = {"id": user_id, "password": section["password"]}
    scope = {"project": {"id": section["project_id"]}}
    identity = {"methods": ["password"], "password": {"user": user}}
    asked = json.dumps({"auth": {"identity": identity, "scope": scope}}).encode()
    reply = cloud.request("POST", "/identity/v3/auth/tokens", {}, asked)
    if reply.status != 201:
        return None
    assert isinstance(reply.body, dict)
    urls = [
        end["url"]
        for entry in reply.body["token"].get("catalog", ())
        for end in entry["endpoints"]
        if entry["type"] == ORCHESTRATION and end["interface"] == "public"
    ]
    if not urls:
        return None
    token = reply.headers["X-Subject-Token"]
    until = cloud.store.time + TOKEN_S
    found = {"token": token, "url": urls[0].rstrip("/"), "until": until}
    tokens[user_id] = found
    return found


def _signal(cloud: Cloud, agent: Body, inputs: dict[str, Any]) -> Body | None:
    """Return the HTTP call that reports results: method, url and headers.

    Return None if the deployment has no signal transport.
    """
    if inputs.get("deploy_signal_id"):
        verb = str(inputs.get("deploy_signal_verb") or "POST")
        return {"method": verb, "url": str(inputs["deploy_signal_id"]), "headers": _JSON}
    if not inputs.get("deploy_user_id"):
        return None
    section = {
        "user_id": inputs["deploy_user_id"],
        "password": inputs["deploy_password"],
        "project_id": inputs["deploy_project_id"],
    }
    allowed = access(cloud, agent.setdefault("tokens", {}), section)
    if allowed is None:
        return None
    stack = quote(str(inputs["deploy_stack_id"]))
    name = quote(str(inputs["deploy_resource_name"]), safe="")
    return {
        "method": "POST",
        "url": f"{allowed['url']}/stacks/{stack}/resources/{name}/signal",
        "headers": {**_JSON, "X-Auth-Token": allowed["token"]},
    }
