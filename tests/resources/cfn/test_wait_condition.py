"""Wait conditions in the words of CloudFormation."""

import asyncio

import pytest

from hearth.model.problem import Rejected
from hearth.model.state import Action
from hearth.resources.actions import action_steps
from hearth.resources.base import Failed, Ready, SignalResult
from hearth.resources.capabilities import ReplacedAlways
from tests.resources.fake import context_of
from tests.resources.heat.test_wait_conditions import Desk, run

HANDLE = "AWS::CloudFormation::WaitConditionHandle"
SIGNAL = {"UniqueId": "a", "Status": "SUCCESS", "Reason": "done", "Data": "d"}


def handle(**more):
    return run(context_of(HANDLE, {}, users=Desk(), **more), Action.CREATE)


def test_the_reference_is_the_signed_url():
    ctx = handle()
    assert ctx.kind.reference(ctx).startswith("http://cfn:8000/v1/waitcondition/arn%3A")


def test_signals_need_all_keys_and_null_is_ignored():
    ctx = handle()
    assert ctx.kind.signal(ctx, SIGNAL).metadata["a"]["Data"] == "d"
    assert ctx.kind.signal(ctx, None) == SignalResult()
    with pytest.raises(Rejected, match="Metadata format invalid"):
        ctx.kind.signal(ctx, {"UniqueId": "a"})


def test_a_handle_may_be_replaced_at_every_update():
    always = context_of("OS::Heat::UpdateWaitConditionHandle", {}).kind
    assert isinstance(always, ReplacedAlways)
    assert not isinstance(handle().kind, ReplacedAlways)


@pytest.mark.parametrize(("status", "ends"), [("SUCCESS", Ready), ("FAILURE", Failed)])
def test_a_condition_reads_the_handle(status, ends):
    async def metadata(_reference):
        return {"a": {"Status": status, "Reason": "why", "Data": "d"}}

    ctx = context_of(
        "AWS::CloudFormation::WaitCondition",
        {"Handle": "url", "Timeout": 10},
        read_metadata=metadata,
    )
    (step,) = action_steps(ctx.kind, Action.CREATE, ctx)
    assert isinstance(asyncio.run(step.poll(ctx)), ends)
    assert asyncio.run(ctx.kind.attribute(ctx, "Data")) == '{"a": "d"}'
