"""The reference of the template language, printed by `hearth docs language`.

Its tables are generated from the grammars, the lint rules and the limits. Its texts are data:
`page.md` is the page, with a marker for each table; `functions.yaml` and `chapters.yaml` contain
the texts about functions and the examples. The tests run every example and compare its result with
the result on the page.
"""

from hearth.authoring.language.page import page

__all__ = ["page"]
