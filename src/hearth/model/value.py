"""The types of values: string, integer, list and others."""

from enum import StrEnum


class ValueKind(StrEnum):
    """The type of a property, attribute or parameter value, as the API names it."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    MAP = "map"
    ANY = "any"
