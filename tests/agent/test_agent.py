"""The agent by itself: hooks, reports, signatures and documents, with a service that listens."""

import ast
import json
import os
import stat
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.agent import agent as module
from hearth.agent.agent import Agent, Http, Unavailable

SOURCE = Path(module.__file__)


class Service:
    """An HTTP server that answers from a list and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, Any, dict[str, str]]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                service.asked.append((self.command, self.path, json.loads(raw) if raw else None))
                service.headers.append({k.lower(): v for k, v in self.headers.items()})
                status, body, headers = service.answers.pop(0) if service.answers else (200, {}, {})
                content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        for verb in ("GET", "POST", "PUT", "DELETE"):
            setattr(Handler, f"do_{verb}", Handler._answer)
        Handler.log_message = lambda *_: None  # type: ignore[method-assign]
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def token(self, *types: str) -> tuple[int, Any, dict[str, str]]:
        """The answer of Keystone with a catalog of these services."""
        there = {"interface": "public", "region_id": "r1", "url": self.url + "/there"}
        elsewhere = {"interface": "public", "region_id": "r0", "url": "http://127.0.0.1:9"}
        catalog = [{"type": one, "endpoints": [elsewhere, there]} for one in types]
        return 201, {"token": {"catalog": catalog}}, {"X-Subject-Token": "t"}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    one = Service()
    yield one
    one.close()


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(str(tmp_path), Http(pause=lambda _: None))


def config(text: Any = "", group: str = "script", **inputs: Any) -> dict[str, Any]:
    listed = [{"name": name, "type": "Json", "value": value} for name, value in inputs.items()]
    outputs = [{"name": "result"}]
    return {
        "id": "c-1", "name": "one", "group": group, "config": text, "inputs": listed,
        "outputs": outputs,
    }  # fmt: skip


def results(agent: Agent, name: str = "c-1") -> Any:
    return json.loads(Path(agent.path(module.DEPLOYED, f"{name}.notify.json")).read_text())


# the file


def test_it_is_one_file_of_old_python_and_its_standard_library():
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 7))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported <= set(sys.stdlib_module_names)
    later = {"removeprefix", "removesuffix", "unparse", "math_prod", "cached_property"}
    assert not later & {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


# hooks


def test_a_script_gets_its_inputs_and_gives_its_outputs(agent: Agent):
    text = '#!/bin/sh\necho "$a $b"; echo no >&2; printf x > "$heat_outputs_path.result"; exit 4\n'
    agent.run(config(text, a="red", b={"k": [1]}))
    assert results(agent) == {
        "result": "x", "deploy_stdout": 'red {"k": [1]}\n', "deploy_stderr": "no\n",
        "deploy_status_code": 4,
    }  # fmt: skip


def test_a_configuration_runs_once_even_if_it_was_interrupted(agent: Agent, tmp_path: Path):
    text = f"#!/bin/sh\necho run >> {tmp_path}/runs\n"
    agent.run(config(text))
    agent.run(config(text))
    recorded = Path(agent.path(module.DEPLOYED, "c-1.json"))
    assert stat.S_IMODE(recorded.stat().st_mode) == 0o600
    Path(agent.path(module.DEPLOYED, "c-1.notify.json")).unlink()  # killed before its end
    Agent(str(tmp_path)).run(config(text))
    assert (tmp_path / "runs").read_text() == "run\n"


def test_it_is_recorded_before_it_runs(agent: Agent):
    recorded = agent.path(module.DEPLOYED, "c-1.json")
    agent.run(config(f"#!/bin/sh\ntest -e {recorded} && echo there\n"))
    assert results(agent)["deploy_stdout"] == "there\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no interpreter", {"deploy_status_code": 1, "deploy_stdout": ""}),
        ("#!/bin/sh\nkill -9 $$\n", {"deploy_status_code": 137}),
        ("#!/bin/sh\nprintf '\\377'\n", {"deploy_stdout": "\ufffd", "deploy_status_code": 0}),
    ],
)
def test_whatever_a_script_does_there_are_results(agent: Agent, text: str, expected: dict):
    agent.run(config(text))
    assert results(agent).items() >= expected.items()


def test_a_daemon_that_a_script_leaves_does_not_hold_the_agent(agent: Agent, monkeypatch: Any):
    monkeypatch.setattr(module, "PIPES_S", 0.1)
    agent.run(config("#!/bin/sh\nsleep 3 &\necho done\n"))
    assert results(agent)["deploy_stdout"] == "done\n"


def test_of_long_output_the_end_is_kept(agent: Agent, monkeypatch: Any):
    monkeypatch.setattr(module, "OUTPUT_MAX", 1000)
    agent.run(config("#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x; echo end\n"))
    text = results(agent)["deploy_stdout"]
    assert (len(text), text[-5:]) == (1000, "xend\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat >/dev/null; echo '{\"result\": 1}'", {"result": 1}),
        ("echo plain; exit 2", {"deploy_stdout": "plain\n", "deploy_status_code": 2}),
        ("echo broken >&2; exit 5", {"deploy_stderr": "broken\n", "deploy_status_code": 5}),
        ("true", {}),
    ],
)
def test_an_executable_in_a_folder_of_hooks(agent: Agent, text: str, expected: dict):
    hook = Path(agent.path(module.HOOKS[1], "mine"))
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(0o755)
    agent.run(config("c", group="mi/ne"))  # only the letters count
    assert results(agent).items() >= expected.items()


def test_a_group_without_a_hook_is_left_and_tried_again(agent: Agent, capsys: Any):
    agent.run(config("c", group="nobody"))
    assert "no hook for the group nobody" in capsys.readouterr().err
    agent.run(config("c", group="os-apply-config"))
    assert capsys.readouterr().err == ""
    assert not os.path.exists(agent.path(module.DEPLOYED, "c-1.json"))


def test_a_component_runs_the_part_of_its_action(agent: Agent):
    parts = [
        {"actions": ["DELETE"], "config": "#!/bin/sh\necho bye\n", "tool": "script"},
        {"actions": ["CREATE"], "config": "#!/bin/sh\necho hello\n", "tool": "script"},
    ]
    agent.run(config({"configs": parts}, "component", deploy_action="SUSPEND"))
    assert not os.path.exists(agent.path(module.DEPLOYED, "c-1.json"))
    agent.run(config({"configs": parts}, "component", deploy_action="CREATE"))
    assert results(agent)["deploy_stdout"] == "hello\n"


def test_an_id_that_is_a_path_is_refused(agent: Agent):
    with pytest.raises(Unavailable):
        agent.run({**config("#!/bin/sh\n"), "id": "../../x"})


def test_a_broken_configuration_does_not_stop_the_next(agent: Agent):
    broken: list[Any] = [{"id": "a", "inputs": 7, "group": "script"}, None]
    agent.run_all({"deployments": [*broken, config("#!/bin/sh\necho fine\n")]})
    assert results(agent)["deploy_stdout"] == "fine\n"


# reports


def test_a_signal_goes_to_its_address_and_is_repeated(agent: Agent, service: Service):
    service.answers = [(503, {}, {}), (500, {}, {}), (200, {}, {})]
    inputs = {"deploy_signal_id": service.url + "/s?x=1", "deploy_signal_verb": "PUT"}
    module.notify(agent.http, inputs, {"result": "é"})
    assert service.asked == [("PUT", "/s?x=1", {"result": "é"})] * 3
    assert service.headers[0]["content-type"] == "application/json"


def test_a_refused_signal_is_not_repeated(agent: Agent, service: Service):
    service.answers = [(403, {}, {})]
    with pytest.raises(OSError, match="403"):
        module.notify(agent.http, {"deploy_signal_id": service.url}, {})
    assert len(service.asked) == 1


def test_a_signal_is_repeated_ten_times_at_most(agent: Agent):
    pauses: list[float] = []
    with pytest.raises(OSError, match="refused"):
        module.notify(Http(pauses.append), {"deploy_signal_id": "http://127.0.0.1:9/"}, {})
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


ACCESS = {
    "deploy_user_id": "u", "deploy_password": "p", "deploy_project_id": "q",
    "deploy_region_name": "r1", "deploy_stack_id": "web/1", "deploy_resource_name": "a b",
}  # fmt: skip


def test_a_signal_by_the_api_renews_its_token(agent: Agent, service: Service):
    token = service.token("orchestration")
    service.answers = [token, (401, {}, {}), token, (200, {}, {})]
    module.notify(agent.http, {**ACCESS, "deploy_auth_url": service.url}, {"r": 1})
    assert [one[:2] for one in service.asked] == [
        ("POST", "/v3/auth/tokens"),
        ("POST", "/there/stacks/web/1/resources/a%20b/signal"),
    ] * 2
    assert service.asked[-1][2] == {"r": 1}


def test_a_signal_by_a_queue(agent: Agent, service: Service):
    service.answers = [service.token("messaging"), (201, {}, {})]
    inputs = {**ACCESS, "deploy_auth_url": service.url + "/v3", "deploy_queue_id": "que"}
    module.notify(agent.http, inputs, {"r": 1})
    posted = {"messages": [{"body": {"r": 1}, "ttl": 600}]}
    assert service.asked[-1] == ("POST", "/there/v2/queues/que/messages", posted)


@given(
    st.dictionaries(
        st.sampled_from(["deploy_stdout", "deploy_stderr", "result"]),
        st.tuples(st.sampled_from(["a", "é", '"', "\0"]), st.integers(0, 3000)),
    )
)
def test_a_report_has_a_limit(drawn: dict[str, tuple[str, int]]):
    before = module.RESULTS_MAX
    module.RESULTS_MAX = 1000
    try:
        given = {name: char * times for name, (char, times) in drawn.items()}
        kept = module.bounded(given)
        assert len(json.dumps(kept)) <= 1000
        assert all(given[name].endswith(value) for name, value in kept.items())
        assert kept == given or len(json.dumps(given)) > 1000
    finally:
        module.RESULTS_MAX = before


# documents


def booted(agent: Agent, section: dict[str, Any]) -> None:
    module.write(agent.path(module.BOOT_DOCUMENT), json.dumps({"os-collect-config": section}))


def test_its_signature_is_that_of_the_reference_client():
    from keystoneclient.contrib.ec2.utils import Ec2Signer

    params = {"Action": "DescribeStackResource", "StackName": "a b~é", "SignatureVersion": "2"}
    params["SignatureMethod"] = "HmacSHA256"
    request = {"params": dict(params), "verb": "GET", "host": "h:8000", "path": "/v1/"}
    assert module.signature("GET", "http://H:8000/v1/", params, "key") == Ec2Signer("key").generate(
        request
    )


def test_a_transport_is_followed_at_once_and_after_a_restart(
    agent: Agent, service: Service, tmp_path: Path
):
    booted(agent, {"collectors": ["request"], "request": {"metadata_url": service.url + "/old"}})
    left = {"metadata_url": None}
    new = {"user_id": "u", "password": "p", "project_id": "q", "auth_url": service.url}
    new |= {"region_name": "r1", "stack_id": "web/1", "resource_name": "app"}
    section = {"collectors": ["ec2", "heat", "local"], "heat": new, "request": left}
    document = {"os-collect-config": section, "deployments": []}
    token = service.token("orchestration")
    service.answers = [(200, document, {}), token, (200, {"metadata": document}, {})]
    assert agent.poll()
    assert [path for _, path, _ in service.asked] == [
        "/old", "/v3/auth/tokens", "/there/stacks/web/1/resources/app/metadata",
    ]  # fmt: skip
    service.answers = [(200, {"metadata": document}, {})]
    assert not agent.poll()
    service.answers = [token, (200, {"metadata": document}, {})]
    Agent(str(tmp_path)).poll()
    assert service.asked[-2][1] == "/v3/auth/tokens"  # not the address of the boot document


def test_an_object_that_has_not_changed_is_not_read_again(agent: Agent, service: Service):
    section = {"collectors": ["request"], "request": {"metadata_url": service.url + "/o"}}
    booted(agent, section)
    document = {"os-collect-config": section, "deployments": []}
    service.answers = [(200, document, {"ETag": '"1"'}), (304, "", {})]
    assert agent.poll()
    assert not agent.poll()
    assert service.headers[-1]["if-none-match"] == '"1"'


@pytest.mark.parametrize("answer", [(500, {}, {}), (200, "no JSON", {})])
def test_a_service_that_fails_is_no_end(agent: Agent, service: Service, answer: Any):
    booted(agent, {"request": {"metadata_url": service.url + "/o?temp_url_sig=secret"}})
    service.answers = [answer]
    with pytest.raises(Unavailable) as failed:
        agent.poll()
    assert 'transport "request"' in str(failed.value)
    assert "secret" not in str(failed.value)


def test_the_folder_belongs_to_one_agent(agent: Agent):
    with module.alone(agent), pytest.raises(BlockingIOError):
        module.alone(agent)


def test_a_newer_boot_document_replaces_what_was_fetched(agent: Agent, service: Service):
    old, new = service.url + "/old", service.url + "/new"
    booted(agent, {"request": {"metadata_url": old}})
    os.utime(agent.path(module.BOOT_DOCUMENT), (1, 1))
    service.answers = [(200, {"os-collect-config": {"request": {"metadata_url": old}}, "a": 1}, {})]
    agent.poll()
    booted(agent, {"request": {"metadata_url": new}})
    os.utime(agent.path(module.BOOT_DOCUMENT), (2**32, 2**32))
    service.answers = [(503, {}, {})]
    with pytest.raises(Unavailable):
        agent.poll()
    assert service.asked[-1][1] == "/new"
