"""The secrets walk: every read of both APIs, of a stack that is full of secrets, by a reader.

The secrets are found as a member, who sees them, and then looked for in every answer that a reader
gets: of the stack and its nested stacks, with each resource, configuration and deployment in turn.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from hearth.api.endpoint import Endpoint
from hearth.api.v1.routes import ROUTES
from hearth.service.policy_rules import READERS
from tests.walk.ground import Ground, table
from tests.walk.signed import signed_answer

HIDDEN, DEFAULT = "a-hidden-parameter-7311", "a-hidden-default-7312"
CHILD = """
heat_template_version: 2021-04-16
parameters:
  given: {type: string}
  other: {type: string, hidden: true, default: a-hidden-default-7312}
resources:
  inner:
    type: OS::Heat::Value
    metadata: {said: {get_param: given}}
    properties: {value: {get_param: given}}
outputs: {told: {value: {get_attr: [inner, value]}}}
"""
MIDDLE = """
heat_template_version: 2021-04-16
parameters:
  given: {type: string}
resources:
  lower: {type: secrets-child.yaml, properties: {given: {get_param: given}}}
"""
DEEP = """
heat_template_version: 2021-04-16
parameters:
  other: {type: string, hidden: true, default: a-hidden-default-7312}
resources:
  inner: {type: OS::Heat::RandomString, properties: {length: 40}}
  repeated: {type: OS::Heat::Value, properties: {value: {get_attr: [inner, value]}}}
outputs:
  told: {value: {get_attr: [repeated, value]}}
  whole: {value: {get_attr: [inner, value]}}
  other: {value: {get_param: other}}
"""
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  secret: {type: string, hidden: true, default: a-hidden-default-7312}
  size: {type: number, default: 1}
resources:
  value:
    type: OS::Heat::Value
    metadata: {said: {get_param: secret}}
    properties: {value: {get_param: secret}}
  network: {type: OS::Neutron::Net, properties: {value_specs: {description: {get_param: secret}}}}
  child: {type: secrets-child.yaml, properties: {given: {get_param: secret}}}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def: {type: OS::Heat::Value, properties: {value: {get_param: secret}}}
  handle: {type: OS::Heat::WaitConditionHandle}
  random: {type: OS::Heat::RandomString, properties: {length: 40}}
  key: {type: OS::Nova::KeyPair, properties: {name: walked-key, save_private_key: true}}
  config:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: date, inputs: [{name: word}]}
  server:
    type: OS::Nova::Server
    properties:
      {image: debian-12, flavor: m1.small, networks: [{network: private}],
       software_config_transport: POLL_SERVER_HEAT, user_data_format: SOFTWARE_CONFIG}
  repeated:
    type: OS::Heat::Value
    metadata: {said: {get_attr: [handle, token]}}
    properties: {value: {get_attr: [key, private_key]}}
  given: {type: secrets-child.yaml, properties: {given: {get_attr: [random, value]}}}
  far: {type: secrets-middle.yaml, properties: {given: {get_attr: [random, value]}}}
  deep: {type: secrets-deep.yaml}
  strings:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: OS::Heat::RandomString, properties: {length: 40}}}
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      {server: {get_resource: server}, config: {get_resource: config},
       input_values: {word: {get_param: secret}}, signal_transport: HEAT_SIGNAL}
outputs:
  told: {value: {get_param: secret}}
  inner: {value: {get_attr: [child, told]}}
  repeated: {value: {get_attr: [repeated, value]}}
  given: {value: {get_attr: [given, told]}}
  deep: {value: {get_attr: [deep, told]}}
  whole: {value: {get_attr: [deep, whole]}}
  other: {value: {get_attr: [deep, other]}}
  strings: {value: {get_attr: [strings, value]}}
  each: {value: {get_attr: [strings, attributes, value]}}
"""
QUERIES = {
    "resource_show": "with_attr=os_collect_config&with_attr=private_key&with_attr=value"
    "&with_attr=token&with_attr=curl_cli&with_attr=resource.0.value",
    "resource_index": "with_detail=true&nested_depth=5",
    "event_index_stack": "nested_depth=5",
    "stack_index": "show_nested=true&show_hidden=true",
    "stack_detail": "show_nested=true&show_hidden=true",
    "stack_drift": "nested_depth=5",
}
NESTED = ("child", "given", "deep", "strings")
"""The resources that are nested stacks; each but the last has a resource `inner`."""
CFN = (*READERS["cloudformation"], "DescribeStackResource")
EXPORTED = (
    "/snapshots", "/snapshots/{snapshot_id}", "/template", "GetTemplate", "/files",
    "/revisions/{number}", "/software_deployments", "/software_deployments/{deployment_id}",
    "/software_deployments/metadata/{server_id}", "/software_configs/{config_id}",
)  # fmt: skip
"""The reads of documents, which `stacks:export` opens."""
HIDING_MIN = 6
"""Of so many reads at least, an administrator is told more than a member."""


