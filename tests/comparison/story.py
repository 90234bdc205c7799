"""What is asked: every route of the contract, with good and with odd inputs.

The steps of a section need no other section; names of stacks are its own.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.comparison.sides import Request, Settled, Shown

Step = Request | Settled | Shown
V = "heat_template_version"
NEWEST = "2021-04-16"
CHILD = f"""{V}: {NEWEST}
parameters: {{p: {{type: string}}}}
resources: {{inner: {{type: OS::Heat::Value, properties: {{value: {{get_param: p}}}}}}}}
outputs: {{o: {{value: {{get_attr: [inner, value]}}}}}}
"""
TREE: dict[str, Any] = {
    V: NEWEST,
    "description": "All kinds of things",
    "parameters": {
        "p": {"type": "string", "default": "one", "description": "A word", "label": "P"},
        "n": {"type": "number", "default": 2, "constraints": [{"range": {"min": 1, "max": 9}}]},
        "s": {"type": "string", "default": "secret", "hidden": True},
        "l": {"type": "comma_delimited_list", "default": "a,b"},
        "j": {"type": "json", "default": {"k": [1]}},
        "b": {"type": "boolean", "default": True},
    },
    "resources": {
        "value": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "p"}}},
        "test": {
            "type": "OS::Heat::TestResource",
            "properties": {"value": "q"},
            "depends_on": "value",
            "metadata": {"m": [1]},
        },
        "kid": {"type": "child.yaml", "properties": {"p": {"get_param": "p"}}},
        "handle": {
            "type": "OS::Heat::WaitConditionHandle",
            "properties": {"signal_transport": "HEAT_SIGNAL"},
        },
        "none": {"type": "OS::Heat::None"},
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {
                "count": 1,
                "resource_def": {"type": "OS::Heat::Value", "properties": {"value": "%index%"}},
            },
        },
    },
    "outputs": {
        "word": {"description": "It", "value": {"get_attr": ["value", "value"]}},
        "inner": {"value": {"get_attr": ["kid", "o"]}},
        "bad": {"value": {"get_attr": ["test", "output", "nowhere"]}},
    },
}
FILES = {"child.yaml": CHILD}
SMALL = {V: NEWEST, "resources": {"one": {"type": "OS::Heat::Value", "properties": {"value": 1}}}}
PARTS = (
    "",
    "/resources",
    "/events",
    "/template",
    "/environment",
    "/files",
    "/outputs",
    "/export",
    "/snapshots",
)


def get(path: str, **more: Any) -> Request:
    return Request("GET", path, **more)


def made(name: str, template: Any = None, **more: Any) -> list[Step]:
    """Create a stack and keep its place under its own name."""
    body = {"stack_name": name, "template": template or SMALL, **more}
    keep = {f"{name}_id": "stack.id"}
    return [Request("POST", "/stacks", body, keep=keep), Settled(name)]


def at(name: str, part: str = "") -> str:
    return f"/stacks/{name}/{{{name}_id}}{part}"


def steps() -> Iterator[Step]:
    """All of it, in order."""
    for section in (
        _service,
        _types,
        _language,
        _validation,
        _previews,
        _refusals,
        _tree,
        _lists,
        _updates,
        _actions,
        _snapshots,
        _documents,
        _configs,
        _signals,
        _ends,
    ):
        yield from section()


def _service() -> Iterator[Step]:
    yield get("/build_info")
    yield get("/services")
    yield get("/services", admin=True)
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        yield Request(method, "/build_info", {})
        yield Request(method, "/stacks/a/b/c/d", {})
    yield get("/nothing")
    yield get("/stacks/no/where/at/all")


def _types() -> Iterator[Step]:
    for query in (
        "name=^OS::Heat::Res",
        "name=[",
        "name=nothing",
        "support_status=DEPRECATED",
        "support_status=odd",
        "version=5.0.0",
        "name=OS::Heat::Value&with_description=true",
        "with_description=maybe",
    ):
        yield get(f"/resource_types?{query}")
    for name in (
        "OS::Heat::Value",
        "OS::Heat::TestResource",
        "OS::Heat::ResourceGroup",
        "OS::Heat::RandomString",
        "OS::Heat::WaitCondition",
        "OS::Heat::SoftwareConfig",
        "OS::Heat::None",
        "OS::Heat::Stack",
        "OS::Heat::Nothing",
        "child.yaml",
    ):
        yield get(f"/resource_types/{name}")
        for kind in ("", "?template_type=hot", "?template_type=HOT", "?template_type=odd"):
            yield get(f"/resource_types/{name}/template{kind}")


def _language() -> Iterator[Step]:
    yield get("/template_versions")
    versions = (
        "2013-05-23",
        "2014-10-16",
        "2015-04-30",
        "2015-10-15",
        "2016-04-08",
        "2016-10-14",
        "2017-02-24",
        "2017-09-01",
        "2018-03-02",
        "2018-08-31",
        "2021-04-16",
        "newton",
        "ocata",
        "pike",
        "queens",
        "rocky",
        "wallaby",
        "odd",
    )
    for version in versions:
        yield get(f"/template_versions/{V}.{version}/functions")
        yield get(f"/template_versions/{V}.{version}/functions?with_condition_func=true")
    for version in ("AWSTemplateFormatVersion.2010-09-09", "HeatTemplateFormatVersion.2012-12-12"):
        yield get(f"/template_versions/{version}/functions?with_condition_func=true")
    yield get("/template_versions/odd/functions")
    yield get(f"/template_versions/{V}.{NEWEST}/functions?with_condition_func=maybe")


ODD_BODIES: tuple[Any, ...] = (
    {},
    {"template": {}},
    {"template": ""},
    {"template": None},
    {"template": []},
    {"template": "a: b"},
    {"template": {V: "odd"}},
    {"template": {V: NEWEST, "odd": {}}},
    {"template": f"{V}: {NEWEST}\nresources: [a"},
    {"template": {V: NEWEST, "resources": {"a": {}}}},
    {"template": {V: NEWEST, "resources": {"a": {"type": "OS::Heat::Odd"}}}},
    {"template": {V: NEWEST, "resources": {"a": {"type": "OS::Heat::Value", "odd": 1}}}},
    {
        "template": {
            V: NEWEST,
            "resources": {"a": {"type": "OS::Heat::Value", "properties": {"odd": 1}}},
        }
    },
    {
        "template": {
            V: NEWEST,
            "resources": {
                "a": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "odd"}}}
            },
        }
    },
    {"template": {V: NEWEST, "resources": {"a": {"type": "OS::Heat::None", "depends_on": "odd"}}}},
    {"template": {V: NEWEST, "resources": {"a": {"type": "OS::Heat::None", "depends_on": "a"}}}},
    {"template": TREE, "files": FILES, "parameters": {"odd": 1}},
    {"template": TREE, "files": FILES, "parameters": {"n": 99}},
    {"template": TREE, "files": FILES, "parameters": {"n": "text"}},
    {"template": TREE, "files": {}},
    {"template": TREE, "files": []},
    {"template": TREE, "files": FILES, "environment": "a: [b"},
    {"template": TREE, "files": FILES, "environment": {"odd": 1}},
    {"template": TREE, "files": FILES, "environment": {"parameters": {"p": "two"}}},
    {"template": SMALL, "parameters": []},
    {"template": SMALL, "tags": "x" * 81},
    {"template": SMALL, "timeout_mins": -1},
    {"template": SMALL, "timeout_mins": "odd"},
    {"template": SMALL, "disable_rollback": "odd"},
    {"template": SMALL, "environment_files": ["missing.yaml"]},
)


TAKEN: tuple[Any, ...] = (
    {"template": TREE, "files": FILES, "environment": {"parameters": {"p": "two"}}},
    {"template": SMALL, "parameters": []},
)
"""Those of which a server may make a stack."""


def _validation() -> Iterator[Step]:
    yield Request("POST", "/validate", {"template": TREE, "files": FILES})
    yield Request("POST", "/validate?show_nested=true", {"template": TREE, "files": FILES})
    yield Request("POST", "/validate?show_nested=odd", {"template": SMALL})
    yield Request("POST", "/validate?ignore_errors=99001", {"template": SMALL})
    yield Request("POST", "/validate?ignore_errors=7", {"template": SMALL})
    given = {"template": TREE, "files": FILES, "parameters": {"p": "x", "s": "y", "b": "false"}}
    yield Request("POST", "/validate", given)
    defaults = {"parameter_defaults": {"p": "d"}}
    yield Request("POST", "/validate", {"template": TREE, "files": FILES, "environment": defaults})
    for body in ODD_BODIES:
        yield Request("POST", "/validate", body)
    for text in ("", "[]", "7", "{", '"a"'):
        yield Request("POST", "/validate", text)


def _previews() -> Iterator[Step]:
    yield Request("POST", "/stacks/preview", {"stack_name": "seen", "template": SMALL})
    body = {"stack_name": "seen", "template": TREE, "files": FILES, "parameters": {"p": "x"}}
    yield Request("POST", "/stacks/preview", {**body, "tags": "a,b", "timeout_mins": 5})
    for body in ODD_BODIES:
        yield Request("POST", "/stacks/preview", {"stack_name": "seen", **body})


def _refusals() -> Iterator[Step]:
    for name in ("", None, "1a", "a b", "x" * 256, "a/b", 7, [], "-a"):
        yield Request("POST", "/stacks", {"stack_name": name, "template": SMALL})
    yield Request("POST", "/stacks", {"template": SMALL})
    for body in ODD_BODIES:
        if body not in TAKEN:
            yield Request("POST", "/stacks", {"stack_name": "refused", **body})
    for part in PARTS:
        yield get(f"/stacks/nowhere{part}")
        yield get(f"/stacks/nowhere/11111111-1111-1111-1111-111111111111{part}")
    for method in ("PUT", "PATCH", "DELETE"):
        path = "/stacks/nowhere/11111111-1111-1111-1111-111111111111"
        yield Request(method, path, {"template": SMALL} if method != "DELETE" else None)


def _tree() -> Iterator[Step]:
    yield from made("tree", TREE, files=FILES, tags="a,b", timeout_mins=7)
    yield Request("POST", "/stacks", {"stack_name": "tree", "template": SMALL})
    for method in ("PUT", "PATCH", "POST", "DELETE"):
        yield Request(method, "/stacks/tree", {} if method != "DELETE" else None)
        yield Request(method, "/stacks/{tree_id}?a=b", {} if method != "DELETE" else None)
    for part in ("resources", "events", "template", "actions"):
        yield Request("POST", f"/stacks/tree/{part}", {})
    yield get("/stacks/tree/actions")
    for part in PARTS:
        if part != "/export":
            yield get(f"/stacks/tree{part}")
        yield get(at("tree", part))
        yield get(f"/stacks/other/{{tree_id}}{part}")
    yield get(at("tree", "?resolve_outputs=false"))
    yield get(at("tree", "?resolve_outputs=odd"))
    for key in ("word", "inner", "bad", "odd"):
        yield get(at("tree", f"/outputs/{key}"))
    resources = ("value", "test", "kid", "handle", "none", "group", "odd")
    for name in resources:
        place = at("tree", f"/resources/{name}")
        yield get(place)
        yield get(f"{place}?with_attr=zz&with_attr=show")
        yield get(f"{place}/metadata")
        yield get(f"{place}/events", keep={f"{name}_event": "events.0.id"})
        yield get(f"{place}/events?limit=1")
        yield get(f"{place}/events/{{{name}_event}}")
        yield get(f"{place}/events/odd")
    for query in (
        "nested_depth=1",
        "nested_depth=9",
        "nested_depth=odd",
        "with_detail=true",
        "with_detail=odd",
        "name=value",
        "name=odd",
        "name=value&name=test",
        "odd=1",
        "status=COMPLETE",
        "status=CREATE_COMPLETE",
        "status=FAILED",
        "status=",
        "action=CREATE",
        "action=UPDATE",
        "type=OS::Heat::Value",
        "type=odd",
        "physical_resource_id=odd",
        "nested_depth=2&with_detail=true",
    ):
        yield get(at("tree", f"/resources?{query}"))
    for query in (
        "limit=2",
        "limit=0",
        "limit=",
        "limit=odd",
        "limit=-1",
        "sort_dir=asc",
        "sort_dir=odd",
        "sort_keys=event_time&sort_dir=asc",
        "sort_keys=odd",
        "sort_keys=resource_type",
        "resource_name=value",
        "resource_status=COMPLETE",
        "resource_action=CREATE",
        "resource_type=OS::Heat::Value",
        "nested_depth=1",
        "nested_depth=odd",
        "marker=odd",
        "resource_name=",
    ):
        yield get(at("tree", f"/events?{query}"))
    yield get(at("tree", "/resources/kid"), keep={"kid_id": "resource.physical_resource_id"})
    yield get("/stacks/{kid_id}")
    for name in ("kid", "group"):
        keep = {"place": "resource.links.2.href"}
        yield get(at("tree", f"/resources/{name}"), keep=keep)


def _lists() -> Iterator[Step]:
    yield from made("listed", tags="a")
    for base in ("/stacks", "/stacks/detail"):
        yield get(base)
        for query in (
            "limit=1",
            "limit=0",
            "limit=",
            "limit=odd",
            "limit=-1",
            "marker=odd",
            "marker=",
            "sort_keys=stack_name",
            "sort_keys=stack_name&sort_dir=desc",
            "sort_keys=odd",
            "sort_dir=odd",
            "sort_dir=asc",
            "show_deleted=true",
            "show_deleted=odd",
            "show_deleted=",
            "show_nested=true",
            "show_nested=odd",
            "show_hidden=true",
            "with_count=true",
            "with_count=false",
            "with_count=odd",
            "stack_name=tree",
            "stack_name=",
            "name=tree",
            "name=odd",
            "id=odd",
            "status=COMPLETE",
            "status=FAILED",
            "status=CREATE_COMPLETE",
            "stack_status=CREATE_COMPLETE",
            "action=CREATE",
            "odd=1",
            "action=DELETE",
            "owner_id=",
            "tags=a",
            "tags=a,b",
            "tags_any=b,c",
            "not_tags=b",
            "not_tags_any=a",
            "tags=",
            "global_tenant=true",
            "global_tenant=odd",
            "tenant=odd",
            "username=odd",
            "timeout_mins=7",
            "disable_rollback=true",
        ):
            yield get(f"{base}?{query}")


def _updates() -> Iterator[Step]:
    yield from made("changed", TREE, files=FILES)
    grown = {**TREE, "resources": {**TREE["resources"], "new": {"type": "OS::Heat::None"}}}
    shrunk = {**TREE, "resources": {"value": TREE["resources"]["value"]}, "outputs": {}}
    for template in (TREE, grown, shrunk):
        for query in ("", "?show_nested=true"):
            body = {"template": template, "files": FILES, "parameters": {"p": "two"}}
            yield Request("PUT", at("changed", f"/preview{query}"), body)
    yield Request("PATCH", at("changed", "/preview"), {"parameters": {"p": "two"}})
    yield Request("PATCH", at("changed", "/preview?show_nested=odd"), {})
    for body in ODD_BODIES:
        if body.get("template") is not SMALL and "environment" not in body:
            yield Request("PUT", at("changed", "/preview"), body)
            yield Request("PUT", at("changed"), body)
    for given in (
        {"timeout_mins": "odd"},
        {"disable_rollback": 7},
        {"converge": "odd"},
        {"parameters": {"odd": 1}},
        {"clear_parameters": 7},
        {"tags": "x" * 81},
    ):
        yield Request("PATCH", at("changed"), given)
    for method, body in (
        ("PUT", {"template": grown, "files": FILES, "parameters": {"p": "two"}, "tags": "c"}),
        ("PATCH", {"parameters": {"n": 3}}),
        ("PATCH", {"clear_parameters": ["n"], "timeout_mins": 9}),
        ("PUT", {"template": SMALL}),
    ):
        yield Request(method, at("changed"), body)
        yield Settled("changed")
        for part in ("", "/resources?with_detail=true", "/environment", "/template", "/outputs"):
            yield get(at("changed", part))


def _actions() -> Iterator[Step]:
    yield from made("acted")
    for body in ({}, {"odd": None}, {"suspend": None, "resume": None}, {"check": 1, "odd": 2}, []):
        yield Request("POST", at("acted", "/actions"), body)
    for word in ("check", "suspend", "resume"):
        yield Request("POST", at("acted", "/actions"), {word: None})
        yield Settled("acted")
        yield get(at("acted"))
        yield get(at("acted", "/resources"))
    for word in ("cancel_update", "cancel_without_rollback"):
        yield Request("POST", at("acted", "/actions"), {word: None})
    yield Request("PATCH", at("acted", "/resources/one"), {"mark_unhealthy": True})
    for given in ({}, {"mark_unhealthy": "odd"}, {"odd": 1, "mark_unhealthy": True}):
        yield Request("PATCH", at("acted", "/resources/one"), given)
    yield get(at("acted", "/resources/one"))
    yield Request("PATCH", at("acted", "/resources/odd"), {"mark_unhealthy": True})
    yield Request("PATCH", at("acted", "/resources/one"), {"mark_unhealthy": False})
    yield get(at("acted", "/resources/one"))


def _snapshots() -> Iterator[Step]:
    yield from made("kept")
    yield Request("POST", at("kept", "/snapshots"), {"name": "s1"}, keep={"snapshot": "id"})
    yield Settled("kept")
    yield Request("POST", at("kept", "/snapshots"), {})
    yield Settled("kept")
    yield get(at("kept", "/snapshots"))
    yield get(at("kept", "/snapshots/{snapshot}"))
    yield get(at("kept", "/snapshots/odd"))
    yield Request("POST", at("kept", "/snapshots/odd/restore"))
    yield Request("DELETE", at("kept", "/snapshots/odd"))
    yield Request("POST", at("kept", "/snapshots/{snapshot}/restore"))
    yield Settled("kept")
    yield get(at("kept"))
    yield Request("DELETE", at("kept", "/snapshots/{snapshot}"))
    yield Shown(at("kept", "/snapshots/{snapshot}"), 404)
    yield get(at("kept", "/snapshots/{snapshot}"))


def _documents() -> Iterator[Step]:
    yield from made("left", TREE, files=FILES)
    yield get(at("left", "/export"))
    yield Request("DELETE", at("left", "/abandon"))
    yield Settled("left")
    yield Shown("/stacks/left", 404)
    yield get("/stacks/left")
    for data in ("", "{", "[]", {"template": SMALL}, {"resources": {}}):
        body = {"stack_name": "adopted", "template": SMALL, "adopt_stack_data": data}
        yield Request("POST", "/stacks", body)
    data = {
        "name": "old",
        "environment": {},
        "template": SMALL,
        "action": "CREATE",
        "status": "COMPLETE",
        "resources": {
            "one": {
                "name": "one",
                "resource_id": "here",
                "type": "OS::Heat::Value",
                "action": "CREATE",
                "status": "COMPLETE",
                "metadata": {},
                "resource_data": {},
            }
        },
    }
    yield from made("adoptee", adopt_stack_data=json.dumps(data))
    yield get(at("adoptee"))
    yield get(at("adoptee", "/resources"))


def _configs() -> Iterator[Step]:
    one = {
        "name": "c",
        "group": "script",
        "config": "#!/bin/sh",
        "options": {"o": 1},
        "inputs": [{"name": "i", "type": "Number", "default": 1}],
        "outputs": [{"name": "r"}],
    }
    path = "/software_configs"
    yield Request("POST", path, one, keep={"config": "software_config.id"})
    for odd in (
        {},
        {"name": None},
        {"inputs": [{}]},
        {"inputs": [{"name": "i", "type": "Odd"}]},
        {"outputs": [{}]},
        {"group": None},
    ):
        yield Request("POST", path, odd)
    yield get(f"{path}/{{config}}")
    yield get(f"{path}/odd")
    for query in (
        "",
        "limit=1",
        "limit=0",
        "limit=",
        "limit=odd",
        "marker=odd",
        "marker=",
        "global_tenant=true",
        "global_tenant=odd",
    ):
        yield get(f"{path}?{query}")
    there = "/software_deployments"
    body = {"config_id": "none", "server_id": "s"}
    yield Request("POST", there, {})
    yield Request("POST", there, body)
    yield get(there)
    for query in ("server_id=s", "server_id=odd", "server_id="):
        yield get(f"{there}?{query}")
    for method in ("GET", "DELETE"):
        yield Request(method, f"{there}/odd")
    yield Request("PUT", f"{there}/odd", {"status": "COMPLETE"})
    yield get(f"{there}/metadata/s")
    body = {"config_id": "{config}", "server_id": "s", "input_values": {"i": 2}}
    one = {**body, "action": "CREATE", "status": "IN_PROGRESS", "status_reason": "begun"}
    yield Request("POST", there, one, keep={"deployment": "software_deployment.id"})
    yield Request("POST", there, body, keep={"second": "software_deployment.id"})
    for query in ("", "?server_id=s", "?server_id=odd", "?server_id="):
        yield get(f"{there}{query}")
    done = {"status": "COMPLETE", "output_values": {"r": "well"}, "status_reason": "done"}
    for change in (done, {}, {"action": "UPDATE"}, {"input_values": {"i": 3}}):
        yield Request("PUT", f"{there}/{{deployment}}", change)
        yield get(f"{there}/{{deployment}}")
    yield get(f"{there}/metadata/s")
    yield Request("DELETE", f"{path}/{{config}}")
    for name in ("deployment", "second"):
        yield Request("DELETE", f"{there}/{{{name}}}")
        yield get(f"{there}/{{{name}}}")
    yield Request("DELETE", f"{path}/{{config}}")
    yield Request("DELETE", f"{path}/{{config}}")


def _signals() -> Iterator[Step]:
    template = {
        V: NEWEST,
        "resources": {
            "handle": {
                "type": "OS::Heat::WaitConditionHandle",
                "properties": {"signal_transport": "HEAT_SIGNAL"},
            },
            "wait": {
                "type": "OS::Heat::WaitCondition",
                "properties": {"handle": {"get_resource": "handle"}, "count": 1, "timeout": 60},
            },
            "v": {"type": "OS::Heat::Value", "properties": {"value": 1}},
        },
    }
    body = {"stack_name": "signalled", "template": template}
    yield Request("POST", "/stacks", body, keep={"signalled_id": "stack.id"})
    yield Shown(at("signalled", "/resources/v"), 200, "CREATE_COMPLETE")
    for name in ("v", "odd"):
        yield Request("POST", at("signalled", f"/resources/{name}/signal"), {})


def _ends() -> Iterator[Step]:
    for name in ("tree", "listed", "changed", "acted", "kept", "adoptee", "signalled"):
        yield Request("DELETE", at(name))
        yield Settled(name)
    yield get("/stacks")
    for part in ("", "/resources", "/events", "/template"):
        yield get(at("tree", part))
    yield Request("DELETE", at("tree"))
    yield get("/stacks/tree")
