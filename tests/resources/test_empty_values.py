"""Empty texts, lists and maps: where the original gives the service nothing for them, nor do we.

`tests/facts/empty_values.json` holds what Heat 27.0.1 did with each optional property when a create
gave it an empty value: sent it, sent nothing (`none`), refused the request, or failed.
`tests/facts/empty_answers.json` holds, for the types that are not there, what became of a create
with one empty text, and for all types what became of an update to an empty text: it was `done`, the
request was `refused`, or it `failed`.
"""

import asyncio
import json
from pathlib import Path

import pytest

from hearth.model.span import Span
from hearth.model.state import Action
from hearth.resources.base import ResourceContext, StackFacts
from hearth.resources.collection import CollectionResource
from hearth.resources.lookup import check_constraints
from hearth.resources.registry import builtin_types
from hearth.resources.translate import move
from hearth.schema import Findings, ValueKind, coerce_all
from tests.resources.driver import drive
from tests.types.case import subject

FACTS = Path(__file__).parents[1] / "facts"
RECORDED = json.loads((FACTS / "empty_values.json").read_text())
ANSWERED = [
    (name, prop, did)
    for types in json.loads((FACTS / "empty_answers.json").read_text()).values()
    for name, props in types.items()
    for prop, did in props.items()
    if did != "failed"
]
EMPTY = {ValueKind.STRING: "", ValueKind.LIST: [], ValueKind.MAP: {}}
NONE = [
    (name, prop)
    for name, props in RECORDED.items()
    for prop, did in props.items()
    if did == "none"
    and prop in builtin_types()[name].properties
    and isinstance(builtin_types()[name], CollectionResource)
]


def plain(value):
    """The value with an id in place of each reference to another resource."""
    match value:
        case {"get_resource": name} | {"get_attr": [name, *_]}:
            return f"id-of-{name}"
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case _:
            return value


def sent(kind, properties):
    """The paths of empty values in what a create tells the service."""
    values = coerce_all(kind.properties, properties, Span(), Findings(constrain=False))
    values = dict(move(values, kind.translation).properties)
    ctx = ResourceContext(
        record_id="r", name="thing", type_name=kind.name, stack=StackFacts("s", "web", "p"),
        action=Action.CREATE, physical_id=None, physical_name="web-thing", key="k",
        properties=values, cloud=None, kind=kind,
    )  # fmt: skip
    found = set()

    def look(value, path):
        if value in ("", [], {}) and not isinstance(value, bool | int):
            found.add(path)
        elif isinstance(value, dict):
            for key, inner in value.items():
                look(inner, f"{path}.{key}")
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                look(inner, f"{path}[{index}]")

    look(kind.fields(ctx), "")
    look({"key": kind.wanted_key_field(ctx)}, "")
    return found


@pytest.mark.parametrize(("name", "prop"), NONE, ids=[".".join(pair) for pair in NONE])
def test_an_empty_value_is_left_out_where_the_original_leaves_it_out(name, prop):
    one = subject(name)
    minimal = plain(one.minimal())
    empty = EMPTY[one.kind.properties[prop].kind]
    assert sent(one.kind, {**minimal, prop: empty}) <= sent(one.kind, minimal)


@pytest.mark.parametrize(("name", "prop", "did"), ANSWERED)
def test_an_empty_text_is_refused_at_once_where_the_original_refuses_it(name, prop, did):
    """A refused request leaves the stack as it is; a call that the service refuses does not."""
    found = Findings()
    coerce_all({prop: builtin_types()[name].properties[prop]}, {prop: ""}, Span(), found)
    asked = [(look.name, look.value, look.at) for look in found.lookups]
    problems = [*found.problems, *asyncio.run(check_constraints(asked, None))]
    assert bool(problems) is (did == "refused"), problems


def test_what_says_that_empty_is_none_is_optional():
    for kind in builtin_types().values():
        for name, prop in kind.properties.items():
            if prop.empty_is_none:
                assert not prop.required, (kind.name, name)
                found = Findings()
                values = coerce_all({name: prop}, {name: EMPTY[prop.kind]}, Span(), found)
                assert values.get(name) not in EMPTY.values(), (kind.name, name)
                assert not found.problems
                assert not found.lookups


def test_the_service_accepts_what_templates_give_as_empty_defaults():
    async def story(driver):
        await driver.create(
            "OS::Cinder::Volume", {"size": 1, "availability_zone": "", "description": ""}
        )
        net = await driver.create("OS::Neutron::Net", {}, "net")
        await driver.create(
            "OS::Neutron::Subnet", {"network": net.physical_id, "cidr": "10.1.0.0/24"}, "subnet"
        )
        server = await driver.create(
            "OS::Nova::Server",
            {
                "image": "cirros",
                "flavor": "m1.tiny",
                "networks": [{"network": net.physical_id}],
                "availability_zone": "",
                "key_name": "",
                "user_data": "",
                "admin_pass": "",
            },
            "server",
        )
        body = server.body
        await driver.delete_all()
        return body

    body = drive(story)
    assert body["status"] == "ACTIVE"
    assert not body.get("key_name")
