"""Secrets that would be seen anywhere, and requests that carry them."""

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

EACH = 20
SERVERS = 10
PREFIX = "canary-"


@dataclass
class Birds:
    """Two hundred secrets by the way they go in; each is a word that is nowhere else."""

    hidden: list[str] = field(default_factory=lambda: _words(EACH))
    hidden_defaults: list[str] = field(default_factory=lambda: _words(EACH))
    plain: list[str] = field(default_factory=lambda: _words(EACH))
    defaults: list[str] = field(default_factory=lambda: _words(EACH))
    properties: list[str] = field(default_factory=lambda: _words(EACH))
    metadata: list[str] = field(default_factory=lambda: _words(EACH))
    files: list[str] = field(default_factory=lambda: _words(EACH))
    user_data: list[str] = field(default_factory=lambda: _words(SERVERS))
    configs: list[str] = field(default_factory=lambda: _words(EACH))
    deployments: list[str] = field(default_factory=lambda: _words(EACH))
    signals: list[str] = field(default_factory=lambda: _words(SERVERS))

    def all(self) -> list[str]:
        return [word for words in vars(self).values() for word in words]

    def request(self) -> dict[str, Any]:
        """The body of a create that carries all but configurations, deployments and signals."""
        parameters: dict[str, Any] = {}
        for number in range(EACH):
            parameters[f"hidden{number}"] = {"type": "string", "hidden": True}
            parameters[f"default{number}"] = {
                "type": "string", "hidden": True, "default": self.hidden_defaults[number],
            }  # fmt: skip
            parameters[f"plain{number}"] = {"type": "string"}
            parameters[f"wide{number}"] = {"type": "string"}
        resources: dict[str, Any] = {
            "handle": {
                "type": "OS::Heat::WaitConditionHandle",
                "properties": {"signal_transport": "HEAT_SIGNAL"},
            },
            "loud": {
                "type": "OS::Heat::TestResource",
                "properties": {"value": {"get_param": "hidden0"}},
            },
            "child": {"type": "child.yaml", "properties": {"given": {"get_param": "hidden1"}}},
        }
        for number in range(EACH):
            resources[f"value{number}"] = {
                "type": "OS::Heat::Value",
                "metadata": {"told": self.metadata[number]},
                "properties": {
                    "value": {
                        "said": self.properties[number],
                        "file": {"get_file": f"file{number}"},
                        "given": [
                            {"get_param": f"hidden{number}"},
                            {"get_param": f"default{number}"},
                            {"get_param": f"plain{number}"},
                            {"get_param": f"wide{number}"},
                        ],
                    }
                },
            }
        for number in range(SERVERS):
            resources[f"server{number}"] = {
                "type": "OS::Nova::Server",
                "properties": {
                    "image": "cirros", "flavor": "m1.nano", "networks": [{"network": "private"}],
                    "user_data_format": "RAW", "user_data": self.user_data[number],
                },
            }  # fmt: skip
        return {
            "template": {
                "heat_template_version": "2021-04-16",
                "parameters": parameters,
                "resources": resources,
                "outputs": {"told": {"value": {"get_attr": ["value3", "value"]}}},
            },
            "files": {
                **{f"file{number}": self.files[number] for number in range(EACH)},
                "child.yaml": "heat_template_version: 2021-04-16\n"
                "parameters: {given: {type: string, hidden: true}}\n"
                "resources: {inner: {type: OS::Heat::Value, properties:"
                " {value: {get_param: given}}}}\n",
            },
            "parameters": {
                **{f"hidden{number}": self.hidden[number] for number in range(EACH)},
                **{f"plain{number}": self.plain[number] for number in range(EACH)},
            },
            "environment": {
                "parameter_defaults": {f"wide{n}": self.defaults[n] for n in range(EACH)}
            },
        }


def _words(count: int) -> list[str]:
    return [PREFIX + uuid4().hex for _ in range(count)]
