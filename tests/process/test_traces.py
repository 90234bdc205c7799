"""Traces in a collector: from the request through the database and an engine to the cloud."""

import contextlib
import gzip
import http.server
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.conftest import drop_database, fresh_database
from tests.crash.processes import Client, Cloud, Hearth, until

CHILD = """
heat_template_version: 2021-04-16
resources:
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
"""
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  child: {type: child.yaml, depends_on: net}
"""
CLIENT, SERVER, INTERNAL = 3, 2, 1


@dataclass
class Received:
    """The spans that the collector has received, and who answers it."""

    spans: list[Any] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    status: int = 200


@contextlib.contextmanager
def collector() -> Iterator[tuple[str, Received]]:
    """A collector; its URL."""
    received = Received()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                raw = gzip.decompress(raw)
            assert self.path == "/v1/traces"
            told = ExportTraceServiceRequest.FromString(raw)
            for one in told.resource_spans:
                names = {a.key: a.value.string_value for a in one.resource.attributes}
                received.services.add(names["service.name"])
                for scope in one.scope_spans:
                    received.spans.extend(scope.spans)
            self.send_response(received.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def site(folder: Path, endpoint: str, *more: str) -> Iterator[Client]:
    """An API process and an engine that send traces; a client of them."""
    with contextlib.ExitStack() as ends:
        url, name = fresh_database("postgresql")
        ends.callback(drop_database, "postgresql", name)
        cloud = Cloud()
        ends.callback(cloud.close)
        processes = []
        for role in ("api", "engine"):
            one = Hearth(folder / role, cloud, database=url, role=role)
            conf = folder / role / "hearth.conf"
            lines = "\n".join([f"trace_endpoint = {endpoint}", *more])
            conf.write_text(f"{conf.read_text()}\n[hearth]\n{lines}\n")
            ends.callback(one.close)
            one.start()
            processes.append(one)
        client = Client(cloud, processes[0].url)
        ends.callback(client.close)
        yield client


def create(client: Client, name: str, traceparent: str) -> str:
    body = {"stack_name": name, "template": TEMPLATE, "files": {"child.yaml": CHILD}}
    reply = requests.post(
        f"{client.base}/stacks", json={**body, "timeout_mins": 5}, timeout=30,
        headers={"X-Auth-Token": client.token, "traceparent": traceparent},
    )  # fmt: skip
    assert reply.status_code == 201, reply.text
    ident = str(reply.json()["stack"]["id"])
    until("the create", lambda: client.state(name, ident)[0] == "CREATE_COMPLETE", 60)
    return ident


@pytest.mark.slow
def test_one_trace_has_the_request_the_operations_the_resources_and_the_calls(tmp_path: Path):
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    with collector() as (endpoint, received):
        with site(tmp_path, endpoint) as client:
            ident = create(client, "traced", f"00-{trace}-{span}-01")
            create(client, "silent", f"00-{'1' * 32}-{span}-00")
            client.delete("traced", ident)
            gone = ("GONE", "DELETE_COMPLETE")
            until("the delete", lambda: client.state("traced", ident)[0] in gone, 60)
        spans = [one for one in received.spans if one.trace_id.hex() == trace]
        assert received.services == {"hearth"}
        deletes = {one.name for one in received.spans if one.trace_id.hex() != trace}
    assert {"stack DELETE", "OS::Neutron::Net cleanup", "OS::Cinder::Volume cleanup"} <= deletes
    names = {one.name for one in spans}
    by_kind = {kind: {one.name for one in spans if one.kind == kind} for kind in (1, 2, 3)}
    assert by_kind[SERVER] == {"POST /v1/{tenant_id}/stacks"}
    assert {"stack CREATE", "OS::Neutron::Net update", "OS::Cinder::Volume update"} <= names
    assert {"POST network", "POST block-storage"} <= by_kind[CLIENT]
    ids = {one.span_id.hex() for one in spans}
    assert len(ids) == len(spans)
    assert {one.parent_span_id.hex() for one in spans} <= ids | {span}
    (request,) = (one for one in spans if one.kind == SERVER)
    assert request.parent_span_id.hex() == span
    call = next(one for one in spans if one.name == "POST network")
    resource = next(one for one in spans if one.name == "OS::Neutron::Net update")
    assert call.parent_span_id == resource.span_id
    assert resource.start_time_unix_nano <= call.start_time_unix_nano
    assert call.end_time_unix_nano <= resource.end_time_unix_nano
    assert not [one for one in received.spans if one.trace_id.hex() == "1" * 32]  # not sampled


@pytest.mark.slow
def test_a_collector_that_is_away_or_refuses_disturbs_nobody(tmp_path: Path):
    with site(tmp_path, "http://127.0.0.1:1", "trace_share = 1.0") as client:
        create(client, "one", f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("trace_endpoint = collector:4318", "expected a URL with http, got collector:4318"),
        ("trace_endpoint = http://c\ntrace_share = 2", "trace_share"),
    ],
)
@pytest.mark.slow
def test_a_wrong_setting_is_named(tmp_path: Path, line: str, told: str):
    cloud = Cloud()
    with contextlib.closing(cloud):
        one = Hearth(tmp_path / "h", cloud, role="api")
        conf = tmp_path / "h" / "hearth.conf"
        conf.write_text(f"{conf.read_text()}\n[hearth]\n{line}\n")
        with pytest.raises(AssertionError, match=told):
            one.start()
        one.close()
