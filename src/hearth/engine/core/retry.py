"""The delays between retries within one operation."""

CREATE_RETRIES_MAX = 5
JITTER_S = 2.0


def retry_delay_s(attempt: int, jitter: float) -> float:
    """Return the seconds to wait before a create or delete is retried; retries count from 1.

    The delay is 2**attempt seconds plus up to 2 seconds, chosen by `jitter`, a random number in [0,
    1). Source: docs/spec/engine.md, section 10.
    """
    return float(2**attempt) + JITTER_S * jitter
