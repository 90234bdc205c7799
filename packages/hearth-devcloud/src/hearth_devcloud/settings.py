"""The settings with which the embedded cloud starts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The settings of an embedded cloud. All times are in seconds."""

    password: str = "secret"  # noqa: S105
    token_life_s: float = 3600.0
    build_s: float = 0.0
    volume_s: float = 0.0
    seed: int | None = None
    quotas: bool = True
    orchestration_url: str | None = None
    cloudformation_url: str | None = None
    cluster_url: str | None = None
    sandbox: bool = False  # whether servers really run, in Linux namespaces
