"""The reference of the template language: `hearth docs language`.

What a version has is asked of its grammar, what a rule finds of the rule, how long something may be
of its limit. What can only be said in words is data: `page.md` is the page with a place for each
table, `functions.yaml` and `chapters.yaml` hold the words on functions and the examples. Every
example is run by the test suite, and what the page shows is what came out.
"""

from hearth.authoring.language.page import page

__all__ = ["page"]
