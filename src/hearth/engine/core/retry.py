"""The number and the delays of retries within one operation."""

CREATE_RETRIES_MAX = 5
JITTER_S = 2.0


def retry_delay_s(attempt: int, jitter: float) -> float:
    """Return the seconds to wait before retry `attempt` (1 is the first) of a create or delete.

    They are 2**attempt plus up to 2 seconds; `jitter` is in [0, 1), drawn by the caller.
    Source: spec/engine.md, section 10.
    """
    return float(2**attempt) + JITTER_S * jitter
