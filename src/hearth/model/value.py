"""The types of values: string, integer, list and others."""

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
