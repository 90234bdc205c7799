"""The graph of a stack from its resources and events: needs, critical path, time left."""

import xml.etree.ElementTree as ET
from typing import Any

from hearth.cli.apply.graph import Graph, dot, graph_of, svg, text

ROOT = "http://h/v1/p/stacks/web/1"
INNER = "http://h/v1/p/stacks/web-part-x/2"
MINUTE = "2026-01-01T00:00:"
NOW = 1767225600.0  # that minute


def resource(
    name: str, status: str, stack: str = ROOT, nested: str | None = None, **more: Any
) -> dict[str, Any]:
    links = [{"rel": "stack", "href": stack}]
    if nested:
        links.append({"rel": "nested", "href": nested})
    found = {"resource_name": name, "resource_type": f"T::{name}", "resource_status": status}
    return {**found, "links": links, "physical_resource_id": "", "required_by": [], **more}


def event(name: str, status: str, second: int, stack: str = ROOT) -> dict[str, Any]:
    return {
        "resource_name": name,
        "resource_status": status,
        "event_time": f"{MINUTE}{second:02}Z",
        "links": [{"rel": "stack", "href": stack}],
    }


def example() -> Graph:
    resources = [
        resource("net", "CREATE_COMPLETE", required_by=["port", "part"]),
        resource("port", "CREATE_COMPLETE", required_by=["server"]),
        resource("server", "CREATE_IN_PROGRESS"),
        resource("part", "CREATE_IN_PROGRESS", nested=INNER),
        resource("a<b", "CREATE_COMPLETE", stack=INNER),
    ]
    events = [
        event("server", "CREATE_IN_PROGRESS", 0),
        event("server", "CREATE_COMPLETE", 12),  # an earlier one
        event("net", "CREATE_IN_PROGRESS", 20),
        event("net", "CREATE_COMPLETE", 22),
        event("port", "CREATE_IN_PROGRESS", 22),
        event("a<b", "CREATE_IN_PROGRESS", 22, INNER),
        event("port", "CREATE_COMPLETE", 25),
        event("a<b", "CREATE_COMPLETE", 29, INNER),
        event("server", "CREATE_IN_PROGRESS", 25),
    ]
    return graph_of(resources, events, NOW + 30)


def test_the_critical_path_is_the_chain_that_took_longest():
    assert [(one.name, one.seconds) for one in example().critical()] == [
        ("net", 2.0), ("port", 3.0), ("server", 5.0),
    ]  # fmt: skip


def test_a_nested_stack_needs_its_resources():
    part = example().vertices["part",]
    assert set(part.needs) == {("net",), ("part", "a<b")}


def test_the_time_left_comes_from_earlier_operations_or_is_unknown():
    found = example()
    assert found.left() is None  # nothing is known about part
    found.vertices["part",].earlier = 1.0
    assert found.left() == 7.0  # the server took 12 s, and 5 have passed


def test_text_dot_and_picture_name_every_resource():
    found = example()
    lines = "\n".join(text(found))
    assert "critical path so far: net 2.0 s > port 3.0 s > server 5.0 s" in lines
    assert "time left: unknown" in lines
    assert '"net" -> "port";' in "\n".join(dot(found))
    picture = ET.fromstring("\n".join(svg(found)))
    texts = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "part.a<b" in texts
    assert len([*picture.iter("{http://www.w3.org/2000/svg}rect")]) == 5


def test_a_chain_of_thousands_is_no_recursion():
    many = 5000
    resources = [
        resource(f"r{n}", "CREATE_COMPLETE", required_by=[f"r{n + 1}"]) for n in range(many)
    ]
    assert len(graph_of(resources[::-1], [], NOW).critical()) == many
