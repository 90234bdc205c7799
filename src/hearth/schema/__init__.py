"""Declarations of the properties and attributes of resource types, and their constraints.

Each declaration is used for validation, type conversion, the resource type API and the generated
documentation. The package does not depend on templates and does not call the cloud: a check of a
custom constraint returns a `Lookup`, which the caller answers with a call to the cloud.
"""

from hearth.model.value import ValueKind
from hearth.schema.check import Findings, Lookup, coerce, coerce_all
from hearth.schema.constraint import (
    AllowedPattern,
    AllowedValues,
    Constraint,
    Custom,
    Length,
    Modulo,
    Range,
)
from hearth.schema.describe import as_json
from hearth.schema.prop import (
    ANY,
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    NUMBER,
    STRING,
    Attr,
    Prop,
    Support,
    SupportStatus,
)
from hearth.schema.relation import (
    AtLeastOne,
    AtMostOne,
    Distinct,
    Each,
    Needs,
    NotAbove,
    OnlyFor,
    Relation,
    RequiredFor,
    Same,
    Unless,
    Violation,
    Where,
    broken,
)
from hearth.schema.translation import Add, Delete, Replace, Resolve, Rule, ordered

__all__ = [
    "ANY",
    "BOOLEAN",
    "INTEGER",
    "LIST",
    "MAP",
    "NUMBER",
    "STRING",
    "Add",
    "AllowedPattern",
    "AllowedValues",
    "AtLeastOne",
    "AtMostOne",
    "Attr",
    "Constraint",
    "Custom",
    "Delete",
    "Distinct",
    "Each",
    "Findings",
    "Length",
    "Lookup",
    "Modulo",
    "Needs",
    "NotAbove",
    "OnlyFor",
    "Prop",
    "Range",
    "Relation",
    "Replace",
    "RequiredFor",
    "Resolve",
    "Rule",
    "Same",
    "Support",
    "SupportStatus",
    "Unless",
    "ValueKind",
    "Violation",
    "Where",
    "as_json",
    "broken",
    "coerce",
    "coerce_all",
    "ordered",
]
