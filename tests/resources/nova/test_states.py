"""Each status of a server leads on, is the goal, or ends the wait at once."""

import pytest

from hearth.resources.base import Failed, Later, Ready
from hearth.resources.nova import states

TASKS = {"BUILD": None, "REBUILD": "rebuilding", "RESIZE": "resize_prep", "REBOOT": "rebooting"}


def body(status, task=None):
    return {"status": status, states.TASK: task}


@pytest.mark.parametrize("status", sorted(states.AT_WORK))
def test_a_server_at_work_is_waited_for(status):
    for goals in (states.ACTIVE, states.HALTED, states.RUNS_OR_NOT):
        progress = states.reached("web", body(status, TASKS.get(status)), goals)
        assert isinstance(progress, Later)
        assert progress.seen.startswith(f"status {status}")


@pytest.mark.parametrize("status", sorted(states.AT_REST))
def test_a_server_at_rest_has_arrived_or_never_will(status):
    progress = states.reached("web", body(status), states.RUNS_OR_NOT)
    if status in states.RUNS_OR_NOT:
        assert progress == Ready(body(status))
    else:
        words = f'web - Unknown status {status} due to "Message: Unknown, Code: Unknown"'
        assert progress == Failed(words, "ResourceUnknownStatus")


@pytest.mark.parametrize("status", ["SUSPENDED", "SHUTOFF"])
def test_a_task_under_way_may_bring_another_status(status):
    assert isinstance(states.reached("web", body(status, "resuming"), states.ACTIVE), Later)
    hidden = {"status": status}  # the service shows no tasks to this user
    assert isinstance(states.reached("web", hidden, states.ACTIVE), Later)


def test_a_status_that_nobody_knows_ends_the_wait():
    progress = states.reached("web", body("MEDITATING", "thinking"), states.ACTIVE)
    assert progress.reason.startswith("web - Unknown status MEDITATING due to")
