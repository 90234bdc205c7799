"""The reference of the template language: `hearth docs language`.

Tables are generated from the grammars, the lint rules and the limits. The texts are data: `page.md`
is the page with a marker for each table; `functions.yaml` and `chapters.yaml` contain the texts
about functions and the examples. The test suite runs every example and compares its result with the
result that the page shows.
"""

from hearth.authoring.language.page import page

__all__ = ["page"]
