"""What the demo brings along, and what it reads of answers."""

import pytest

from hearth.cli.demo.client import AGENT, FILES, ROOT, SANDBOX, outputs_of, request_body, text_of
from hearth.cli.demo.dev_server import READY, DemoFailed
from hearth.template import load


def test_the_templates_come_with_the_package_and_can_be_read():
    for name in (ROOT, *FILES):
        assert "heat_template_version" in load(text_of(name), name).plain()
    body = request_body("update.yaml")
    assert set(body["files"]) == {*FILES, AGENT, "update.yaml"}
    assert "release" in body["files"]["update.yaml"]
    assert request_body("env.yaml", servers_run=True)["environment_files"] == ["env.yaml", SANDBOX]


def test_an_output_that_could_not_be_had_is_trouble():
    good = {"output_key": "a", "output_value": 1}
    assert outputs_of({"outputs": [good]}) == {"a": 1}
    with pytest.raises(DemoFailed, match="no such thing"):
        outputs_of({"outputs": [good, {"output_key": "b", "output_error": "no such thing"}]})


def test_the_ready_line_says_where_everything_is():
    line = (
        "hearth is ready: orchestration http://127.0.0.1:1/v1, cloud http://127.0.0.1:2, "
        "identity http://127.0.0.1:2/identity/v3; clients: . /tmp/with space/openrc\n"
    )
    found = READY.search(line)
    assert found is not None
    assert found["identity"] == "http://127.0.0.1:2/identity/v3"
    assert found["openrc"] == "/tmp/with space/openrc"
