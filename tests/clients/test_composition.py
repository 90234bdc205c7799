"""Templates within templates, and groups of them: made, told of, refused, repaired."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from heatclient import exc

from tests.clients.dev import Dev, hearth_dev, settled
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

NESTED = """
heat_template_version: 2021-04-16
parameters:
  label: {type: string}
resources:
  net: {type: OS::Neutron::Net, properties: {name: {get_param: label}}}
outputs:
  label: {value: {get_attr: [net, name]}}
  net: {value: {get_resource: net}}
"""
PAIR = """
heat_template_version: 2021-04-16
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: TYPE, properties: {label: '%stack%-%index%'}}
outputs:
  labels: {value: {get_attr: [group, label]}}
  second: {value: {get_attr: [group, resource.1.label]}}
  refs: {value: {get_attr: [group, refs]}}
"""
WORD = """
heat_template_version: 2021-04-16
parameters:
  value: {type: string, default: a}
  fail: {type: boolean, default: false}
resources:
  x: {type: OS::Heat::TestResource, properties: {value: {get_param: value}, fail: {get_param: fail}}}
  sizes: {type: OS::Heat::Value, properties: {value: [{at: {get_param: value}}, {at: none}]}}
outputs:
  word: {value: {get_attr: [x, output]}}
  sizes: {value: {get_attr: [sizes, value]}}
