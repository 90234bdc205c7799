"""`hearth schema`: prints a JSON Schema of the template language and the resource types."""

from hearth.authoring.json_schema import as_text, grammars_of, template_schema, type_schema
from hearth.authoring.types import author_catalog


def schema_text(flavour: str, version: str | None, kind: str | None) -> str:
    """Return the JSON Schema of templates or, if `kind` is given, of that resource type's
    properties.

    `flavour` is "hot" or "cfn"; if `version` is None, the schema covers all its versions. Raises
    LookupError if the version or the type does not exist.
    """
    grammars = grammars_of(flavour, version)
    if kind is None:
        return as_text(template_schema(grammars, author_catalog()))
    return as_text(type_schema(grammars, author_catalog(), kind))
