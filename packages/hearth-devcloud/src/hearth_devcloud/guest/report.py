"""Reports of a simulated agent about deployments, and its access to the Orchestration API."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from hearth_devcloud import jobs, tables
from hearth_devcloud.http import Cloud
from hearth_devcloud.store import Body, Resource

TOKEN_S = 1800.0
ORCHESTRATION = "orchestration"
NODE = "guest.node"  # the transition after each call that sets up a node
GONE = ("deleted", "error")  # states of servers without an agent
_JSON = {"Content-Type": "application/json"}


def report(cloud: Cloud, server: Resource, work: Body, *, failure: str = "") -> None:
    """Send the results of a deployment.

    If `failure` is set, the deployment has failed with this text; otherwise the results are in
    `work`.
    """
    status, config = 1 if failure else work["status"], work["config"]
    prefix = f"{config['name']} on {server.body['name']}: "
    results: Body = {
        "deploy_stdout": f"{prefix}{'begun' if status else 'done'}\n",
        "deploy_stderr": f"{prefix}{failure or 'failed by a fault rule'}\n" if status else "",
        "deploy_status_code": status,
    }
    signal = _signal(cloud, server.hidden["agent"], inputs_of(config))
    if signal is not None:
        data = json.dumps(results | ({} if failure else work["outputs"]))
        after_s = work["latency_s"]
        jobs.order(cloud, "guest.signalled", server.id, data=data, after_s=after_s, **signal)


def inputs_of(config: Body) -> dict[str, Any]:
    """Return the values of a deployment's inputs by name."""
    return {entry["name"]: entry.get("value") for entry in config.get("inputs", ())}


def alive(cloud: Cloud, job: Resource) -> Resource | None:
    """Return the server that a job is for, or None if its agent no longer runs."""
    server = cloud.store.get(tables.SERVERS, job.hidden["about"])
    return server if server is not None and server.body["vm_state"] not in GONE else None


def access(cloud: Cloud, tokens: Body, section: Body) -> Body | None:
    """Return a map with a `token` of the agent's user and the `url` of the Orchestration API.

    `section` contains the user and password; `tokens` caches the results. Return None if the user
    cannot log in or the catalogue has no such service.
    """
    user_id = str(section["user_id"])
    cached = tokens.get(user_id)
    grant: Body
    if cached is not None and cached["until"] > cloud.store.time:
        grant = cached
        return grant
    user = {"id": user_id, "password": section["password"]}
    scope = {"project": {"id": section["project_id"]}}
    identity = {"methods": ["password"], "password": {"user": user}}
    request = json.dumps({"auth": {"identity": identity, "scope": scope}}).encode()
    reply = cloud.request("POST", "/identity/v3/auth/tokens", {}, request)
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
    grant = {"token": token, "url": urls[0].rstrip("/"), "until": until}
    tokens[user_id] = grant
    return grant


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
    grant = access(cloud, agent.setdefault("tokens", {}), section)
    if grant is None:
        return None
    stack = quote(str(inputs["deploy_stack_id"]))
    name = quote(str(inputs["deploy_resource_name"]), safe="")
    return {
        "method": "POST",
        "url": f"{grant['url']}/stacks/{stack}/resources/{name}/signal",
        "headers": {**_JSON, "X-Auth-Token": grant["token"]},
    }
