"""Names of physical resources. Source: docs/spec/engine.md, section 36."""

from collections.abc import Iterable

from hearth.engine.core.record import Record

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]  # of 10 bits


def short_id(record_id: str) -> str:
    """Return 12 characters (a-z, 2-7) from the random bits of a record's UUID."""
    bits = int(record_id.replace("-", ""), 16)
    return "".join([_PAIRS[bits >> shift & 1023] for shift in (50, 40, 30, 20, 10, 0)])


def physical_name(stack_name: str, resource_name: str, record_id: str, limit: int = 255) -> str:
    """Return the name of a physical resource: `STACK-RESOURCE-SHORTID`.

    A name longer than `limit` is shortened: its first two characters, a hyphen, and as many of its
    last characters as fit.
    """
    name = f"{stack_name}-{resource_name}-{short_id(record_id)}"
    if len(name) <= limit:
        return name
    return f"{name[:2]}-{name[-(limit - 3) :]}"


def name_by_reference(stack_name: str, records: Iterable[Record], reference: str) -> str | None:
    """Return the physical name of the resource with this reference id; None if there is none."""
    matches = (
        record for record in records if record.until is None and record.held.reference == reference
    )
    return next((physical_name(stack_name, record.name, record.id) for record in matches), None)
