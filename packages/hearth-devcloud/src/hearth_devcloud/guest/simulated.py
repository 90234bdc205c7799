"""The simulated agent: it reports software deployments as done on servers that do not really run.

A server has an agent if its image has the property `simulated_agent` with the value `true`, and its
user data configures polling of the Orchestration API. The agent reports success at once, unless
fault rules for the service `agent` match. In such a rule, `name` is the name of the server or of
the deployment, `latency_s` delays the report, `drop` suppresses it, `status` is the exit status,
and `body` contains the outputs. For a deployment of a cluster node, see the module `node`.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from hearth_devcloud import jobs, tables
from hearth_devcloud.guest.report import GONE, NODE, access, inputs_of, report
from hearth_devcloud.guest.server import user_data
from hearth_devcloud.guest.settings import agent_section
from hearth_devcloud.http import Cloud
from hearth_devcloud.knobs import Fate
from hearth_devcloud.store import Body, Resource

PROPERTY = "simulated_agent"
POLL_MIN_S, POLL_MAX_S = 0.1, 5.0
POLLS_MAX = 10.0  # per second, of all idle agents together
GROWTH = 1.6
ATTEMPTS = 10  # to send a report
RETRY_S = 0.5
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.IGNORECASE)


def begin(cloud: Cloud, server: Resource) -> None:
    """Start the simulated agent of a new server. Do nothing if the server has no agent."""
    if not _wanted(cloud, server):
        return
    section = agent_section(user_data(server) or b"")
    if section is not None:
        server.hidden["agent"] = {"section": section, "done": [], "pause_s": POLL_MIN_S}
        _later(cloud, server, 0.0)


def _wanted(cloud: Cloud, server: Resource) -> bool:
    """Return whether the image of a server or of its boot volume has the property PROPERTY."""
    image = cloud.store.get(tables.IMAGES, server.hidden["image_id"])
    properties = dict(image.hidden.get("extra", {})) if image is not None else {}
    for item in server.hidden["volumes"]:
        volume = cloud.store.table(tables.VOLUMES).get(item["volume_id"])
        if item["boot"] and volume is not None:
            properties |= volume.hidden.get("image") or {}
    return str(properties.get(PROPERTY, "")).lower() == "true"


def _later(cloud: Cloud, server: Resource, after_s: float) -> None:
    cloud.store.later(after_s, server, "guest.poll")
    cloud.wake(after_s)


def poll(cloud: Cloud, server: Resource) -> None:
    """Schedule the call that reads the metadata of a server from the Orchestration API."""
    agent = server.hidden.get("agent")
    if agent is None or server.body["vm_state"] in GONE:
        return
    section = agent["section"]
    grant = access(cloud, agent.setdefault("tokens", {}), section)
    if grant is None:  # the agent's user was deleted together with the stack
        return
    stack, name = quote(str(section["stack_id"])), quote(str(section["resource_name"]), safe="")
    jobs.order(
        cloud,
        "guest.polled",
        server.id,
        method="GET",
        url=f"{grant['url']}/stacks/{stack}/resources/{name}/metadata",
        headers={"X-Auth-Token": grant["token"]},
    )


def polled(cloud: Cloud, job: Resource) -> None:
    """Handle the response to a poll: run new deployments and schedule the next poll."""
    server = cloud.store.get(tables.SERVERS, job.hidden["about"])
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
    """Return the seconds between polls of an idle agent; they grow with the number of agents."""
    agents = sum("agent" in server.hidden for server in cloud.store.table(tables.SERVERS).values())
    return max(POLL_MAX_S, agents / POLLS_MAX)


def _run(cloud: Cloud, server: Resource, agent: Body, config: Body) -> None:
    """Run a deployment and report its results, which fault rules can change.

    If the deployment is for a cluster node, set up the node before the report.
    """
    names = frozenset({server.body["name"], str(config.get("name"))})
    fate = cloud.knobs.fate("agent", "SIGNAL", f"/{server.body['name']}/{config['name']}", names)
    fate = fate or Fate()
    if fate.drop:
        return
    outputs = fate.body if isinstance(fate.body, dict) else {}
    work = {
        "config": config,
        "status": fate.status or 0,
        "outputs": outputs,
        "latency_s": fate.latency_s,
    }
    about = None if fate.status else _about_node(inputs_of(config))
    if about is None:
        report(cloud, server, work)
        return
    from hearth_devcloud.guest import node  # most clouds have no clusters

    node.begin(cloud, server, {**work, **about})


def _about_node(inputs: dict[str, Any]) -> Body | None:
    """Return settings, credential URL and version of the cluster node that a deployment sets up.

    Return None for other deployments.
    """
    settings = inputs.get("settings")
    if isinstance(settings, str):
        try:
            settings = json.loads(settings)
        except ValueError:
            return None
    if not isinstance(settings, dict) or "credential_url" not in inputs:
        return None
    port = settings.get("kubernetes_port")
    if (
        settings.get("task") not in ("master", "worker")
        or not _NAME.fullmatch(str(settings.get("name")))
        or not str(port).isdecimal()
        or not 0 < int(str(port)) < 65536
    ):
        return None
    version = str(inputs.get("kube_version") or "v1.31.0")
    url = str(inputs["credential_url"] or "")
    return {"settings": settings, "credential_url": url, "version": version}


def _node(cloud: Cloud, job: Resource) -> None:
    """Continue the setup of a cluster node after the response to its last call."""
    from hearth_devcloud.guest import node

    node.step(cloud, job)


def started(cloud: Cloud, server: Resource) -> None:
    """Register the cluster node of a server that has become active again."""
    if "node" in server.hidden:
        from hearth_devcloud.guest import clusters

        clusters.register(cloud, server)


def gone(cloud: Cloud, server: Resource) -> None:
    """Remove the cluster node of a deleted server."""
    if "node" in server.hidden:
        from hearth_devcloud.guest import clusters

        clusters.leave(cloud, server)


def signalled(cloud: Cloud, job: Resource) -> None:
    """Send the report of a deployment again if the API failed or did not respond."""
    tried = int(job.hidden.get("tried", 0)) + 1
    status = job.hidden["answer"]["status"]
    if (status == 0 or status >= 500) and tried < ATTEMPTS:
        job.hidden["tried"] = tried
        jobs.again(cloud, job, RETRY_S * tried)


TRANSITIONS: dict[str, Any] = {
    "guest.poll": poll,
    "guest.polled": polled,
    "guest.signalled": signalled,
    NODE: _node,
}
