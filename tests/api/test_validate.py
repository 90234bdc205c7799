"""Validation and preview: what a template declares, and what its resources would be."""

import json

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

V = "heat_template_version: 2021-04-16\n"
TEMPLATE = (
    f"{V}parameters:\n"
    "  s: {type: string, constraints: [{allowed_values: [a]}]}\n"
    "  h: {type: string, hidden: true}\n"
    "  m: {type: number}\n"
    "resources: {n: {type: My::Kid, properties: {p: 1}}, d: {type: kid.yaml}}\n"
)
KID = f"{V}parameters: {{p: {{type: number, default: 2}}}}\n"
NET = {"get_resource": "net"}
ENVIRONMENT = {
    "parameters": {"s": "no such", "h": "s3cret"},
    "parameter_defaults": {"p": 3},
    "resource_registry": {"My::Kid": "kid.yaml"},
}


def test_validation_takes_any_value_and_shows_the_environment(api: Caller):
    body = {"template": TEMPLATE, "environment": ENVIRONMENT, "files": {"kid.yaml": KID}}
    reply = api.call("POST", "/validate", body)
    assert reply.status_code == 200, reply.text
    shown = reply.json()
    assert shown["Parameters"]["s"]["Value"] == "no such"
    assert shown["Environment"] == {
        "parameters": {"s": "no such", "h": "******"},
        "parameter_defaults": {"p": 3},
        "resource_registry": {"My::Kid": "kid.yaml", "kid.yaml": "kid.yaml", "resources": {}},
        "event_sinks": [],
    }
    assert "s3cret" not in reply.text


def test_validation_shows_what_lies_in_environment_files(api: Caller):
    files = {"a.yaml": "parameters: {m: 1}\n", "b.yaml": "parameters: {m: 2}\n"}
    body = {"template": f"{V}parameters: {{m: {{type: number}}}}\n", "files": files}
    shown = api.call("POST", "/validate", {**body, "environment_files": ["a.yaml", "b.yaml"]})
    assert shown.json()["Environment"]["parameters"] == {"m": 2}
    assert shown.json()["Parameters"]["m"]["Value"] == 2


def test_a_preview_shows_every_property_of_a_resource(api: Caller):
    template = f"{V}resources: {{r: {{type: OS::Heat::RandomString, properties: {{length: 5}}}}}}\n"
    body = {"stack_name": "foreseen", "template": template}
    (shown,) = api.call("POST", "/stacks/preview", body).json()["stack"]["resources"]
    declared = api.call("GET", "/resource_types/OS::Heat::RandomString").json()["properties"]
    assert set(shown["properties"]) == {*declared, "sequence"}  # a hidden one is shown here alone
    assert shown["properties"]["length"] == 5
    assert shown["properties"]["salt"] is None


def test_validation_can_tell_everything_that_lint_finds(api: Caller):
    template = (
        f"{V}parameters: {{p: {{type: string}}}}\n"
        "resources:\n  r:\n    type: OS::Heat::RandomString\n    properties: {lenght: 8}\n"
        "  k: {type: kid.yaml, properties: {p: []}}\n"
    )
    files = {"kid.yaml": KID, "unread.sh": "#!/bin/sh\n"}
    body = {"template": template, "files": files}
    reply = api.call("POST", "/validate?show_findings=true", body)
    assert reply.status_code == 200, reply.text
    told = [
        (one["file"], one["line"], one["column"], one["code"], one["severity"], one["suggestion"])
        for one in reply.json()["Findings"]
    ]
    assert told == [
        ("template", 6, 18, "unknown-property", "error", "length"),
        ("template", 7, 39, "wrong-type", "error", None),
        ("template", 2, 14, "unused-parameter", "warning", None),
        ("unread.sh", 1, 1, "unused-file", "warning", None),
    ]


def test_what_is_no_template_is_a_finding_too(api: Caller):
    reply = api.call("POST", "/validate?show_findings=true", {"template": "{"})
    (one,) = reply.json()["Findings"]
    assert (one["code"], one["line"]) == ("syntax", 2)


