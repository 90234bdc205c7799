"""Conditions on the metadata of Ceilometer's samples."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body

_OF_SERVERS = frozenset({"instance", "cpu", "cpu_util", "vcpus", "memory", "memory.usage"})
_BEGINNINGS = ("disk.", "network.incoming.", "network.outgoing.")
_PREFIXES = ("metering.", "user_metadata.")


def conditions(meter: str, metadata: Mapping[str, Any]) -> list[Body]:
    """Return the conditions that samples of a meter have these metadata.

    Ceilometer stores metadata of servers as "user_metadata", of other objects as "metering".
    """
    of_server = meter in _OF_SERVERS or meter.startswith(_BEGINNINGS)
    prefix = "user_metadata" if of_server else "metering"
    return [
        {"field": f"metadata.{prefix}.{_bare(name)}", "op": "eq", "value": str(value)}
        for name, value in metadata.items()
    ]


def _bare(name: str) -> str:
    """Return the name of a metadata entry without the prefixes that templates may write."""
    name = name.removeprefix("metadata.")
    return name.partition(".")[2] if name.startswith(_PREFIXES) else name
