"""Some inputs for every target, each answered soon.

HEARTH_FUZZ=20 tries twenty times as many, others each time; `make fuzz-compiler` as many as there
is time for.
"""

import os
import time

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.targets import TARGETS
from tests.selection import part_of

TIMES = int(os.environ.get("HEARTH_FUZZ", "1"))
EXAMPLES = {"load": 1000, "functions": 800, "examine": 500, "environment": 200}
ANSWER_S = 5.0
"""Processor time that one answer may take, on a slow machine; most take a hundredth."""


@pytest.mark.parametrize("name", part_of(list(TARGETS), 3))
def test_whatever_comes_in_is_answered(name):
    target = TARGETS[name]

    @settings(
        max_examples=EXAMPLES.get(name, 250) * TIMES,
        deadline=None,
        database=None,
        derandomize=TIMES == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        phases=[Phase.generate, Phase.shrink],
    )
    @given(target.inputs)
    def answered(value):
        before = time.process_time()
        target.check(value)
        assert time.process_time() - before < ANSWER_S

    answered()