"""  # noqa: E501
WITH_ID = f"{WORD}  OS::stack_id: {{value: {{get_attr: [x, output]}}}}\n"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    folder = tmp_path_factory.mktemp("hearth")
    (folder / "environment.d").mkdir()
    (folder / "environment.d" / "types").mkdir()
    (folder / "environment.d" / "types" / "nested.yaml").write_text(NESTED)
    registry = "resource_registry: {Our::Net: types/nested.yaml}\n"
    (folder / "environment.d" / "ours.yaml").write_text(registry)
    with hearth_dev(folder) as running:
        yield running


@pytest.fixture(scope="module")
def connected(dev: Dev) -> Iterator[Any]:
    with dev.heat() as client:
        yield client


@pytest.fixture
def heat(connected: Any) -> Iterator[Any]:
    """The client; whatever stacks a test leaves are gone after it."""
    yield connected
    left = list(connected.stacks.list())
    for stack in left:
        connected.stacks.delete(stack.id)
    for stack in left:
        assert settled(connected, stack.id, "DELETE").stack_status == "DELETE_COMPLETE"


def template(outputs: dict[str, Any] | None = None, **resources: Any) -> dict[str, Any]:
    return {
        "heat_template_version": "2021-04-16",
        "resources": resources,
        "outputs": {name: {"value": value} for name, value in (outputs or {}).items()},
    }


def group(count: Any, kind: str = "word.yaml", **properties: Any) -> dict[str, Any]:
    more = {key: properties.pop(key) for key in list(properties) if key.startswith("removal")}
    member = {"type": kind, "properties": properties}
    return {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": count, "resource_def": member, **more},
    }


def create(heat: Any, name: str, body: Any, status: str = "COMPLETE", **files: str) -> str:
    """A stack, once it is made."""
    given = {f"{key}.yaml": text for key, text in {"word": WORD, **files}.items()}
    stack_id = heat.stacks.create(stack_name=name, template=body, files=given)["stack"]["id"]
    done = settled(heat, stack_id, "CREATE")
    assert done.stack_status == f"CREATE_{status}", done.stack_status_reason
    return str(stack_id)


def update(heat: Any, stack_id: str, body: Any, status: str = "COMPLETE", **files: str) -> None:
    given = {f"{key}.yaml": text for key, text in {"word": WORD, **files}.items()}
    heat.stacks.update(stack_id, template=body, files=given)
    done = settled(heat, stack_id, "UPDATE")
    assert done.stack_status == f"UPDATE_{status}", done.stack_status_reason


def outputs(heat: Any, stack_id: str) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in heat.stacks.get(stack_id).outputs}


def below(heat: Any, stack_id: str, name: str = "group") -> str:
    """The id of the nested stack of a resource."""
    return str(heat.resources.get(stack_id, name).physical_resource_id)


def members(heat: Any, stack_id: str, name: str = "group") -> dict[str, str]:
    """Physical ids of the members of a group, by name."""
    listed = heat.resources.list(below(heat, stack_id, name))
    return {one.resource_name: one.physical_resource_id for one in listed}


@pytest.mark.parametrize("by", ["path", "alias", "operator"])
def test_a_group_of_templates_that_are_named_in_every_way(heat: Any, dev: Dev, by: str):
    kind = {"path": "nested.yaml", "alias": "My::Net", "operator": "Our::Net"}[by]
    given: dict[str, Any] = {"files": {"nested.yaml": NESTED}}
    if by == "alias":
        given["environment"] = {"resource_registry": {"My::Net": "nested.yaml"}}
    if by == "operator":
        given = {}
    text = PAIR.replace("TYPE", kind).replace("%stack%", by)
    dev.mark()
    stack_id = heat.stacks.create(stack_name=by, template=text, **given)["stack"]["id"]
    assert settled(heat, stack_id, "CREATE").stack_status == "CREATE_COMPLETE"
    told = outputs(heat, stack_id)
    assert told["labels"] == [f"{by}-0", f"{by}-1"]
    assert told["second"] == f"{by}-1"
    assert [one.split(":stacks/")[1].count("/") for one in told["refs"]] == [1, 1]
    nets = [one["name"] for one in dev.ledger() if one["collection"] == "networks"]
    assert sorted(nets) == [f"{by}-0", f"{by}-1"]
    heat.stacks.delete(stack_id)
    assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
    assert dev.left_over() == []


def test_a_failure_below_is_told_with_its_whole_path(heat: Any):
    body = template(group=group(2, value="%index%", fail=True))
    stack_id = create(heat, "fails", body, "FAILED")
    reason = heat.stacks.get(stack_id).stack_status_reason
    first = reason.partition("resources.group.resources[")[2]
    assert reason.startswith("Resource CREATE failed: ValueError: resources.group.resources[")
    assert first[1:] == "].resources.x: Test Resource failed x"
    seen = heat.resources.get(stack_id, "group")
    assert seen.resource_status == "CREATE_FAILED"
    assert seen.resource_status_reason.endswith("].resources.x: Test Resource failed x")
    update(heat, stack_id, template(group=group(2, value="%index%")))
    assert sorted(members(heat, stack_id)) == ["0", "1"]


def test_the_first_failure_names_its_member(heat: Any):
    first = "{yaql: {expression: $.data = '1', data: {get_param: value}}}"
    fragile = WORD.replace("fail: {get_param: fail}", f"fail: {first}")
    assert fragile != WORD
    stack_id = create(
        heat, "one", template(group=group(3, value="%index%")), "FAILED", word=fragile
    )
    assert heat.stacks.get(stack_id).stack_status_reason == (
        "Resource CREATE failed: ValueError: resources.group.resources[1].resources.x: "
        "Test Resource failed x"
    )
    before = members(heat, stack_id)
    update(heat, stack_id, template(group=group(3, value="%index%")))
    assert members(heat, stack_id) == before


def refusal(heat: Any, body: Any, **files: str) -> str:
    """Why a stack is refused at once; nothing of it is stored."""
    given = {f"{key}.yaml": text for key, text in {"word": WORD, **files}.items()}
    with pytest.raises(exc.HTTPBadRequest) as caught:
        heat.stacks.create(stack_name="refused", template=body, files=given)
    assert list(heat.stacks.list(show_nested=True)) == []
    return str(caught.value)


def nest(kind: str) -> str:
    return yaml.safe_dump(template(inner={"type": kind}))


def test_a_template_that_includes_itself_is_refused(heat: Any):
    said = refusal(heat, nest("self.yaml"), self=nest("self.yaml"))
    assert "Recursion depth exceeds 5." in said
    assert "resources.inner<self.yaml>" in said


def test_five_levels_are_a_stack_and_six_are_not(heat: Any):
    levels = {f"l{i}": nest(f"l{i + 1}.yaml") for i in range(1, 6)}
    said = refusal(heat, nest("l1.yaml"), **levels, l6=WORD)
    assert "Recursion depth exceeds 5." in said
    stack_id = create(heat, "deep", nest("l1.yaml"), **{**levels, "l5": WORD})
    listed = heat.resources.list(stack_id, nested_depth=5)
    assert [one.resource_name for one in listed].count("inner") == 5


@pytest.mark.parametrize("count", [-1, 10**9])
@pytest.mark.parametrize("kind", ["OS::Heat::ResourceGroup", "OS::Heat::AutoScalingGroup"])
def test_a_size_that_cannot_be_is_refused_at_once(heat: Any, dev: Dev, kind: str, count: int):
    body = template(group=group(count, "OS::Heat::TestResource"))
    if kind == "OS::Heat::AutoScalingGroup":
        member = {"type": "OS::Heat::TestResource"}
        sizes = {"min_size": count, "max_size": count}
        body = template(group={"type": kind, "properties": {"resource": member, **sizes}})
    before = _memory_kb(dev)
    said = refusal(heat, body)
    assert (
        "out of range" if count < 0 else "1000000001 resources are more than the 1000 allowed"
    ) in said
    assert _memory_kb(dev) - before < 20_000


def _memory_kb(dev: Dev) -> int:
    """The most that the service has had."""
    with open(f"/proc/{dev.process.pid}/status") as file:
        (line,) = [line for line in file if line.startswith("VmHWM")]
    return int(line.split()[1])


def test_a_member_that_somebody_deleted_is_found_and_replaced_alone(heat: Any, dev: Dev):
    body = template(group=group(3, "OS::Neutron::Net", name="lost-%index%"))
    stack_id = create(heat, "lost", body)
    before = members(heat, stack_id)
    with dev.sdk() as cloud:
        cloud.network.delete_network(before["1"])
    heat.actions.check(stack_id)
    checked = settled(heat, stack_id, "CHECK")
    assert checked.stack_status == "CHECK_FAILED"
    assert "resources.group.resources[1]: " in checked.stack_status_reason
    child = below(heat, stack_id)
    states = {one.resource_name: one.resource_status for one in heat.resources.list(child)}
    assert states == {"0": "CHECK_COMPLETE", "1": "CHECK_FAILED", "2": "CHECK_COMPLETE"}
    heat.resources.mark_unhealthy(child, "1", True, "it is gone")
    update(heat, stack_id, body)
    after = members(heat, stack_id)
    assert after.keys() == before.keys()
    assert [name for name in after if after[name] != before[name]] == ["1"]
    with dev.sdk() as cloud:
        assert cloud.network.get_network(after["1"]).name == "lost-1"


def test_removal_policies_are_kept_or_decided_anew(heat: Any):
    def sized(count: int, *removed: str, mode: str = "append") -> Any:
        policies = [{"resource_list": list(removed)}] if removed else []
        given = {"removal_policies": policies, "removal_policies_mode": mode}
        return template({"gone": {"get_attr": ["group", "removed_rsrc_list"]}},
                        group=group(count, value="%index%", **given))  # fmt: skip

    stack_id = create(heat, "removal", sized(3))
    first = members(heat, stack_id)
    update(heat, stack_id, sized(2, "0"))
    assert members(heat, stack_id) == {name: first[name] for name in ("1", "2")}
    update(heat, stack_id, sized(2))  # what is gone stays gone
    assert sorted(members(heat, stack_id)) == ["1", "2"]
    update(heat, stack_id, sized(2, "1"))  # at the same size: another takes its place
    assert sorted(members(heat, stack_id)) == ["2", "3"]
    assert outputs(heat, stack_id)["gone"] == ["0", "1"]
    update(heat, stack_id, sized(2, "2", mode="update"))
    assert sorted(members(heat, stack_id)) == ["0", "1"]
    assert outputs(heat, stack_id)["gone"] == ["2"]
    update(heat, stack_id, sized(3, mode="update"))
    assert sorted(members(heat, stack_id)) == ["0", "1", "2"]
    assert outputs(heat, stack_id)["gone"] == []


def test_a_member_is_removed_by_its_reference(heat: Any):
    body = template({"refs": {"get_attr": ["group", "refs"]}},
                    group=group(3, "OS::Heat::RandomString"))  # fmt: skip
    stack_id = create(heat, "by-ref", body)
    refs = outputs(heat, stack_id)["refs"]
    policy = [{"resource_list": [refs[1]]}]
    body["resources"]["group"] = group(2, "OS::Heat::RandomString", removal_policies=policy)
    update(heat, stack_id, body)
    assert outputs(heat, stack_id)["refs"] == [refs[0], refs[2]]


def chain(*kinds: str, concurrent: bool = False) -> Any:
    given = {"resources": list(kinds), "concurrent": concurrent}
    return template({"refs": {"get_attr": ["chain", "refs"]}},
                    chain={"type": "OS::Heat::ResourceChain", "properties": given})  # fmt: skip


def test_the_members_of_a_chain_are_made_in_their_order_and_go_in_reverse(heat: Any):
    kinds = ["OS::Heat::TestResource", "word.yaml", "OS::Heat::RandomString"]
    stack_id = create(heat, "chain", chain(*kinds))
    child = below(heat, stack_id, "chain")

    def order(state: str) -> list[str]:
        events = heat.events.list(child, sort_dir="asc")
        return [one.resource_name for one in events if one.resource_status == state][:3]

    numbers = ["0", "1", "2"]
    ended = [one for one in order("CREATE_COMPLETE") if one in numbers]
    begun = [one for one in order("CREATE_IN_PROGRESS") if one in numbers]
    assert (begun, ended) == (numbers[: len(begun)], numbers[: len(ended)])
    made = {one.resource_name: one for one in heat.resources.list(child)}
    assert made["1"].required_by == ["2"]
    before = members(heat, stack_id, "chain")
    update(heat, stack_id, chain("OS::Heat::TestResource", "OS::Heat::RandomString"))
    after = members(heat, stack_id, "chain")
    assert after["0"] == before["0"]
    assert after.keys() == {"0", "1"}
    assert after["1"] != before["1"]


def test_what_is_below_is_listed_shown_and_told_of(heat: Any, dev: Dev):
    body = template(group=group(2, value="%index%"), alone={"type": "OS::Heat::RandomString"})
    stack_id = create(heat, "views", body)
    child = below(heat, stack_id)
    inner = members(heat, stack_id)
    own = dev.json("stack", "resource", "list", "views")
    assert sorted(one["resource_name"] for one in own) == ["alone", "group"]
    one_down = dev.json("stack", "resource", "list", "--nested-depth", "1", "views")
    names = {(one["resource_name"], one["stack_name"]) for one in one_down}
    assert {("alone", "views"), ("group", "views")} < names
    assert {name for name, stack in names if stack != "views"} == {"0", "1"}
    all_down = dev.json("stack", "resource", "list", "--nested-depth", "2", "views")
    assert sorted(one["resource_name"] for one in all_down).count("x") == 2
    filtered = ("--filter", "type=OS::Heat::TestResource")
    found = dev.json("stack", "resource", "list", "--nested-depth", "5", *filtered, "views")
    assert [one["resource_name"] for one in found] == ["x", "x"]

    listed = {one["ID"]: one for one in dev.json("stack", "list", "--nested")}
    assert listed.keys() == {stack_id, child, *inner.values()}
    assert listed[child]["Parent"] == stack_id
    assert {listed[one]["Parent"] for one in inner.values()} == {child}
    assert [one["ID"] for one in dev.json("stack", "list")] == [stack_id]
    shown = dev.json("stack", "show", child)
    assert (shown["id"], shown["parent"]) == (child, stack_id)
    assert shown["stack_name"].startswith("views-group-")
    assert dev.json("stack", "show", shown["stack_name"])["id"] == child

    events = dev.json("stack", "event", "list", "--nested-depth", "2", "views")
    assert {one["resource_name"] for one in events} >= {"views", "group", "0", "1", "x", "sizes"}
    flat = dev.json("stack", "event", "list", "views")
    assert {one["resource_name"] for one in flat} == {"views", "group", "alone"}


def test_a_template_says_itself_what_it_is_referred_to_as(heat: Any):
    body = template(
        {
            "named": {"get_resource": "named"},
            "plain": {"get_resource": "plain"},
            "inner": {"get_attr": ["plain", "resource.x"]},
            "word": {"get_attr": ["plain", "resource.x", "output"]},
        },
        named={"type": "named.yaml", "properties": {"value": "me"}},
        plain={"type": "word.yaml", "properties": {"value": "you"}},
    )
    stack_id = create(heat, "refers", body, named=WITH_ID)
    told = outputs(heat, stack_id)
    assert told["named"] == "me"
    child = heat.stacks.get(below(heat, stack_id, "plain"))
    assert told["plain"].endswith(f":stacks/{child.stack_name}/{child.id}")
    inner = heat.resources.list(child.id)
    assert told["inner"] in [one.physical_resource_id for one in inner]


def test_many_servers_read_their_user_data_at_once(heat: Any):
    config = {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "#!/bin/sh"}}
    resources: dict[str, Any] = {}
    for number in range(8):
        resources[f"c{number}"] = config
        properties = {
            "image": "cirros", "flavor": "m1.nano", "networks": [{"network": "private"}],
            "user_data_format": "RAW", "user_data": {"get_resource": f"c{number}"},
        }  # fmt: skip
        server = {"type": "OS::Nova::Server", "properties": properties, "depends_on": [*"abcd"]}
        resources[f"s{number}"] = server
    later = {"type": "OS::Heat::Delay", "properties": {"min_wait": 0.1}}
    create(heat, "share", template(**resources, **dict.fromkeys("abcd", later)))


def test_members_keep_their_own_reference_ids_when_the_group_grows(heat: Any):
    refs = {"refs": {"get_attr": ["group", "refs"]}}

    def body(count: int) -> dict[str, Any]:
        return template(refs, group=group(count, "named.yaml", value="w%index%"))

    stack_id = create(heat, "grows", body(2), named=WITH_ID)
    update(heat, stack_id, body(3), named=WITH_ID)
    assert outputs(heat, stack_id)["refs"] == ["w0", "w1", "w2"]


def test_outputs_reach_members_and_what_they_hold(heat: Any):
    wanted = {
        "one": {"get_attr": ["group", "resource.1.word"]},
        "ref": {"get_attr": ["group", "resource.1"]},
        "words": {"get_attr": ["group", "word"]},
        "by_name": {"get_attr": ["group", "attributes", "word"]},
        "paths": {"get_attr": ["group", "sizes", 0, "at"]},
        "paths_by_name": {"get_attr": ["group", "attributes", "sizes", 0, "at"]},
        "map": {"get_attr": ["group", "refs_map"]},
        "refs": {"get_attr": ["group", "refs"]},
    }
    stack_id = create(
        heat, "reach", template(wanted, group=group(3, "word.yaml", value="w%index%"))
    )
    told = outputs(heat, stack_id)
    assert told["one"] == "w1"
    assert told["words"] == told["paths"] == ["w0", "w1", "w2"]
    assert told["by_name"] == told["paths_by_name"] == {"0": "w0", "1": "w1", "2": "w2"}
    assert told["refs"] == [told["map"][name] for name in ("0", "1", "2")]
    assert told["ref"] == told["refs"][1]
