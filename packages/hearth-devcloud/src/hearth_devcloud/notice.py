"""The notification that an alarm sends to a URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Notice:
    """A pending POST request; `outcome` later contains its `status` or its `error`."""

    url: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    outcome: dict[str, Any] = field(default_factory=dict)
