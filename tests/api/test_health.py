"""A mark of health is seen by who asks next, also while the stack is worked on."""

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  there: {type: OS::Heat::TestResource}
  slow:
    type: OS::Heat::TestResource
    depends_on: there
    properties: {action_wait_secs: {create: 30}}
"""


def test_a_mark_is_there_when_its_request_is_answered(api: Caller):
    reply = api.call("POST", "/stacks", {"stack_name": "health", "template": TEMPLATE})
    path = f"/stacks/health/{reply.json()['stack']['id']}"
    begun = "?name=slow&status=IN_PROGRESS"
    while not api.call("GET", f"{path}/resources{begun}").json()["resources"]:
        pass
    for state in ("CHECK_FAILED", "CHECK_COMPLETE") * 10:
        mark = {"mark_unhealthy": state == "CHECK_FAILED"}
        assert api.call("PATCH", f"{path}/resources/there", mark).status_code == 200
        shown = api.call("GET", f"{path}/resources/there").json()["resource"]
        assert shown["resource_status"] == state
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