@pytest.mark.parametrize("path", ["/validate", "/validate?show_nested=true", "/stacks/preview"])
def test_half_a_character_in_a_template_of_json_is_refused(api: Caller, path: str):
    template = '{"heat_template_version": "2021-04-16", "description": "\\ud83d"}'
    parent = f"{V}resources: {{k: {{type: kid.template}}}}\n"
    for body in ({"template": template}, {"template": parent, "files": {"kid.template": template}}):
        reply = api.call("POST", path, {"stack_name": "no", **body})
        assert reply.status_code == 400, reply.text
        assert "invalid Unicode character escape code" in reply.text


def test_a_preview_is_of_a_stack_that_has_no_id_and_gives_those_below_names(api: Caller):
    template = f"{V}resources: {{k: {{type: mid.yaml}}}}\n"
    middle = f"{V}resources: {{m: {{type: kid.yaml}}}}\n"
    kid = f"{V}resources: {{q: {{type: OS::Heat::RandomString}}}}\n"
    files = {"mid.yaml": middle, "kid.yaml": kid}
    body = {"stack_name": "foreseen", "template": template, "files": files}
    shown = api.call("POST", "/stacks/preview", body).json()["stack"]
    assert shown["parameters"]["OS::stack_id"] == shown["id"] == "None"
    (((leaf,),),) = shown["resources"]
    assert leaf["stack_name"] == leaf["stack_identity"]["stack_name"] == "foreseen-k-m"
    assert leaf["stack_identity"]["stack_id"] == leaf["resource_identity"]["stack_id"] == "None"
    assert leaf["parent_resource"] == "m"
    assert leaf["attributes"] == {"value": None}


def test_a_parameter_that_is_missing_is_told_as_programs_know_it(api: Caller):
    template = (
        f"{V}resources: {{q: {{type: OS::Heat::Value, properties: {{value: {{get_param: x}}}}}}}}\n"
    )
    reply = api.call("POST", "/stacks/preview", {"stack_name": "no", "template": template})
    assert reply.status_code == 400
    words = "Property error: : resources.q.properties.value: : The Parameter (x) was not provided."
    assert reply.json()["error"]["message"].startswith(f"{words} [template:2:")
    assert reply.json()["error"]["type"] == "StackValidationFailed"


def test_validation_lets_a_property_too_many_pass_below_and_creation_does_not(api: Caller):
    middle = f"{V}resources: {{m: {{type: kid.yaml, properties: {{other: 1}}}}}}\n"
    template = f"{V}resources: {{n: {{type: mid.yaml}}}}\n"
    files = {"mid.yaml": middle, "kid.yaml": KID}
    body = {"template": template, "files": files}
    reply = api.call("POST", "/validate?show_nested=true", body)
    assert reply.status_code == 200, reply.text
    inner = reply.json()["NestedParameters"]["n"]["NestedParameters"]["m"]
    assert list(inner["Parameters"]) == ["p"]
    assert api.call("POST", "/stacks", {"stack_name": "no", **body}).status_code == 400
    outer = {"template": middle, "files": files}
    assert api.call("POST", "/validate", outer).status_code == 400


def test_a_create_preview_shows_what_is_known_before_anything_is_made(api: Caller):
    template = f"""{V}
parameters: {{p: {{type: string, default: x}}, key: {{type: string, default: k, hidden: true}}}}
resources:
  v: {{type: OS::Heat::Value, properties: {{value: {{get_param: p}}}}}}
  m: {{type: OS::Heat::Value, properties: {{value: {{a: [b, {{get_param: p}}]}}}}}}
  w: {{type: OS::Heat::Value, properties: {{value: {{get_attr: [v, value]}}}}}}
  s: {{type: OS::Heat::Value, properties: {{value: {{get_param: key}}}}}}
  r: {{type: OS::Heat::RandomString}}
outputs:
  value: {{value: {{get_attr: [v, value]}}}}
  inside: {{value: {{list_join: ["-", ["1", {{get_attr: [m, value, a, 1]}}]]}}}}
  nowhere: {{value: {{get_attr: [m, value, b]}}}}
  of_another: {{value: {{get_attr: [w, value]}}}}
  hidden: {{value: {{get_attr: [s, value]}}}}
  in_hidden: {{value: {{str_split: ["*", {{get_attr: [s, value]}}]}}}}
  text: {{value: {{list_join: ["-", [a, {{get_param: p}}]]}}}}
  name: {{value: {{get_resource: v}}}}
  later: {{value: {{get_attr: [r, value]}}}}
  wrong: {{value: {{get_param: nobody}}}}
"""
    body = {"stack_name": "foreseen", "template": template}
    stack = api.call("POST", "/stacks/preview", body).json()["stack"]
    outputs = {one["output_key"]: one for one in stack["outputs"]}
    assert {name: one.get("output_value") for name, one in outputs.items()} == {
        "value": "x",
        "inside": "1-x",
        "nowhere": None,
        "of_another": None,  # it needs another resource
        "hidden": None,
        "in_hidden": None,
        "text": "a-x",
        "name": "v",
        "later": None,
        "wrong": None,
    }
    assert "nobody" in outputs["wrong"]["output_error"]
    shown = {one["resource_name"]: one["attributes"] for one in stack["resources"]}
    assert shown["v"]["value"] == "x"
    assert shown["s"]["value"] == "******"
    assert shown["r"]["value"] is None


