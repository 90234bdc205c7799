"""The types of plain values."""

from enum import StrEnum


class ValueKind(StrEnum):
    """The type of a value, by its wire name."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    MAP = "map"
    ANY = "any"