def walk(ground: Ground) -> tuple[str, list[str]]:
    """The table, and what is wrong."""
    stack = _stack(ground)
    secrets = _secrets(ground, stack)
    rows: list[tuple[str, ...]] = [("read", "answers", "for a member", "for a reader")]
    wrong: list[str] = []
    seen: set[str] = set()
    for name, member, reader in _answers(ground, stack):
        told = [one for one in secrets if secrets[one] in member]
        leaks = [one for one in secrets if secrets[one] in reader]
        rows.append((name, str(len(reader)), ", ".join(told), ", ".join(leaks)))
        seen.update(told)
        if leaks:
            wrong.append(f"{name} tells a reader: {', '.join(leaks)}")
    if not_seen := secrets.keys() - seen:
        wrong.append(f"nobody was told {', '.join(sorted(not_seen))}: the walk proves nothing")
    ground.ask("stack_delete", **stack)
    return table(rows), wrong


def walk_narrowed(ground: Ground) -> tuple[str, list[str]]:
    """The table, and what is wrong, where only administrators may see hidden values.

    A member may export the stack, so what `stacks:export` opens shows hidden values to it.
    """
    stack = _stack(ground)
    hidden = {"the hidden parameter": HIDDEN, "the hidden default": DEFAULT}
    rows: list[tuple[str, ...]] = [("read", "answers", "for an admin", "for a member")]
    wrong: list[str] = []
    hides = 0
    for name, admin, member in _answers(ground, stack, "admin", "member"):
        told = [one for one in hidden if hidden[one] in admin]
        leaks = [one for one in hidden if hidden[one] in member]
        rows.append((name, str(len(member)), ", ".join(told), ", ".join(leaks)))
        hides += bool(told and not leaks)
        if leaks and not name.endswith(EXPORTED):
            wrong.append(f"{name} tells a member: {', '.join(leaks)}")
    if hides < HIDING_MIN:
        wrong.append(f"{hides} reads hide something: the walk proves nothing")
    ground.ask("stack_delete", **stack)
    return table(rows), wrong


def _stack(ground: Ground) -> dict[str, str]:
    """The stack, updated once, with a snapshot."""
    body = {
        "template": TEMPLATE,
        "files": {
            "secrets-child.yaml": CHILD, "secrets-middle.yaml": MIDDLE, "secrets-deep.yaml": DEEP,
        },
        "parameters": {"secret": HIDDEN},
    }  # fmt: skip
    stack = ground.create("secrets", **body)
    change = {"size": 2, "secret": f"{HIDDEN}-2"}
    ground.ask("stack_update_patch", body={"existing": True, "parameters": change}, **stack)
    ground.until(stack, "UPDATE_COMPLETE")
    assert ground.ask("stack_snapshot", body={"name": "one"}, **stack).status == 200
    ground.until(stack, "SNAPSHOT_COMPLETE")
    return stack


def _secrets(ground: Ground, stack: dict[str, str]) -> dict[str, str]:
    """Words that only members may read, by what they are."""
    described = ground.ask("resource_metadata_show", resource_name="server", **stack).answer[
        "metadata"
    ]
    inputs = {one["name"]: one["value"] for one in described["deployments"][0]["inputs"]}

    strings = _nested(ground, stack, "strings")

    def attribute(resource: str, name: str, place: Mapping[str, str] = stack) -> str:
        shown = ground.ask(
            "resource_show", resource_name=resource, query=f"with_attr={name}", **place
        )
        return str(shown.answer["resource"]["attributes"][name])

    canaries = {
        "the hidden parameter": HIDDEN,
        "the hidden default": DEFAULT,
        "the password of the server's user": described["os-collect-config"]["heat"]["password"],
        "the password of the deployment's user": inputs["deploy_password"],
        "the token of the handle": attribute("handle", "token"),
        "the private key": attribute("key", "private_key").splitlines()[1],
        "the random text": attribute("random", "value"),
        "the random text of a nested stack": attribute("deep", "told"),
        "the random text of a group": attribute("0", "value", strings),
    }
    assert all(len(one) > 16 for one in canaries.values()), canaries
    return canaries


