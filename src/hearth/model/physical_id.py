"""What can be stored as the physical id of a resource."""

ID_MAX = 255  # characters


def can_be_stored(text: str) -> bool:
    """Return whether every database can store a text as a physical id.

    PostgreSQL stores no NUL, and no database half of a surrogate pair.
    """
    return (
        len(text) <= ID_MAX and "\0" not in text and text.encode(errors="replace").decode() == text
    )