def test_a_create_preview_of_a_long_chain_of_values_ends(api: Caller):
    kind = "type: OS::Heat::Value, properties"
    links = "".join(
        f"  v{n}: {{{kind}: {{value: {{get_attr: [v{n - 1}, value]}}}}}}\n" for n in range(1, 500)
    )
    template = (
        f"{V}\nresources:\n  v0: {{type: OS::Heat::Value, properties: {{value: x}}}}\n{links}"
        "outputs:\n  first: {value: {get_attr: [v0, value]}}\n"
        "  last: {value: {get_attr: [v499, value]}}\n"
    )
    shown = api.call("POST", "/stacks/preview", {"stack_name": "chain", "template": template})
    found = {one["output_key"]: one["output_value"] for one in shown.json()["stack"]["outputs"]}
    assert found == {"first": "x", "last": None}


def test_an_update_preview_with_converge_says_what_one_without_says(api: Caller):
    template = (
        f"{V}resources:\n  a: {{type: OS::Heat::Value, properties: {{value: 1}}}}\n"
        "  n: {type: OS::Heat::None}\n"
        "  t: {type: OS::Heat::TestResource, properties: {value: {get_attr: [a, value]}}}\n"
        "  r: {type: OS::Heat::RandomString, properties: {salt: {get_resource: t}}}\n"
    )
    path = api.create("converged", template)
    for changed in (template, template.replace("value: 1", "value: 2")):
        body = {"template": changed}
        plain = api.call("PUT", f"{path}/preview", body).json()["resource_changes"]
        looked = api.call("PUT", f"{path}/preview", {**body, "converge": True}).json()
        names = {
            group: sorted(one["resource_name"] for one in found)
            for group, found in looked["resource_changes"].items()
        }
        assert names == {
            group: sorted(one["resource_name"] for one in found) for group, found in plain.items()
        }
        if changed == template:
            assert names["unchanged"] == ["a", "n", "r", "t"]
    api.call("DELETE", path)


def test_all_mistakes_of_different_kinds_are_told_in_one_answer(api: Caller):
    template = (
        f"{V}parameters: {{size: {{type: number, default: 1}}}}\nresources:\n"
        "  a:\n    type: OS::Heat::RandomString\n    properties:\n      lenght: 8\n"
        "  b:\n    type: OS::Heat::RandomString\n    properties:\n"
        "      length: {get_param: siez}\n"
        "  c:\n    type: OS::Heat::Value\n    properties:\n"
        "      value: {get_attr: [nobody, value]}\n"
        "  d:\n    type: OS::Heat::RandomString\n    properties:\n      length: many\n"
    )
    reply = api.call("POST", "/stacks", {"stack_name": "wrong", "template": template})
    assert reply.status_code == 400
    text = reply.text
    for word in ("lenght", "siez", "nobody", "many"):
        assert word in text, word
    assert text.count("lenght") == 1


