"""A delay that is longer than the timeout of its stack is refused before the stack begins."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, Inside

from hearth.service.stacks.create import create_stack
from hearth.service.stacks.preview import plan_create
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.update import update_stack
from tests.service.stacks.test_types_used import Rules, ended, played, refusal


def delayed(timeout_mins: int | None = None, **properties: Any) -> StackRequest:
    delay = {"type": "OS::Heat::Delay", "properties": {"actions": ["SUSPEND"], **properties}}
    template = {"heat_template_version": "2018-08-31", "resources": {"wait": delay}}
    return StackRequest(json.dumps(template), timeout_mins=timeout_mins)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (delayed(min_wait=3600), "accepted"),
        (delayed(min_wait=3601), "may take 3601 seconds, and the timeout of the stack is 3600"),
        (delayed(min_wait=3500, max_jitter=60, jitter_multiplier=2), "may take 3620 seconds"),
        (delayed(1, min_wait=60), "accepted"),
        (delayed(1, min_wait=61), "may take 61 seconds, and the timeout of the stack is 60"),
    ],
)
def test_a_delay_is_not_longer_than_the_timeout(
    tmp_path: Path, request_: StackRequest, words: str
) -> None:
    async def story(running: Inside, rules: Rules) -> list[str]:
        rules.in_force = False
        services = running.services
        planned = await refusal(plan_create(services, CALLER, "planned", request_))
        created = await refusal(create_stack(services, CALLER, "created", request_))
        row = await ended(running, await create_stack(services, CALLER, "s", delayed(min_wait=1)))
        return [planned, created, await refusal(update_stack(services, CALLER, row, request_))]

    assert all(words in one for one in played(tmp_path, story))