def _answers(
    ground: Ground, stack: dict[str, str], seeing: str = "member", other: str = "reader"
) -> Iterator[tuple[str, str, str]]:
    """Each read by its name, with all that it answers these two persons."""
    nested = [_nested(ground, stack, name) for name in NESTED]
    nested.insert(0, _nested(ground, _nested(ground, stack, "far"), "lower"))
    for endpoint in ROUTES:
        if endpoint.method != "GET":
            continue
        texts = {seeing: "", other: ""}
        for path in _paths(ground, endpoint, [stack, *nested]):
            for person in texts:
                query = QUERIES.get(endpoint.name, "")
                found = ground.send(endpoint, by=person, query=query, **path)
                texts[person] += f"{found.status} {found.answer}\n"
        yield endpoint.path, texts[seeing], texts[other]
    for action in CFN:
        texts = {seeing: "", other: ""}
        for place, resource in (
            *((stack, name) for name in _names(ground, stack)),
            *((inner, "inner") for inner in nested[:-1]),
        ):  # fmt: skip
            for person in texts:
                texts[person] += signed_answer(
                    ground, person, action, StackName=_arn(ground, place, person),
                    LogicalResourceId=resource,
                )  # fmt: skip
        yield action, texts[seeing], texts[other]


def _arn(ground: Ground, place: Mapping[str, str], person: str) -> str:
    project = ground.people[person].project_id
    return f"arn:openstack:heat::{project}:stacks/{place['stack_name']}/{place['stack_id']}"


def _nested(ground: Ground, stack: dict[str, str], resource: str) -> dict[str, str]:
    """The nested stack of a resource."""
    shown = ground.ask("resource_show", resource_name=resource, **stack).answer["resource"]
    stacks = ground.ask("stack_index", query="show_nested=true").answer["stacks"]
    ident = shown["physical_resource_id"]
    (name,) = (str(one["stack_name"]) for one in stacks if one["id"] == ident)
    return {"stack_id": ident, "stack_name": name}


def _names(ground: Ground, stack: dict[str, str]) -> list[str]:
    listed = ground.ask("resource_index", **stack).answer["resources"]
    return [str(one["resource_name"]) for one in listed]


def _paths(
    ground: Ground, endpoint: Endpoint, stacks: Sequence[dict[str, str]]
) -> Iterator[dict[str, str]]:
    """The parameters of all paths of a read: of all stacks, and of everything in them."""
    names = set(re.findall(r"{(\w+)}", endpoint.path)) - {"tenant_id"}
    if not names:
        yield {}
        return
    for place in stacks:
        values = _values(ground, place)
        known = names & values.keys()
        fixed = {name: one for name, one in place.items() if name in names}
        if not known and not fixed and place is not stacks[0]:
            return
        if "event_id" in known:
            events = ground.ask("event_index_stack", **place).answer["events"]
            for event in events:
                told = {"event_id": event["id"], "resource_name": event["resource_name"]}
                yield {**fixed, **told}
            continue
        for chosen in product(*(values[name] for name in sorted(known))):
            yield {**fixed, **dict(zip(sorted(known), chosen, strict=True))}


def _values(ground: Ground, place: dict[str, str]) -> dict[str, list[str]]:
    """What there is of everything that a path may name."""
    deployments = ground.ask("software_deployment_index").answer["software_deployments"]
    configs = ground.ask("software_config_index").answer["software_configs"]
    snapshots = ground.ask("stack_list_snapshots", **place).answer["snapshots"]
    outputs = ground.ask("stack_output_list", **place).answer["outputs"]
    return {
        "stack_identity": [place["stack_id"]],
        "resource_name": _names(ground, place),
        "config_id": [one["id"] for one in configs],
        "deployment_id": [one["id"] for one in deployments],
        "server_id": sorted({one["server_id"] for one in deployments}),
        "event_id": [],
        "snapshot_id": [one["id"] for one in snapshots],
        "output_key": [one["output_key"] for one in outputs],
        "number": ["1", "2"],
        "other": ["1", "2"],
        "type_name": ["OS::Heat::Value"],
        "template_version": ["heat_template_version.2021-04-16"],
    }
