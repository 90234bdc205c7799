"""Text from others that is safe to print.

Names, values and messages may contain control characters. In a terminal these could move the
cursor, erase lines, change the title or fill the clipboard; in a log they could forge lines.
"""

import re

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_ORDER = r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # these change the order of what is shown
_UNSAFE = re.compile(f"[{_CONTROLS}{_ORDER}]")
_UNSAFE_IN_LINE = re.compile(f"[\\n{_CONTROLS}{_ORDER}]")


def escaped(text: str, *, lines: bool = False) -> str:
    """Return the text with each control character as an escape sequence of Python, such as `\\x1b`.

    Tabs stay. If `lines` is true, line breaks stay, too.
    """
    return (_UNSAFE if lines else _UNSAFE_IN_LINE).sub(_sequence, text)


def _sequence(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
