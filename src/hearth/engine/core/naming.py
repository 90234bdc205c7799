"""Names of physical things. Source: spec/engine.md, section 36."""

import base64

RANDOM_BYTES = 8  # the first 60 bits are used
SHORT_ID_CHARACTERS = 12


def short_id(record_id: str) -> str:
    """12 characters (a-z, 2-7) from the random bits of a record's UUID."""
    digits = record_id.replace("-", "")
    bits = (int(digits, 16) & ((1 << 60) - 1)) << 4
    return base64.b32encode(bits.to_bytes(8, "big")).decode().lower()[:SHORT_ID_CHARACTERS]


def physical_name(stack_name: str, resource_name: str, record_id: str, limit: int = 255) -> str:
    """`STACK-RESOURCE-SHORTID`. Too long: two characters, a hyphen, and the tail that fits."""
    name = f"{stack_name}-{resource_name}-{short_id(record_id)}"
    if len(name) <= limit:
        return name
    return f"{name[:2]}-{name[-(limit - 3) :]}"
