"""A stack of another Hearth as a resource: OS::Heat::Stack."""

from __future__ import annotations

from tests.crash.story import Act, Call, Story, Wave, drop

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
outputs:
  net: {value: {get_attr: [inner, outputs, net]}}
"""
WANTED = {"network.networks": 1, "identity.trusts": 2, "orchestration.stacks": 1}

CREATE: tuple[Wave, ...] = ({"OS::Heat::Stack": Call("orchestration", "POST", "/stacks$")},)
UPDATE: tuple[Wave, ...] = (
    {"OS::Heat::Stack in place": Call("orchestration", "PUT", "/stacks/[^/]+/[^/]+$")},
)
DELETE: tuple[Wave, ...] = ({"OS::Heat::Stack": drop("orchestration", "stacks/[^/]+")},)

outer = Story(
    "outer",
    (
        Act("create", CREATE, OUTER, wanted=WANTED),
        Act("update", UPDATE, OUTER.replace("first", "second"), wanted=WANTED),
        Act("delete", DELETE),
    ),
)
