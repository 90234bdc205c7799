"""What another Hearth keeps as resources: a stack and configurations."""

from __future__ import annotations

from tests.crash.story import Act, Story, Wave, drop, post, put

OUTER = """
heat_template_version: 2021-04-16
resources:
  inner:
    type: OS::Heat::Stack
    properties:
      parameters: {name: first}
      template: |
        heat_template_version: 2021-04-16
        parameters: {name: {type: string}}
        resources:
          net: {type: OS::Neutron::Net, properties: {name: {get_param: name}}}
        outputs: {net: {value: {get_resource: net}}}
  script: {type: OS::Heat::SoftwareConfig, properties: {config: echo done}}
  values: {type: OS::Heat::StructuredConfig, properties: {config: {done: yes}}}
  boot: {type: OS::Heat::CloudConfig, properties: {cloud_config: {runcmd: [[echo, done]]}}}
  whole: {type: OS::Heat::MultipartMime, properties: {parts: [{config: echo done}]}}
  part:
    type: OS::Heat::SoftwareComponent
    properties: {configs: [{config: echo done, tool: script}]}
outputs:
  net: {value: {get_attr: [inner, outputs, net]}}
"""
WANTED = {
    "network.networks": 1,
    "identity.trusts": 2,
    "orchestration.stacks": 1,
    "orchestration.software_configs": 5,
}

CREATE: tuple[Wave, ...] = (
    {
        "OS::Heat::Stack": post("orchestration", "stacks"),
        "OS::Heat::SoftwareConfig": post("orchestration", "software_configs", "-script-"),
        "OS::Heat::StructuredConfig": post("orchestration", "software_configs", "-values-"),
        "OS::Heat::CloudConfig": post("orchestration", "software_configs", "-boot-"),
        "OS::Heat::MultipartMime": post("orchestration", "software_configs", "-whole-"),
        "OS::Heat::SoftwareComponent": post("orchestration", "software_configs", "-part-"),
    },
)
UPDATE: tuple[Wave, ...] = ({"OS::Heat::Stack in place": put("orchestration", "stacks/[^/]+")},)
DELETE: tuple[Wave, ...] = (
    {
        "OS::Heat::Stack": drop("orchestration", "stacks/[^/]+"),
        "OS::Heat::SoftwareConfig": drop("orchestration", "software_configs", "-script-"),
        "OS::Heat::StructuredConfig": drop("orchestration", "software_configs", "-values-"),
        "OS::Heat::CloudConfig": drop("orchestration", "software_configs", "-boot-"),
        "OS::Heat::MultipartMime": drop("orchestration", "software_configs", "-whole-"),
        "OS::Heat::SoftwareComponent": drop("orchestration", "software_configs", "-part-"),
    },
)

outer = Story(
    "outer",
    (
        Act("create", CREATE, OUTER, wanted=WANTED),
        Act("update", UPDATE, OUTER.replace("first", "second"), wanted=WANTED),
        Act("delete", DELETE),
    ),
)