QUANTUM = "OS::Quantum::Net"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, {QUANTUM: "OS::Neutron*"}),
        ({"OS::Other": "OS::Heat::None"}, {QUANTUM: "OS::Neutron*", "OS::Other": "OS::Heat::None"}),
        ({QUANTUM: "OS::Heat::None"}, {QUANTUM: "OS::Heat::None"}),
        ({QUANTUM: "OS::Neutron*"}, {QUANTUM: "OS::Neutron*"}),  # as it was shown
    ],
)
def test_an_environment_shows_how_the_types_were_found(api: Caller, given, shown):
    """Recorded, but for the third: there the original puts its own entry over the one sent."""
    template = f"{V}resources: {{n: {{type: {QUANTUM}}}}}\n"
    body = {"template": template, "environment": {"resource_registry": given}}
    reply = api.call("POST", "/validate", body)
    assert reply.status_code == 200, reply.text
    assert reply.json()["Environment"]["resource_registry"] == {"resources": {}, **shown}
    path = api.create(f"found-by-{len(given)}-{len(str(given))}", **body)
    kept = api.call("GET", f"{path}/environment").json()
    assert kept["resource_registry"] == {"resources": {}, **shown}
    assert api.call("DELETE", path).status_code == 204


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        ("heat_template_version: 2021-04-61\n", "InvalidTemplateVersion"),
        (f"{V}parameters: {{p: {{type: strin}}}}\n", "InvalidSchemaError"),
        (
            f"{V}resources: {{r: {{type: OS::Heat::None, depends_on: x}}}}\n",
            "InvalidTemplateReference",
        ),
        (
            f"{V}resources:\n  a: {{type: OS::Heat::None, depends_on: b}}\n"
            "  b: {type: OS::Heat::None, depends_on: a}\n",
            "CircularDependencyException",
        ),
        (f"{V}resources: {{r: {{type: OS::No::Such}}}}\n", "HTTPBadRequest"),
        (f"{V}nonsense: 1\n", "HTTPBadRequest"),
        (f"{V}resources: {{r: {{}}}}\n", "HTTPBadRequest"),
    ],
)
def test_a_validation_is_refused_with_the_type_that_a_create_has(api: Caller, template: str, kind):
    """Recorded: only StackValidationFailed, for there is no stack, is a bad request."""
    reply = api.call("POST", "/validate", {"template": template})
    assert (reply.status_code, reply.json()["error"]["type"]) == (400, kind)
    reply = api.call("POST", "/stacks", {"stack_name": "no", "template": template})
    expected = "StackValidationFailed" if kind == "HTTPBadRequest" else kind
    assert (reply.status_code, reply.json()["error"]["type"]) == (400, expected)


BROKEN = "{list_join: x}"


@pytest.mark.parametrize(
    ("resource", "refused"),
    [
        (f"properties: {{value: {BROKEN}}}", True),
        (f"metadata: {{m: [{BROKEN}]}}", True),
        (f"deletion_policy: {BROKEN}", True),
        ("depends_on: {a: 1}", True),
        ("propertis: {}", True),
        (f"properties: {{value: {{if: [c, {BROKEN}, 1]}}}}", False),
        ("properties: {value: {get_resource: x}}", False),
        ("properties: {vaule: 1}", False),
    ],
)
def test_what_cannot_be_understood_counts_in_a_disabled_resource_too(
    api: Caller, resource: str, refused: bool
):
    """Recorded: what a name leads to counts only where the resource is there."""
    template = (
        f"{V}conditions: {{c: {{equals: [1, 2]}}}}\n"
        f"resources:\n  r: {{type: OS::Heat::Value, condition: c, {resource}}}\n"
    )
    reply = api.call("POST", "/validate", {"template": template})
    assert reply.status_code == (400 if refused else 200), reply.text
    reply = api.call("POST", "/stacks/preview", {"stack_name": "no", "template": template})
    assert reply.status_code == (400 if refused else 200), reply.text


