"""`hearth schema`: the language and its resource types as JSON Schema."""

from hearth.authoring.json_schema import as_text, grammars_of, template_schema, type_schema
from hearth.authoring.types import author_catalog


def schema_text(flavour: str, version: str | None, kind: str | None) -> str:
    """Return the schema of templates, or of a type's properties. Raises LookupError."""
    grammars = grammars_of(flavour, version)
    if kind is None:
        return as_text(template_schema(grammars, author_catalog()))
    return as_text(type_schema(grammars, author_catalog(), kind))
