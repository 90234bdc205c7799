"""Whether work grows with its size and no faster, told by ratios within one run."""

import time
from collections.abc import Callable
from typing import Any


def growth(work: Callable[[int], Any], small: int, large: int) -> float:
    """How much more CPU time the large size takes, over how much larger it is; 1 is linear."""

    def seconds(size: int) -> float:
        took = []
        for _ in range(3):
            began = time.process_time()
            work(size)
            took.append(time.process_time() - began)
        return max(min(took), 1e-6)

    return seconds(large) / seconds(small) / (large / small)
