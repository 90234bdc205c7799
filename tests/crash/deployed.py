"""A server whose agent runs software deployments, one for each way to report the results."""

from __future__ import annotations

from tests.crash.story import Act, Call, Story, Wave, drop, patch, post

SIGNALS = {
    "by_url": "CFN_SIGNAL",
    "by_call": "HEAT_SIGNAL",
    "by_object": "TEMP_URL_SIGNAL",
    "by_message": "ZAQAR_SIGNAL",
}

DEPLOYMENT = """
  {name}:
    type: OS::Heat::SoftwareDeployment
    properties:
      actions: [CREATE, UPDATE, SUSPEND, RESUME, DELETE]
      config: {{get_resource: script}}
      server: {{get_resource: server}}
      signal_transport: {signal}
      input_values: {{colour: red}}
"""
DEPLOYED = """
heat_template_version: 2021-04-16
resources:
  server: {type: OS::Heat::DeployedServer}
  script:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: colour}]
      config: |
        #!/bin/sh
        echo "$deploy_action $colour" >> "$RUNS/$deploy_resource_name"
""" + "".join(DEPLOYMENT.format(name=name, signal=signal) for name, signal in SIGNALS.items())

REPAINTED = DEPLOYED.replace("colour: red", "colour: blue")

WANTED = {
    "identity.credentials": 2,
    "identity.projects": 1,
    "identity.trusts": 1,
    "identity.users": 4,
    "messaging.messages": 1,
    "messaging.queues": 1,
    "object-store.containers": 1,
    "object-store.objects": 1,
}

TYPE = "OS::Heat::SoftwareDeployment"
OBJECT, QUEUE = "/AUTH_[^/]+/[^/]+/[^/]+$", "/queues/[^/]+$"
MESSAGES = Call("messaging", "DELETE", "/messages")

CREATE: tuple[Wave, ...] = (
    {"trust": post("identity", "OS-TRUST/trusts")},
    {"stack's project": post("identity", "projects")},
    {"OS::Heat::DeployedServer": post("identity", "users", "-server-")},
    {"OS::Heat::DeployedServer keys": post("identity", "v3/credentials", "-server-")},
    {
        f"{TYPE} by url": post("identity", "users", "-by_url-"),
        f"{TYPE} by call": post("identity", "users", "-by_call-"),
        f"{TYPE} by message": post("identity", "users", "-by_message-"),
        f"{TYPE} by object": Call("object-store", "PUT", OBJECT),
    },
    {
        f"{TYPE} keys": post("identity", "v3/credentials", "-by_url-"),
        f"{TYPE} queue": Call("messaging", "PUT", QUEUE),
    },
)
UPDATE: tuple[Wave, ...] = ({f"{TYPE} once more": MESSAGES},)
SUSPEND: tuple[Wave, ...] = (
    {f"{TYPE} before the suspend": MESSAGES},
    {f"{TYPE} suspended": patch("identity", "users")},
)
RESUME: tuple[Wave, ...] = (
    {f"{TYPE} resumed": patch("identity", "users")},
    {f"{TYPE} after the resume": MESSAGES},
)
DELETE: tuple[Wave, ...] = (
    {f"{TYPE} for the last time": MESSAGES},
    {
        f"{TYPE} by url": drop("identity", "users", "-by_url-"),
        f"{TYPE} by call": drop("identity", "users", "-by_call-"),
        f"{TYPE} by object": Call("object-store", "DELETE", OBJECT),
        f"{TYPE} by message": Call("messaging", "DELETE", QUEUE),
    },
    {"OS::Heat::DeployedServer": drop("identity", "users", "-server-")},
    {"stack's project": drop("identity", "projects")},
    {"trust": drop("identity", "OS-TRUST/trusts")},
)

deployed = Story(
    "deployed",
    (
        Act("create", CREATE, DEPLOYED, wanted=WANTED, ran="CREATE red"),
        Act("suspend", SUSPEND, wanted=WANTED, ran="SUSPEND "),
        Act("resume", RESUME, wanted=WANTED, ran="RESUME "),
        Act("update", UPDATE, REPAINTED, wanted=WANTED, ran="UPDATE blue"),
        Act("delete", DELETE, ran="DELETE "),
    ),
    quiet={"OS::Heat::DeployedServer keys": ("OS::Heat::SoftwareConfig",)},
    waits=dict.fromkeys(SIGNALS, TYPE),
    server="server",
    deployments=tuple(SIGNALS),
)
