"""Which routes the walk requests by itself."""

from hearth.api.endpoint import Endpoint
from hearth.api.v1 import stacks
from hearth.api.v1.routes import RESOURCE, STACK, STACKS
from tests.walk.routes import STACK_READS, stack_reads


def test_a_new_get_of_a_stack_is_walked_by_itself_and_others_are_not():
    ways = [("GET", STACK), ("GET", f"{STACK}/summary"), ("PUT", STACK), ("GET", STACKS)]
    ways += [("GET", RESOURCE), ("GET", f"{STACK}/outputs/{{output_key}}")]
    endpoints = [Endpoint(path, way, path, None, stacks.show) for way, path in ways]
    assert stack_reads(endpoints) == [STACK, f"{STACK}/summary"]


def test_each_recorded_answer_belongs_to_a_route_that_is_walked():
    assert set(STACK_READS) <= set(stack_reads())