@pytest.mark.parametrize("path", ["/stacks", "/stacks/preview"])
def test_a_deployment_that_no_agent_would_ask_for_is_refused(api: Caller, path: str):
    template = (
        f"{V}resources:\n"
        "  web:\n"
        "    type: OS::Nova::Server\n"
        "    properties: {image: cirros, flavor: m1.tiny, networks: [{network: private}]}\n"
        "  config: {type: OS::Heat::SoftwareConfig, properties: {config: echo}}\n"
        "  deploy:\n"
        "    type: OS::Heat::SoftwareDeployment\n"
        "    properties: {server: {get_resource: web}, config: {get_resource: config}}\n"
    )
    reply = api.call("POST", path, {"stack_name": "deaf", "template": template})
    assert reply.status_code == 400, reply.text
    error = reply.json()["error"]
    assert error["type"] == "StackValidationFailed"
    assert "its user_data_format is HEAT_CFNTOOLS, expected SOFTWARE_CONFIG" in error["message"]
    assert api.call("GET", "/stacks/deaf").status_code == 404


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        ({}, "PropertyUnspecifiedError"),
        ({"cidr": "192.0.2.0/24", "prefixlen": 24}, "ResourcePropertyConflict"),
        ({"cidr": "192.0.2.0/24", "network_id": NET}, "ResourcePropertyConflict"),
    ],
)
def test_a_rule_about_several_properties_has_an_error_of_its_own(api: Caller, properties, error):
    subnet = {"type": "OS::Neutron::Subnet", "properties": {"network": NET, **properties}}
    resources = {"net": {"type": "OS::Neutron::Net"}, "r": subnet}
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    body = {"stack_name": "several", "template": template}
    refused = api.call("POST", "/stacks/preview", body).json()["error"]
    assert refused["type"] == error
    assert "resources.r.properties: " in refused["message"]

    parent = {**template, "resources": {"r": {"type": "kid.yaml"}}}
    files = {"kid.yaml": json.dumps(template)}
    above = api.call("POST", "/stacks/preview", {**body, "template": parent, "files": files})
    assert above.json()["error"]["type"] == "StackValidationFailed"
    assert above.json()["error"]["message"].startswith(f"{error}: resources.r<kid.yaml>.")


@pytest.mark.parametrize(
    ("kind", "properties", "words"),
    [
        ("OS::Cinder::Volume", {"name": "of-nothing"}, "one of size, backup_id, snapshot_id"),
        ("OS::Nova::Server", {"flavor": "m1.tiny"}, "one of image, block_device_mapping"),
        (
            "OS::Nova::Server",
            {"flavor": "m1.tiny", "image": "cirros", "networks": [{}]},
            "networks[0]: one of network, port, subnet and allocate_network",
        ),
        ("AWS::EC2::EIPAssociation", {"InstanceId": "any"}, "one of EIP and AllocationId"),
        (
            "AWS::AutoScaling::LaunchConfiguration",
            {"InstanceType": "m1.tiny"},
            "one of InstanceId and ImageId",
        ),
        (
            "AWS::AutoScaling::AutoScalingGroup",
            {"MinSize": 1, "MaxSize": 1, "AvailabilityZones": ["nova"]},
            "one of LaunchConfigurationName and InstanceId",
        ),
        ("OS::Designate::Zone", {"name": "a.org.", "type": "SECONDARY"}, "primaries and masters"),
        (
            "OS::Trove::Instance",
            {"flavor": "m1.tiny", "size": 1, "networks": [{}]},
            "networks[0]: one of network and port",
        ),
    ],
)
def test_some_rules_have_the_error_that_heat_gives_them(api: Caller, kind, properties, words):
    resource = {"type": kind, "properties": properties}
    template = {"heat_template_version": "2021-04-16", "resources": {"r": resource}}
    body = {"stack_name": "rules", "template": template}
    refused = api.call("POST", "/stacks/preview", body).json()["error"]
    assert refused["type"] == "StackValidationFailed"
    assert words in refused["message"]


@pytest.mark.parametrize(("value", "words"), [("text", "is not a list"), (None, "is null")])
def test_a_policy_without_a_list_is_told_so(api: Caller, value, words):
    policy = {"type": "OS::Heat::AccessPolicy", "properties": {"AllowedResources": value}}
    template = {"heat_template_version": "2021-04-16", "resources": {"r": policy}}
    body = {"stack_name": "policy", "template": template}
    refused = api.call("POST", "/stacks/preview", body).json()["error"]
    assert refused["type"] == "StackValidationFailed"
    assert refused["message"].startswith("Property error: resources.r.properties.AllowedResources")
    assert refused["message"].endswith(words)


@pytest.mark.parametrize("member", [{}, {"properties": {}}])
def test_a_group_whose_members_have_no_type_is_refused(api: Caller, member):
    properties = {"min_size": 1, "max_size": 2, "resource": member}
    group = {"type": "OS::Heat::AutoScalingGroup", "properties": properties}
    template = {"heat_template_version": "2021-04-16", "resources": {"r": group}}
    refused = api.call("POST", "/stacks/preview", {"stack_name": "members", "template": template})
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "StackValidationFailed")
    assert "resources.r" in refused.json()["error"]["message"]
