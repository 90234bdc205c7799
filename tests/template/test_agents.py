"""A software deployment needs a server whose agent asks for it."""

import pytest
import yaml

from hearth.model.problem import Notice
from hearth.resources.registry import default_catalog
from hearth.template import NOWHERE, Environment, compile_template
from hearth.template.check import examine
from hearth.template.compile import draft_template
from hearth.template.load import load

NOVA = {"image": "cirros", "flavor": "m1.tiny", "networks": [{"network": "private"}]}
EC2 = {"ImageId": "cirros", "InstanceType": "m1.tiny"}
IT = {"get_resource": "web"}


def template(server, deployment, **more):
    resources = {"web": server, "deploy": deployment}
    return yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": resources, **more})


def nova(**more):
    return {"type": "OS::Nova::Server", "properties": {**NOVA, **more}}


def deployment(server=IT, kind="OS::Heat::SoftwareDeployment", prop="server"):
    return {"type": kind, "properties": {"config": "c", prop: server}}


def of_many(servers, kind="OS::Heat::SoftwareDeploymentGroup"):
    return deployment(servers, kind, "servers")


def refused(text, **parameters):
    """The places and the texts of the problems that a create would have, and those of lint."""
    known = {"files": {}, "environment": Environment(), "catalog": default_catalog()}
    program = compile_template(text, **known).specialise(parameters, stack_name="s")
    created = program.check_values(NOWHERE).problems
    found = examine(draft_template(load(text), parsed={}, file="t", **known))
    linted = [one for one in found if not isinstance(one, Notice)]
    return [[(one.at.path, one.text) for one in problems] for problems in (created, linted)]


@pytest.mark.parametrize(
    ("server", "deploy", "place"),
    [
        (nova(), deployment(), "server"),
        (nova(user_data_format="RAW"), deployment(), "server"),
        (nova(), deployment(kind="OS::Heat::StructuredDeployment"), "server"),
        (nova(), of_many({"a": IT, "b": "elsewhere"}), "servers.a"),
        (nova(), of_many({"a": IT}, "OS::Heat::StructuredDeploymentGroup"), "servers.a"),
        (nova(), of_many({"a": IT}, "OS::Heat::SoftwareDeployments"), "servers.a"),
        ({"type": "AWS::EC2::Instance", "properties": EC2}, deployment(), "server"),
    ],
)
def test_a_server_without_an_agent_is_refused(server, deploy, place):
    created, linted = refused(template(server, deploy))
    assert created == linted
    ((at, words),) = created
    assert at == f"resources.deploy.properties.{place}"
    assert words.startswith('"web" gets no software deployments: ')
    assert "expected" in words
    assert "SOFTWARE_CONFIG" in words


@pytest.mark.parametrize(
    ("server", "deploy"),
    [
        (nova(user_data_format="SOFTWARE_CONFIG"), deployment()),
        (nova(user_data_format="SOFTWARE_CONFIG"), of_many({"a": IT})),
        ({"type": "OS::Heat::DeployedServer"}, deployment()),
        (nova(), deployment("another-server")),
        (nova(), of_many({"a": "another-server"})),
        ({**nova(), "external_id": "abc"}, deployment()),
        ({"type": "OS::Heat::Value", "properties": {"value": "an id"}}, deployment()),
    ],
)
def test_any_other_server_may_have_an_agent(server, deploy):
    assert refused(template(server, deploy)) == [[], []]


def test_only_the_value_decides_where_a_parameter_gives_the_format():
    text = template(
        nova(user_data_format={"get_param": "form"}),
        deployment(),
        parameters={"form": {"type": "string"}},
    )
    assert refused(text, form="SOFTWARE_CONFIG") == [[], []]
    created, linted = refused(text, form="RAW")
    assert [place for place, _ in created] == ["resources.deploy.properties.server"]
    assert linted == []
