"""What resources wait for, in words."""

import pytest

from hearth.cli.apply.waits import duration, waits_for

CALL = {"action": "CREATE", "step": "create", "phase": "intent", "seconds": 4.25, "attempt": 1}


@pytest.mark.parametrize(
    ("waiting", "reason", "said"),
    [
        (None, "", ""),
        ({"hook": "pre-create"}, "", "waits at the hook pre-create: openstack stack hook clear"),
        ({"for": []}, "", ""),
        ({"for": [{"resource": "net"}, {"resource": "port"}]}, "", "waits for net, port"),
        ({"for": [{"resource": f"r{n}"} for n in range(5)]}, "", "waits for r0, r1, r2 and 2 more"),
        ({"on": CALL}, "", "its create call has no answer yet, 4.2 s"),
        ({"on": {**CALL, "phase": "accepted"}}, "", "the cloud works on its create, 4.2 s"),
        (
            {"on": {**CALL, "phase": "queued", "calls_in_flight": 64}},
            "",
            "its create call waits for a free slot: 64 calls are in flight, 4.2 s",
        ),
        (
            {"on": {**CALL, "attempt": 3}},
            "Attempt 3 of 6 at 10:00",
            "its create call has no answer yet, 4.2 s, attempt 3: Attempt 3 of 6 at 10:00",
        ),
        ({"on": {**CALL, "nested": {"stack_name": "s"}}}, "", "works on the stack s"),
    ],
)
def test_each_reason_has_words(waiting, reason, said):
    assert waits_for(waiting, reason) == said


def test_a_resource_that_waits_for_a_server_says_so():
    waiting = {"on": {**CALL, "phase": "accepted"}}
    said = waits_for(waiting, "", "OS::Heat::WaitCondition")
    assert said == "waits for signals, 4.2 s"
    assert waits_for({"on": CALL}, "", "OS::Heat::WaitCondition").startswith("its create call")


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.04, "0.0 s"), (59.9, "59.9 s"), (61, "1 min 1 s"), (3900, "1 h 5 min")]
)
def test_durations(seconds, said):
    assert duration(seconds) == said
