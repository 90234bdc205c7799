"""Pauses between attempts."""

from hearth.engine.core.retry import retry_delay_s


def test_pauses_double_and_jitter_adds_up_to_two_seconds():
    assert [retry_delay_s(n, 0.0) for n in (1, 2, 3)] == [2.0, 4.0, 8.0]
    assert retry_delay_s(1, 0.99) < 4.0
