"""OS::Heat::RandomString: a random text, for example a password.

The text is derived from the record's secret and the properties, so that a repeated create gives the
same text.
"""

import hashlib
import hmac
import string
from collections.abc import Mapping, MutableSequence, Sequence
from typing import Any

from hearth.resources.base import Made, ResourceContext
from hearth.resources.capabilities import Immediate, SecretReference
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    AtLeastOne,
    Attr,
    Check,
    Each,
    Prop,
    Range,
    Support,
    SupportStatus,
    Violation,
)

CLASSES = {
    "lettersdigits": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "lowercase": string.ascii_lowercase,
    "uppercase": string.ascii_uppercase,
    "digits": string.digits,
    "hexdigits": string.digits + "ABCDEF",
    "octdigits": string.octdigits,
}


Sets = Sequence[Mapping[str, Any]] | None
OF_SETS = ("sequence", "character_classes", "character_sequences")


def _minimums(sequence: str | None, classes: Sets, sequences: Sets) -> list[int]:
    """Return the minimum number of characters of each set."""
    sets = [*(sequences or []), *([{}] if sequence else classes or [])]
    return [int(charset.get("min") or 1) for charset in sets]


def _without_sets(sequence: str | None, classes: Sets, sequences: Sets) -> list[Violation]:
    if _minimums(sequence, classes, sequences):
        return []
    return [Violation((), "character_classes or character_sequences must have an entry")]


def _too_short(
    length: int | None, sequence: str | None, classes: Sets, sequences: Sets
) -> list[Violation]:
    if length is None or sum(_minimums(sequence, classes, sequences)) <= length:
        return []
    return [Violation((), "length is smaller than the sum of all minimum numbers of characters")]


class RandomString(Immediate, SecretReference):
    """A random string of given characters, generated once and stored."""

    type_name = "OS::Heat::RandomString"
    support = Support(version="2014.1")
    properties = {
        "character_classes": Prop(
            LIST,
            "Classes of characters that must occur.",
            default=[{"class": "lettersdigits", "min": 1}],
            schema=Prop(
                MAP,
                schema={
                    "class": Prop(
                        STRING,
                        "Name of the class.",
                        default="lettersdigits",
                        constraints=(
                            AllowedValues(
                                [
                                    "lettersdigits",
                                    "letters",
                                    "lowercase",
                                    "uppercase",
                                    "digits",
                                    "hexdigits",
                                    "octdigits",
                                ]
                            ),
                        ),
                    ),
                    "min": Prop(
                        INTEGER,
                        "Minimum number of characters of the class.",
                        default=1,
                        constraints=(Range(min=1, max=512),),
                    ),
                },
            ),
        ),
        "character_sequences": Prop(
            LIST,
            "Sets of characters that must occur.",
            schema=Prop(
                MAP,
                schema={
                    "min": Prop(
                        INTEGER,
                        "Minimum number of characters from the set.",
                        default=1,
                        constraints=(Range(min=1, max=512),),
                    ),
                    "sequence": Prop(STRING, "The characters.", required=True),
                },
            ),
        ),
        "length": Prop(
            INTEGER, "Length of the string.", default=32, constraints=(Range(min=1, max=512),)
        ),
        "salt": Prop(STRING, "Any text; a change of it generates a new string."),
        "sequence": Prop(
            STRING,
            "Use character_classes instead.",
            constraints=(
                AllowedValues(
                    [
                        "lettersdigits",
                        "letters",
                        "lowercase",
                        "uppercase",
                        "digits",
                        "hexdigits",
                        "octdigits",
                    ]
                ),
            ),
            support=Support(
                SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.2")
            ),
        ),
    }
    attributes = {
        "value": Attr(STRING, "The value.", cached=False, secret=True),
    }
    relations = (
        Each("character_sequences", AtLeastOne("sequence")),
        Check(
            "character_classes or character_sequences must have an entry",
            _without_sets,
            *OF_SETS,
        ),
        Check(
            "length must not be below the sum of all minimum numbers of characters",
            _too_short,
            "length",
            *OF_SETS,
        ),
    )

    def make(self, ctx: ResourceContext) -> Made:
        return Made(physical_id=ctx.physical_name, data={"value": text_of(ctx)})

    def reference(self, ctx: ResourceContext) -> str:
        return text_of(ctx) if ctx.physical_id else ctx.name

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"value": text_of(ctx)}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return text_of(ctx) if name == "value" else None


def text_of(ctx: ResourceContext) -> str:
    """Return the stored text; before the create, the text derived from the record's secret."""
    if "value" in ctx.data:
        return ctx.data["value"]
    source = RandomSource(ctx.secret() or ctx.key)
    return random_text(sets_of(ctx.properties), int(ctx.properties["length"]), source)


def sets_of(properties: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (characters, minimum number of them) for each requested set of characters."""
    sets = [
        (charset["sequence"], int(charset.get("min") or 1))
        for charset in properties.get("character_sequences") or []
    ]
    if properties.get("sequence"):  # the oldest form: one class and nothing else
        return [*sets, (CLASSES[properties["sequence"]], 1)]
    classes = properties.get("character_classes") or []
    return sets + [
        (CLASSES[charset.get("class") or "lettersdigits"], int(charset.get("min") or 1))
        for charset in classes
    ]


class RandomSource:
    """A pseudo-random generator. The same seed gives the same sequence."""

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._drawn = 0

    def below(self, limit: int) -> int:
        """Return a number from 0 to `limit` - 1."""
        self._drawn += 1
        message = self._drawn.to_bytes(8, "big")
        digest = hmac.new(self._seed, message, hashlib.sha256).digest()
        return int.from_bytes(digest[:16], "big") % limit

    def pick(self, characters: Sequence[str]) -> str:
        """Return one of the characters."""
        return characters[self.below(len(characters))]

    def shuffle(self, items: MutableSequence[str]) -> None:
        """Shuffle the items in place."""
        for last in range(len(items) - 1, 0, -1):
            index = self.below(last + 1)
            items[last], items[index] = items[index], items[last]


def random_text(sets: Sequence[tuple[str, int]], length: int, source: RandomSource) -> str:
    """Return a random text that contains the minimum number of characters from each set.

    The rest, up to `length`, is chosen from all sets together.
    """
    drawn = [source.pick(characters) for characters, minimum in sets for _ in range(minimum)]
    everything = "".join(characters for characters, _ in sets)
    drawn += [source.pick(everything) for _ in range(length - len(drawn))]
    source.shuffle(drawn)
    return "".join(drawn)
