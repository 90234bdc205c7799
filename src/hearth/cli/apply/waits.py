"""In a user's words, what a resource in progress waits for."""

from collections.abc import Mapping
from typing import Any

PHASES = {
    "intent": "its {action} call has no answer yet",
    "queued": "its {action} call waits for a free slot: {calls} calls are in flight",
    "accepted": "the cloud works on its {action}",
}
SIGNALLED = {
    "WaitCondition": "waits for signals",
    "SoftwareDeployment": "waits for the report of its server",
    "StructuredDeployment": "waits for the report of its server",
}
NAMED_MAX = 3  # resources in one sentence


def waits_for(waiting: Mapping[str, Any] | None, reason: str = "", rtype: str = "") -> str:
    """Return a phrase for the key `waiting` of a resource; `reason` is its status reason, and
    `rtype` its type.

    The phrase is empty if the resource waits for nothing.
    """
    if not waiting:
        return ""
    if (hook := waiting.get("hook")) is not None:
        return f"waits at the hook {hook}: openstack stack hook clear"
    if (call := waiting.get("on")) is None:
        names = [resource["resource"] for resource in waiting.get("for", ())]
        suffix = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
        return f"waits for {', '.join(names[:NAMED_MAX])}{suffix}" if names else ""
    if (nested := call.get("nested")) is not None:
        return f"works on the stack {nested['stack_name']}"
    phrase = PHASES.get(call["phase"], "{action}").format(
        action=call["action"].lower(), calls=call.get("calls_in_flight")
    )
    if call["phase"] == "accepted":
        phrase = next(
            (signalled for end, signalled in SIGNALLED.items() if rtype.endswith(end)), phrase
        )
    phrase += f", {duration(call['seconds'])}"
    if call["attempt"] > 1:
        phrase += f", attempt {call['attempt']}"
    return f"{phrase}: {reason}" if "ttempt" in reason else phrase


def duration(seconds: float) -> str:
    """Return a duration such as `4.2 s`, `3 min 20 s` or `1 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {remainder} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
