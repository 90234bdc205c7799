"""An operation begins from the rows and the program: a plan, its records, its graph."""

import asyncio

import pytest

from hearth.cloud.fault import CloudFault
from hearth.engine.worker.operation.begin import begin
from hearth.model.state import Action
from hearth.store.credentials import StackCredential
from hearth.store.rows import Document, Revision
from tests.engine.worker.owned import Clouds, Owned, record, stack_row

TWO = """
heat_template_version: 2018-08-31
resources:
  a: {type: OS::Heat::Value, properties: {value: 1}}
  b: {type: OS::Heat::Value, properties: {value: {get_attr: [a, value]}}}
"""


def begun(*records, template=TWO, plugins=(), document=None, **stack):
    owned = Owned(stack_row(**stack), *records, revision=Revision(template, document=document))
    owned.operation.plugins._plugins = plugins
    asyncio.run(begin(owned.operation))
    return owned


class Plugin:
    """A plug-in that objects, and notes how often it was asked."""

    def __init__(self, words=""):
        self.words, self.asked = words, 0

    async def pre(self, occasion):
        self.asked += 1
        if self.words:
            raise ValueError(self.words)


def test_a_create_adds_a_record_for_each_resource_and_starts_with_the_first():
    owned = begun()
    assert sorted(one.name for one in owned.memory.if_current.insert.values()) == ["a", "b"]
    assert owned.operation.aim.in_charge.keys() == {"a", "b"}
    owned.operation.traversal.advance()
    assert owned.memory.stack.state == "CREATE_COMPLETE"
    assert [e for e in owned.events() if e.endswith("COMPLETE")] == [
        "a CREATE_COMPLETE",
        "b CREATE_COMPLETE",
        "web CREATE_COMPLETE",
    ]


def test_what_the_plan_leaves_out_is_touched_and_deleted():
    owned = begun(record("a"), record("old"), action=Action.UPDATE, revision=2, previous_revision=1)
    assert owned.memory.records["old-1"].until == 2
    owned.operation.traversal.advance()
    assert owned.memory.if_current.delete == ["old-1"]


def test_nothing_to_do_completes_at_once():
    owned = begun(template="heat_template_version: 2018-08-31\n")
    assert owned.memory.stack.state == "CREATE_COMPLETE"


def test_a_template_that_does_not_compile_fails_the_operation_with_its_problem():
    owned = begun(template="heat_template_version: 2018-08-31\nresources: {a: {type: Nope}}\n")
    assert owned.memory.stack.state == "CREATE_FAILED"
    assert "Nope" in owned.memory.stack.reason
    assert not owned.memory.if_current.insert


def test_a_delete_needs_no_template():
    owned = begun(record("a"), template="no template at all", action=Action.DELETE, parent_id="p")
    owned.operation.traversal.advance()
    assert owned.memory.stack.state == "DELETE_COMPLETE"


def test_a_plug_in_that_objects_fails_the_operation_before_anything_is_done():
    plugin = Plugin("not today")
    owned = begun(plugins=(plugin,))
    assert owned.memory.stack.reason == "not today"
    assert not owned.memory.if_current.insert


def test_a_plug_in_is_asked_about_an_adoption_once_the_records_are_known():
    """Then the stack that failed can be abandoned with what was to be adopted."""
    plugin = Plugin("not today")
    document = Document(Action.ADOPT, {"a": {"type": "OS::Heat::Value", "resource_id": "x"}})
    owned = begun(plugins=(plugin,), action=Action.ADOPT, document=document)
    assert plugin.asked == 1
    assert owned.memory.stack.state == "ADOPT_FAILED"
    adopted = {one.name: one.physical_id for one in owned.memory.if_current.insert.values()}
    assert adopted == {"a": "x", "b": None}


def test_an_adoption_records_the_things_of_a_document_whose_template_does_not_compile():
    document = Document(Action.ADOPT, {"a": {"type": "OS::Heat::Value", "resource_id": "x"}})
    template = "heat_template_version: 2018-08-31\nresources: {a: {type: Nope}}\n"
    owned = begun(template=template, action=Action.ADOPT, document=document)
    assert owned.memory.stack.state == "ADOPT_FAILED"
    assert [one.physical_id for one in owned.memory.if_current.insert.values()] == ["x"]


@pytest.mark.parametrize("action", [Action.CHECK, Action.SUSPEND, Action.RESUME])
def test_a_walk_takes_in_one_node_for_each_record_in_charge(action):
    owned = begun(record("a"), record("b"), action=action)
    owned.operation.traversal.advance()
    assert owned.memory.stack.state == f"{action}_COMPLETE"


def test_what_was_done_before_a_take_over_is_not_done_again():
    done = record("a", action=Action.CHECK, traversal="t1")
    owned = begun(done, record("b"), action=Action.CHECK)
    owned.operation.traversal.advance()
    assert [e for e in owned.events() if e.startswith("a ")] == []
    assert owned.memory.stack.state == "CHECK_COMPLETE"


def test_without_a_trust_the_operation_goes_on():
    class Busy(Clouds):
        async def trusted(self, credential):
            raise CloudFault("identity", 503, "ServiceUnavailable", "busy")

    owned = Owned(stack_row(credential_id="c"), revision=Revision(TWO))
    owned.owned.access._tools.clouds = Busy()
    owned.owned.access.credential = StackCredential()
    asyncio.run(begin(owned.operation))
    owned.operation.traversal.advance()
    assert owned.memory.stack.state == "CREATE_COMPLETE"
