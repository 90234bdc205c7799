"""acme_slug: a title as a word for names and addresses."""

import re
from typing import Any

from hearth.template.functions import EvaluationError, Function, pure


def slug(title: Any) -> str:
    """Lower-case letters, digits and hyphens; "My first Site" gives "my-first-site"."""
    if not isinstance(title, str):
        raise EvaluationError(f"expected a text, got {title!r}")
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


SLUG = Function("acme_slug", apply=pure(slug), description="A title as a word for names.")
