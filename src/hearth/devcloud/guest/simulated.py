"""A simulated agent: it answers the deployments of servers that do not boot.

A server has it if its image has the property `simulated_agent` with the value `true`, and its user
data configure an agent that polls the Orchestration API. The agent succeeds at once, unless fault
rules for the service `agent` match: `name` is the name of the server or of the deployment,
`latency_s` delays the answer, `drop` loses it, `status` is the exit status, and `body`, beside a
status, has outputs.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from hearth.devcloud import jobs
from hearth.devcloud.guest.server import SERVERS, user_data
from hearth.devcloud.http import Cloud
from hearth.devcloud.knobs import Fate
from hearth.devcloud.sandbox.userdata import Unreadable, parts
from hearth.devcloud.store import Body, Thing

PROPERTY = "simulated_agent"
POLL_MIN_S, POLL_MAX_S = 0.1, 5.0
POLLS_MAX = 10.0  # of all agents in a second, when nothing happens
GROWTH = 1.6
ATTEMPTS = 10  # of an answer
RETRY_S = 0.5
TOKEN_S = 1800.0
ORCHESTRATION = "orchestration"
DOCUMENT = "cfn-init-data"  # the name of the part of user data


def begin(cloud: Cloud, server: Thing) -> None:
    """Start the agent of a server that has one."""
    if not _wanted(cloud, server):
        return
    section = _section(user_data(server) or b"")
    if section is not None:
        server.hidden["agent"] = {"section": section, "done": [], "pause_s": POLL_MIN_S}
        _later(cloud, server, 0.0)


def _wanted(cloud: Cloud, server: Thing) -> bool:
    """Return whether the image of a server, or of its boot volume, has the property."""
    image = cloud.store.get("image.images", server.hidden["image_id"])
    shown = dict(image.hidden.get("extra", {})) if image is not None else {}
    for item in server.hidden["volumes"]:
        volume = cloud.store.table("volume.volumes").get(item["volume_id"])
        if item["boot"] and volume is not None:
            shown |= volume.hidden.get("image") or {}
    return str(shown.get(PROPERTY, "")).lower() == "true"


def _section(data: bytes) -> Body | None:
    """Return the section of user data for agents that poll the Orchestration API, or None."""
    try:
        found = [part.data for part in parts(data) if part.name == DOCUMENT]
        document = json.loads(found[0])["os-collect-config"] if found else {}
    except (Unreadable, ValueError, KeyError):
        return None
    section = document.get("heat")
    return section if isinstance(section, dict) and section.get("user_id") else None


def _later(cloud: Cloud, server: Thing, after_s: float) -> None:
    cloud.store.later(after_s, server, "guest.poll")
    cloud.wake(after_s)


def poll(cloud: Cloud, server: Thing) -> None:
    """Ask for the metadata of a server."""
    agent = server.hidden.get("agent")
    if agent is None or server.body["vm_state"] in ("deleted", "error"):
        return
    section = agent["section"]
    access = _access(cloud, agent.setdefault("tokens", {}), section)
    if access is None:  # its user is gone, and so is the stack
        return
    stack, name = quote(str(section["stack_id"])), quote(str(section["resource_name"]), safe="")
    jobs.order(
        cloud,
        "guest.polled",
        server.id,
        method="GET",
        url=f"{access['url']}/stacks/{stack}/resources/{name}/metadata",
        headers={"X-Auth-Token": access["token"]},
    )


def _access(cloud: Cloud, tokens: Body, access: Body) -> Body | None:
    """Return a token of a user and the address of the Orchestration API, or None."""
    user_id = str(access["user_id"])
    known = tokens.get(user_id)
    found: Body
    if known is not None and known["until"] > cloud.store.time:
        found = known
        return found
    user = {"id": user_id, "password": access["password"]}
    scope = {"project": {"id": access["project_id"]}}
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


def polled(cloud: Cloud, job: Thing) -> None:
    """Take the metadata, run what is new, and poll again."""
    server = cloud.store.get(SERVERS, job.hidden["about"])
    if server is None:
        return
    agent, answer = server.hidden["agent"], job.hidden["answer"]
    if answer["status"] == 404:  # the stack is gone
        return
    if answer["status"] == 401:
        agent["tokens"] = {}
    good = answer["status"] == 200 and isinstance(answer["body"], dict)
    metadata = answer["body"].get("metadata", {}) if good else {}
    fresh = [
        config
        for config in metadata.get("deployments", ())
        if config["id"] not in agent["done"] and config.get("group") != "Heat::Ungrouped"
    ]
    for config in fresh:
        agent["done"].append(config["id"])
        _run(cloud, server, agent, config)
    pause_s = POLL_MIN_S if fresh else min(_rare_s(cloud), agent["pause_s"] * GROWTH)
    agent["pause_s"] = pause_s
    _later(cloud, server, pause_s)


def _rare_s(cloud: Cloud) -> float:
    """Return the pause of agents for which nothing happens; it grows with their number."""
    agents = sum("agent" in server.hidden for server in cloud.store.table(SERVERS).values())
    return max(POLL_MAX_S, agents / POLLS_MAX)


def _run(cloud: Cloud, server: Thing, agent: Body, config: Body) -> None:
    """Answer one deployment as the fault rules say."""
    names = frozenset({server.body["name"], str(config.get("name"))})
    fate = cloud.knobs.fate("agent", "SIGNAL", f"/{server.body['name']}/{config['name']}", names)
    fate = fate or Fate()
    if fate.drop:
        return
    inputs = {one["name"]: one.get("value") for one in config.get("inputs", ())}
    wanted = _signal(cloud, agent, inputs)
    if wanted is not None:
        data = json.dumps(_results(server, config, fate))
        jobs.order(cloud, "guest.signalled", server.id, data=data, after_s=fate.latency_s, **wanted)


def _results(server: Thing, config: Body, fate: Fate) -> Body:
    """Return what a script would report."""
    failed = bool(fate.status)
    said = f"{config['name']} on {server.body['name']}: "
    results: Body = {
        "deploy_stdout": f"{said}{'begun' if failed else 'done'}\n",
        "deploy_stderr": f"{said}failed by a fault rule\n" if failed else "",
        "deploy_status_code": fate.status or 0,
    }
    return results | (fate.body if isinstance(fate.body, dict) else {})


def _signal(cloud: Cloud, agent: Body, inputs: dict[str, Any]) -> Body | None:
    """Return the call that reports results, or None for a deployment without a signal."""
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
    access = _access(cloud, agent.setdefault("tokens", {}), section)
    if access is None:
        return None
    stack = quote(str(inputs["deploy_stack_id"]))
    name = quote(str(inputs["deploy_resource_name"]), safe="")
    return {
        "method": "POST",
        "url": f"{access['url']}/stacks/{stack}/resources/{name}/signal",
        "headers": {**_JSON, "X-Auth-Token": access["token"]},
    }


_JSON = {"Content-Type": "application/json"}


def signalled(cloud: Cloud, job: Thing) -> None:
    """Send an answer again if it did not arrive."""
    tried = int(job.hidden.get("tried", 0)) + 1
    status = job.hidden["answer"]["status"]
    if (status == 0 or status >= 500) and tried < ATTEMPTS:
        job.hidden["tried"] = tried
        jobs.again(cloud, job, RETRY_S * tried)


TRANSITIONS: dict[str, Any] = {
    "guest.poll": poll,
    "guest.polled": polled,
    "guest.signalled": signalled,
}
