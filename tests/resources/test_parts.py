"""Parts of objects: which calls settle them, and that settling again changes nothing."""

import asyncio

import pytest

from hearth.cloud.fault import CloudFault, NotFound
from hearth.resources.parts import Call, Entries, Members, Rows, filled
from tests.resources.fake import context_of

ADD = Call("POST", "/add/{id}/{member}")
REMOVE = Call("DELETE", "/remove/{id}/{member}", undoes=True)
TIES = Members(property="hosts", add=ADD, remove=REMOVE)


class Kind:
    service = "compute"

    def __init__(self, body=None):
        self.body = body

    async def show(self, ctx):
        return self.body

    def as_sent(self, name, value):
        return value


class Cloud:
    """Notes every write call; `faults` are raised by the calls of these paths."""

    def __init__(self, rows=(), faults=None):
        self.rows = rows
        self.faults = faults or {}
        self.calls = []

    async def listing(self, service, path):
        return self.rows

    async def request(self, service, method, path, *, json=None, idempotent=None):
        self.calls.append((method, path, json) if json is not None else (method, path))
        if path in self.faults:
            status = self.faults[path]
            gone = NotFound(service, "no")
            raise gone if status == 404 else CloudFault(service, status, "Fault", "no")


def settled(part, now, *, before=None, cloud=None, body=None, leave=False):
    """The calls that settle a part of the thing `x`."""
    cloud = cloud or Cloud()
    ctx = context_of("OS::Nova::HostAggregate", {"name": "x"}, cloud=cloud, physical_id="x")
    ctx.properties = {part.property: now}
    ctx.before = {} if before is None else {part.property: before}
    asyncio.run((part.leave if leave else part.settle)(Kind(body), ctx))
    return cloud.calls


def test_members_that_nobody_can_list_are_all_added_and_those_of_before_removed():
    assert settled(TIES, ["b", "c"], before=["a", "b"]) == [
        ("POST", "/add/x/b"),
        ("POST", "/add/x/c"),
        ("DELETE", "/remove/x/a"),
    ]


@pytest.mark.parametrize("shown", [True, False])
def test_members_that_are_there_are_left_alone(shown):
    known = {"shown": "hosts"} if shown else {"listing": "/rows/{id}", "field": "who"}
    part = Members(property="hosts", add=ADD, remove=REMOVE, remove_first=True, **known)
    cloud = Cloud([{"who": "a"}, {"who": "b"}])
    assert settled(part, ["b", "c"], cloud=cloud, body={"hosts": ["a", "b"]}) == [
        ("DELETE", "/remove/x/a"),
        ("POST", "/add/x/c"),
    ]


def test_members_that_the_template_never_named_may_stay():
    part = Members(property="hosts", add=ADD, remove=REMOVE, shown="hosts", others_stay=True)
    calls = settled(part, [], before=["a"], body={"hosts": ["a", "stranger"]})
    assert calls == [("DELETE", "/remove/x/a")]


def test_a_member_that_is_gone_already_is_removed():
    cloud = Cloud(faults={"/remove/x/a": 404})
    assert settled(TIES, [], before=["a"], cloud=cloud) == [("DELETE", "/remove/x/a")]


def test_a_member_that_can_not_be_added_is_a_fault():
    with pytest.raises(CloudFault):
        settled(TIES, ["a"], cloud=Cloud(faults={"/add/x/a": 404}))


def test_without_a_name_the_own_project_is_the_member_unless_that_is_pointless():
    part = Members(property="hosts", add=ADD, remove=REMOVE, own_project=True, unless="public")
    assert settled(part, []) == [("POST", "/add/x/project")]
    ctx = context_of("OS::Nova::HostAggregate", {"name": "x"})
    ctx.properties, ctx.changed = {"public": False}, frozenset({"hosts"})
    assert part.at_create(ctx)
    assert part.at_update(ctx)
    ctx.properties = {"public": True}
    assert not part.at_create(ctx)
    assert not part.at_update(ctx)


ROWS = Rows(
    property="ports",
    key="id",
    shown="ports",
    add=Call("PUT", "/add", {"ports": "{members}"}),
    remove=Call("PUT", "/remove", {"ports": "{keys}"}),
    at_once=True,
)
LISTED = Rows(
    property="nets",
    key="id",
    listing="/ports?of={id}",
    add=Call("PUT", "/connect", "{member}"),
    remove=Call("PUT", "/disconnect", "{member}", undoes=True),
)


def test_a_row_that_says_otherwise_is_removed_and_added_again():
    there = [{"id": "a", "n": 1, "more": 0}, {"id": "b", "n": 1}, {"id": "c", "n": 1}]
    wanted = [{"id": "a", "n": 1}, {"id": "b", "n": 2}]
    assert settled(ROWS, wanted, body={"ports": there}) == [
        ("PUT", "/remove", {"ports": [{"id": "b"}, {"id": "c"}]}),
        ("PUT", "/add", {"ports": [{"id": "b", "n": 2}]}),
    ]


def test_rows_of_which_a_listing_shows_keys_only_go_by_what_was_before():
    before, wanted = [{"id": "a", "n": 1}, {"id": "b", "n": 1}], [{"id": "b", "n": 2}]
    assert settled(LISTED, wanted, before=before, cloud=Cloud([{"id": "a"}, {"id": "b"}])) == [
        ("PUT", "/disconnect", {"id": "b", "n": 1}),
        ("PUT", "/disconnect", {"id": "a", "n": 1}),
        ("PUT", "/connect", {"id": "b", "n": 2}),
    ]


def test_a_row_that_an_earlier_attempt_added_is_no_conflict():
    again = Cloud([{"id": "b"}], faults={"/connect": 409})
    settled(LISTED, [{"id": "b", "n": 2}], before=[{"id": "b", "n": 1}], cloud=again)
    with pytest.raises(CloudFault):
        settled(LISTED, [{"id": "c", "n": 2}], cloud=Cloud(faults={"/connect": 409}))


def test_rows_of_the_template_are_removed_before_the_object():
    cloud = Cloud([{"id": "a"}, {"id": "stranger"}])
    calls = settled(LISTED, [{"id": "a"}, {"id": "b"}], cloud=cloud, leave=True)
    assert calls == [("PUT", "/disconnect", {"id": "a"})]


def test_entries_that_are_gone_are_removed_one_by_one_or_put_as_null():
    put = Call("POST", "/specs/{id}", {"specs": "{entries}"}, again=True)
    removed = Entries(property="specs", put=put, remove=Call("DELETE", "/specs/{entry}"))
    assert settled(removed, {"b": 2}, before={"a": 1}) == [
        ("DELETE", "/specs/a"),
        ("POST", "/specs/x", {"specs": {"b": "2"}}),
    ]
    nulled = Entries(property="specs", put=put)
    assert settled(nulled, {"b": 2}, before={"a": 1}) == [
        ("POST", "/specs/x", {"specs": {"a": None, "b": "2"}}),
    ]
    assert settled(removed, {}) == []


def test_a_name_that_is_all_of_a_text_stands_for_the_value_itself():
    names = {"member": {"a": 1}, "id": "x"}
    body = {"row": "{member}", "path": "/of/{id}", "list": ["{id}", 7, None]}
    assert filled(body, names) == {"row": {"a": 1}, "path": "/of/x", "list": ["x", 7, None]}
