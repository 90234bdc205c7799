"""Templates in any style that YAML allows, with comments wherever they can stand."""

from __future__ import annotations

import random
import re

from hypothesis import strategies as st

KEYS = ["a", "type", "get_param", "no", "10:20", "0o7", "~", "'it''s'", '"x y"', "é😀", "a b", "<"]
PLAIN = [
    "x", "yes", "'yes'", '"no"', "010", '"010"', "10:20", "1e3", "'1e3'", "2013-05-23", "~", "''",
    "null", "OS::Nova::Server", "a#b", "http://h/p", "'# no comment'", '"a: b"', "-1", ".5", "é 😀",
    "a\xa0b", '"\\ta\\\\"', "!!str 12", "! 12", "&anchor one", "x" * 300,
]  # fmt: skip
TEXTS = ["one", "two words", "  deeper", "", "# no comment", "- x", "a: b", "\ttab", "end  ", "é"]


class _Writer:
    """Writes one document; what it decides comes from `luck`."""

    def __init__(self, luck: random.Random) -> None:
        self.luck = luck
        self.lines: list[str] = []
        self.comments = 0
        self.anchors = 0

    def maybe(self, chance: float) -> bool:
        return self.luck.random() < chance

    def space(self, least: int = 1) -> str:
        return " " * (least + (self.luck.randint(0, 3) if self.maybe(0.2) else 0))

    def comment(self) -> str:
        self.comments += 1
        return (
            f"#{self.luck.choice(['', ' ', '  '])}c{self.comments}{self.luck.choice(['', ' x '])}"
        )

    def tail(self) -> str:
        """What may stand at the end of a line."""
        if self.maybe(0.15):
            return self.space() + self.comment()
        return " " * self.luck.randint(0, 2) if self.maybe(0.1) else ""

    def between(self, indent: int) -> None:
        """Blank lines and comments before a line."""
        while self.maybe(0.15):
            if self.maybe(0.5):
                self.lines.append(" " * self.luck.randint(0, indent))
            else:
                self.lines.append(" " * self.luck.randint(0, indent + 3) + self.comment())

    def value(self, before: str, indent: int, depth: int) -> None:
        """A value after `before`, in a block at `indent`; it ends its lines."""
        kind = self.luck.choice(["plain", "flow", "block", "text", "map", "list", "lines"])
        if depth <= 0 and kind in ("map", "list"):
            kind = "plain"
        match kind:
            case "plain":
                self.lines.append(before + self.space() + self.scalar() + self.tail())
            case "flow":
                self.flow(before + self.space(), indent, 2)
            case "block":
                self.block(before, indent)
            case "text":
                self.folded(before, indent)
            case "lines":
                self.lines.append(before + self.tail())
                self.between(indent + 1)
                self.lines.append(" " * (indent + self.luck.randint(1, 4)) + self.scalar())
            case "map":
                self.lines.append(before + self.anchor() + self.tail())
                self.map(indent + self.luck.randint(1, 5), depth - 1)
            case "list":
                self.lines.append(before + self.tail())
                self.list(indent + self.luck.randint(0, 4) * (not before.endswith("-")), depth - 1)

    def scalar(self) -> str:
        text = self.luck.choice(PLAIN)
        if "&anchor" in text:
            self.anchors += 1
            return f"&a{self.anchors} one"
        if self.anchors and self.maybe(0.1):
            return f"*a{self.luck.randint(1, self.anchors)}"
        return text

    def anchor(self) -> str:
        return " !!map" if self.maybe(0.05) else ""

    def map(self, indent: int, depth: int) -> None:
        for key in self.luck.sample(KEYS, self.luck.randint(1, 3)):
            self.between(indent)
            if self.maybe(0.05):
                self.lines.append(" " * indent + "?" + self.space() + key)
                self.value(" " * indent + ":", indent, depth)
            else:
                self.value(" " * indent + key + self.space(0) + ":", indent, depth)

    def list(self, indent: int, depth: int) -> None:
        for _ in range(self.luck.randint(1, 3)):
            self.between(indent)
            dash = " " * indent + "-"
            if depth > 0 and self.maybe(0.4):
                space = self.space()
                start = len(self.lines)
                inside = indent + 1 + len(space)
                self.map(inside, depth - 1) if self.maybe(0.6) else self.list(inside, depth - 1)
                first = self.lines[start]
                if first.strip() and not first.lstrip().startswith("#"):
                    self.lines[start] = dash + space + first.lstrip(" ")
                else:
                    self.lines.insert(start, dash)
            else:
                self.value(dash, indent, depth)

    def flow(self, before: str, indent: int, depth: int) -> None:
        """A list in brackets or a map in braces, on one line or more."""
        text = self.flow_text(indent, depth)
        *first, last = (before + text).split("\n")
        self.lines += first
        self.lines.append(last + self.tail())

    def flow_text(self, indent: int, depth: int) -> str:
        is_map = self.maybe(0.5)
        parts = []
        for _ in range(self.luck.randint(0, 3)):
            inner = (
                self.flow_text(indent, depth - 1) if depth and self.maybe(0.3) else self.scalar()
            )
            key = self.luck.choice(["k", '"k"', "'x'", "2"]) + self.space(0) + ":"
            parts.append(self.gap(indent) + (f"{key}{self.space()}{inner}" if is_map else inner))
        text = (self.space(0) + ",").join(parts) + self.gap(indent)
        return f"{{{text}}}" if is_map else f"[{text}]"

    def gap(self, indent: int) -> str:
        if self.maybe(0.2):
            comment = f" {self.comment()}" if self.maybe(0.3) else ""
            return f"{comment}\n" + " " * (indent + self.luck.randint(1, 6))
        return self.space()

    def block(self, before: str, indent: int) -> None:
        """A block scalar, its indentation told or not."""
        told = self.maybe(0.3)
        deeper = self.luck.randint(1, 5)
        texts = [self.luck.choice(TEXTS) for _ in range(self.luck.randint(0, 4))]
        if not told:  # then the first line tells it
            texts.insert(0, "first")
        style = (
            self.luck.choice("|>")
            + (str(deeper) if told else "")
            + self.luck.choice(["", "-", "+"])
        )
        self.lines.append(f"{before} {style}{self.tail()}")
        self.lines += [" " * (indent + deeper) + text if text else "" for text in texts]

    def folded(self, before: str, indent: int) -> None:
        """A scalar in quotes or plain that takes several lines."""
        style = self.luck.choice(["", "'", '"'])
        words = (
            ["one", "two\xa0", "three"] if style == "" else ["one ", "# two", "", "it\\ ", "\\"][:4]
        )
        if style == '"':
            words = ["one", "two\\ ", "", "three\\", "  four"]
        spaces = [" " * (indent + self.luck.randint(1, 9)) for _ in words]
        lines = [space + word if word else "" for space, word in zip(spaces, words, strict=True)]
        self.lines.append(f"{before} {style}{lines[0].lstrip()}")
        self.lines += lines[1:-1]
        self.lines.append(lines[-1] + style + self.tail())


def written(luck: random.Random) -> str:
    """A document whose root is a map."""
    writer = _Writer(luck)
    if writer.maybe(0.2):
        writer.lines.append(writer.comment())
    if writer.maybe(0.1):
        writer.lines.append("---" + writer.tail())
    writer.map(luck.choice([0, 0, 0, 2]), 4)
    writer.between(4)
    text = "\n".join(writer.lines)
    return text + luck.choice(["\n", "\n", "\n\n\n", ""])


texts = st.integers(0, 2**64).map(lambda seed: written(random.Random(seed)))

COMMENT = re.compile(r"#[ ]*c\d+")


def words_of_lines(text: str) -> list[str]:
    """The lines that are not blank, without their white space: formatting may not change these."""
    squeezed = ("".join(line.split()) for line in text.split("\n"))
    return [line for line in squeezed if line]
