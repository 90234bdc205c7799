"""Template entries that are groups: their resource definitions and their members."""

import re
from collections.abc import Iterator
from typing import Any

Entry = dict[str, Any]

SIZE_MAX = 4
_BY_CHANCE = re.compile(r"[a-z2-7]{12}")


def resource(entry: Entry) -> dict[str, Any]:
    """Return the template's resource definition for a group entry."""
    definition = {"type": "Test::Node", "properties": entry["group"]}
    pace = {
        "max_batch_size": entry["batch"],
        "min_in_service": entry["in_service"],
        "pause_time": entry["pause"],
    }
    if not entry["numbered"]:
        return {
            "type": "OS::Heat::AutoScalingGroup",
            "properties": {
                "min_size": 0, "max_size": SIZE_MAX + 2, "desired_capacity": entry["size"],
                "resource": definition, "rolling_updates": pace,
            },
        }  # fmt: skip
    create = {"max_batch_size": entry["batch"], "pause_time": entry["pause"]}
    policy = {} if entry["at_once"] else {"rolling_update": pace, "batch_create": create}
    properties = {"count": entry["size"], "resource_def": definition}
    return {
        "type": "OS::Heat::ResourceGroup", "update_policy": policy, "properties": properties,
    }  # fmt: skip


def members(entry: Entry) -> Iterator[tuple[str, Entry]]:
    """Yield (name, entry) of each member of a group whose members have known names."""
    if entry.get("numbered"):
        yield from ((str(i), entry["group"]) for i in range(entry["size"]))


def by_chance(name: str) -> bool:
    """Return whether a name is the random name of a group member."""
    return _BY_CHANCE.fullmatch(name) is not None
