"""Templates of the fuzzer, and what their parameters and files are."""

from typing import Any

from tests.fuzz.api.canaries import Canaries

CHILD = """
heat_template_version: 2021-04-16
parameters:
  given: {type: string}
resources:
  inner:
    type: OS::Heat::Value
    metadata: {said: {get_param: given}}
    properties: {value: {get_param: given}}
outputs: {told: {value: {get_attr: [inner, value]}}}
"""
FULL = """
heat_template_version: 2021-04-16
parameters:
  secret: {type: string, hidden: true}
  plain: {type: string}
  wide: {type: string}
  size: {type: number, default: 1}
resources:
  value:
    type: OS::Heat::Value
    metadata: {said: {get_param: secret}}
    properties: {value: [{get_param: secret}, {get_param: plain}, {get_file: a-file}]}
  network: {type: OS::Neutron::Net, properties: {value_specs: {description: {get_param: secret}}}}
  child: {type: child.yaml, properties: {given: {get_param: secret}}}
  open: {type: child.yaml, properties: {given: {get_param: plain}}}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: OS::Heat::Value, properties: {value: {get_param: secret}}}
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: HEAT_SIGNAL}}
  token: {type: OS::Heat::WaitConditionHandle}
  url: {type: AWS::CloudFormation::WaitConditionHandle}
  random: {type: OS::Heat::RandomString, properties: {length: 40}}
  key: {type: OS::Nova::KeyPair, properties: {name: a-key, save_private_key: true}}
  config:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: date, inputs: [{name: word}]}
  server:
    type: OS::Nova::Server
    properties:
      {image: debian-12, flavor: m1.small, networks: [{network: private}],
       software_config_transport: POLL_SERVER_HEAT, user_data_format: SOFTWARE_CONFIG}
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      {server: {get_resource: server}, config: {get_resource: config},
       input_values: {word: {get_param: secret}}, signal_transport: NO_SIGNAL}
outputs:
  told: {value: {get_param: secret}}
  plain: {value: {get_param: plain}}
  inner: {value: {get_attr: [child, told]}}
  signal: {value: {get_attr: [handle, signal]}}
  url: {value: {get_resource: url}}
"""


def full_parameters(words: Canaries) -> dict[str, str]:
    """Return the parameters of FULL, but those with values elsewhere."""
    return {"secret": words.secret(), "plain": words.plain()}


def full_files(words: Canaries) -> dict[str, str]:
    """Return the files of FULL, but its nested templates."""
    return {"a-file": words.plain()}


def spare_template(words: Canaries) -> dict[str, Any]:
    """Return a template that is cheap to create, with what mutations may change."""
    return {
        "heat_template_version": "2021-04-16",
        "description": words.plain(),
        "parameters": {
            "plain": {
                "type": "string", "default": words.plain(), "label": "Plain",
                "constraints": [{"length": {"min": 1, "max": 200}, "description": "size"}],
            },
            "size": {"type": "number", "default": 1, "constraints": [{"range": {"min": 0}}]},
            "list": {"type": "comma_delimited_list", "default": "a,b"},
            "map": {"type": "json", "default": {"a": 1}},
            "flag": {"type": "boolean", "default": True},
        },
        "parameter_groups": [{"label": "all", "parameters": ["plain", "size"]}],
        "conditions": {"big": {"equals": [{"get_param": "size"}, 2]}},
        "resources": {
            "value": {
                "type": "OS::Heat::Value", "metadata": {"said": words.plain()},
                "properties": {"value": {"get_param": "plain"}},
            },
            "random": {"type": "OS::Heat::RandomString", "properties": {"length": 8}},
            "handle": {"type": "OS::Heat::WaitConditionHandle", "condition": {"not": "big"}},
            "net": {
                "type": "OS::Neutron::Net", "deletion_policy": "Delete", "depends_on": ["value"],
                "properties": {"name": {"list_join": ["-", ["n", {"get_param": "plain"}]]}},
            },
            "child": {"type": "child.yaml", "properties": {"given": {"get_param": "plain"}}},
        },
        "outputs": {
            "told": {"description": "It", "value": {"get_attr": ["value", "value"]}},
            "made": {"value": {"str_replace": {
                "template": "x$y", "params": {"$y": {"get_param": "size"}},
            }}},
        },
    }  # fmt: skip


def spare_body(words: Canaries) -> dict[str, Any]:
    """Return the request for such a stack, without its name."""
    return {
        "template": spare_template(words),
        "files": {"child.yaml": CHILD},
        "parameters": {"size": 1, "map": {"b": [1, 2]}},
        "environment": {
            "parameter_defaults": {"list": ["c"]}, "resource_registry": {"resources": {}},
            "event_sinks": [], "encrypted_param_names": [], "parameters": {"flag": "no"},
        },
        "environment_files": [],
        "tags": ["a", words.plain()],
        "timeout_mins": 5,
        "disable_rollback": True,
    }  # fmt: skip
