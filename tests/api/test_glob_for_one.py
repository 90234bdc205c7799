"""A wildcard for one resource in the environment: the stack works and can be shown."""

from tests.api.conftest import Caller

CHILD = "{heat_template_version: 2018-08-31, outputs: {o: {value: 1}}}"
TEMPLATE = """
heat_template_version: 2018-08-31
resources: {web: {type: "My::Thing"}}
outputs: {o: {value: {get_attr: [web, o]}}}
"""
REGISTRY = {"My::Thing": "one.yaml", "resources": {"web": {"My::*": "two.yaml"}}}


def test_a_stack_with_a_wildcard_for_one_resource_can_be_shown(api: Caller) -> None:
    path = api.create(
        "glob-for-one",
        TEMPLATE,
        files={"one.yaml": CHILD, "two.yaml": CHILD},
        environment={"resource_registry": REGISTRY},
    )
    shown = api.call("GET", path).json()["stack"]
    assert [one["output_value"] for one in shown["outputs"]] == [1]
    assert api.call("GET", f"{path}/outputs/o").json()["output"]["output_value"] == 1
    (web,) = api.call("GET", f"{path}/resources").json()["resources"]
    found = api.call("GET", f"/stacks/{web['physical_resource_id']}")
    child = api.call("GET", found.headers["Location"]).json()["stack"]
    assert child["stack_status"] == "CREATE_COMPLETE"
