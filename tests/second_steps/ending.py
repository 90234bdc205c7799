"""The end of a cell: its stack is deleted, and why an operation before that may fail."""

import contextlib
import re

from requests import HTTPError

from tests.second_steps.cells import Cell
from tests.second_steps.stack import Stack
from tests.second_steps.watch import until
from tests.types.story import Wrong

SWEEP_S = 20.0  # until objects of lost calls are deleted
LINGERING = {  # types of which a part stays in the embedded cloud when an object is lost
    "OS::Neutron::Pool": "its virtual address stays",
}
BORROWING = {  # types whose objects are in the state of another one
    "OS::Neutron::LoadBalancer": "its members are in the load balancer of their pool",
}
PROTECTED = "is protected and cannot be deleted"  # as the template says
IMMUTABLE = "Update to properties "
SERVED = "It is used by share servers."  # of a share network, whose network was replaced
BY_THE_STOPPED = re.compile("Cannot 'changePassword' .* while it is in vm_state stopped")
ONE_WAY = re.compile(  # what a service does not take back
    "Shrinking volume is not supported|New volume size must be greater"
    "|existing prefixes must be kept"
)
TAKEN = re.compile(
    "already (allocated|exist|in use|has|taken)|overlaps|collision|Duplicate|Conflict|In use"
    "|being used|must be available",
    re.IGNORECASE,
)


class Excused(Exception):
    """What comes next cannot succeed, for a reason that the table knows."""


def end(stack: Stack) -> None:
    """Delete it; raises Wrong if that fails, or if anything is left."""
    if not stack.path:
        return
    with stack.traced():
        try:
            stack.heat.call("DELETE", stack.path)
        except Wrong as wrong:
            if not str(wrong).startswith("404"):
                raise
        else:
            if stack.ended() == "DELETE_FAILED" and PROTECTED in stack.steps[-1]:
                stack.place.admin("DELETE", f"objects/{stack.physical_id()}")
                stack.heat.call("DELETE", stack.path)
                stack.ended()
            if stack.keyless and stack.steps[-1].startswith("DELETE_FAILED"):
                _drop_lost(stack)  # the object of a lost call may be in the way of others
                stack.heat.call("DELETE", stack.path)
                stack.ended()
            if not stack.steps[-1].startswith("DELETE_COMPLETE"):
                raise Wrong(stack.steps[-1])
    stack.path = ""
    stack.account.ours = not stack.document
    if stack.document:
        for thing in stack.account.of_data():
            with contextlib.suppress(HTTPError):  # it went with another one
                stack.place.admin("DELETE", f"objects/{thing['id']}")
    wait_s = 0.0 if stack.keyless else SWEEP_S
    if not until(lambda: not stack.account.left(), wait_s):
        left = stack.account.left()
        for entry in left:
            stack.place.admin("DELETE", f"objects/{entry.rpartition(' ')[2]}")
        if stack.keyless:  # the object of a lost call cannot be found again
            return
        raise Wrong(f"left over: {left}")


def _drop_lost(stack: Stack) -> None:
    """Delete the objects that no resource has."""
    known = set(stack.idents())
    for entry in stack.account.left():
        ident = entry.rpartition(" ")[2]
        if ident.rpartition("/")[2] not in known and " trusts " not in entry:
            stack.place.admin("DELETE", f"objects/{ident}")


def excuse(stack: Stack, cell: Cell) -> None:
    """Raise Excused if the last operation failed because the old object, which is replaced although
    it is there, is in the way, or because of what the template says."""
    if PROTECTED in stack.steps[-1]:
        raise Excused("the template protects the old object")
    if stack.one.type_name in BORROWING and "Went to status ERROR" in stack.steps[-1]:
        raise Excused(BORROWING[stack.one.type_name])
    if IMMUTABLE in stack.steps[-1] or SERVED in stack.steps[-1]:
        raise Excused("the type takes no other id of an object that is replaced")
    if BY_THE_STOPPED.search(stack.steps[-1]):
        raise Excused("a stopped server takes no new password")
    if ONE_WAY.search(stack.steps[-1]) and cell.next == "back":
        raise Excused("the first operation was carried out, and nothing takes it back")
    replaced = cell.next == "unhealthy" or cell.first.endswith("check")
    if (replaced or stack.one.type_name in LINGERING) and TAKEN.search(stack.steps[-1]):
        raise Excused("the old object has what the new one needs")
