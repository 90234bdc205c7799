"""Comments that disable lint rules.

`# hearth: ignore[unused-parameter]` applies to its own line, or to the next line if there is only
the comment in its line. `# hearth: ignore-file[deprecated]` applies to the whole file. Several
codes are separated by commas. Without brackets all rules are disabled.
"""

from __future__ import annotations

import re

from hearth.authoring.text import lines_of

COMMENT = re.compile(r"(^|\s)#\s*hearth:\s*(ignore(?:-file)?)(?:\[([^\]]*)\])?\s*(?:$|#|-)")
EVERYTHING = "*"


class Ignored:
    """The rules that comments in a text disable, by line."""

    def __init__(self, text: str) -> None:
        self.everywhere: set[str] = set()
        self.lines: dict[int, set[str]] = {}
        if "hearth:" not in text:
            return
        for number, line in enumerate(lines_of(text), 1):
            match = COMMENT.search(line)
            if match is None:
                continue
            codes = {code.strip() for code in (match[3] or EVERYTHING).split(",")} - {""}
            if match[2] == "ignore-file":
                self.everywhere |= codes
            else:
                alone = not line[: match.start()].strip()
                self.lines.setdefault(number + alone, set()).update(codes)

    def covers(self, code: str, line: int) -> bool:
        """Return whether the rule with this code is disabled in a line."""
        off = self.everywhere | self.lines.get(line, set())
        return code in off or EVERYTHING in off
