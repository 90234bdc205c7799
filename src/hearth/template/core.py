"""The expressions of a resource's definition, with parameters and conditions replaced by values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from hearth.model.state import DeletionPolicy
from hearth.template.evaluated import Evaluated
from hearth.template.expr import Const, Expr, MapOf, frozen, keys_of
from hearth.template.parse import EMPTY, ResourceSource
from hearth.template.references import references_in
from hearth.template.scope import Scope

NO_NAMES = frozenset[str]()


class Core:
    """The definition of a resource, with parameters and conditions replaced by their values.

    If the definition depends on neither, the programs of a module share one Core. `dropped` are the
    properties that a condition has removed.
    """

    __slots__ = (
        "_fingerprint",
        "deletion_policy",
        "dropped",
        "external_id",
        "has_policy",
        "hot",
        "metadata",
        "properties",
        "references",
        "sound",
        "source",
        "static",
        "update_policy",
    )

    def __init__(self, source: ResourceSource, scope: Scope | None, hot: bool) -> None:
        def narrowed(expr: Expr) -> Expr:
            return expr if scope is None or type(expr) is Const else expr.specialise(scope)

        self.source = source
        self.hot = hot
        self.properties = _by_entry(narrowed(source.properties), source.properties, scope)
        self.dropped = _dropped(source.properties, self.properties)
        self.metadata = narrowed(source.metadata)
        self.update_policy = narrowed(source.update_policy)
        self.has_policy = source.update_policy is not EMPTY
        self.deletion_policy = DeletionPolicy.DELETE.value
        self.external_id: str | None = None
        self.references = [
            reference
            for expr in (self.properties, self.metadata)
            if type(expr) is not Const
            for reference in references_in(expr)
        ]
        self.static: Evaluated | None = None
        self.sound = False  # `static` has no problem, and no conflict between its properties
        self._fingerprint = ""

    def word(self, key: str) -> str:
        """Return the keyword for a key of a resource in the format of the template, HOT or CFN."""
        return key if self.hot else key.title().replace("_", "")

    def fingerprint(self, type_name: str) -> str:
        """Return a hash that is equal for equal definitions of resources of the same type."""
        if not self._fingerprint:
            parts = [
                type_name,
                self.properties,
                self.metadata,
                self.update_policy,
                self.deletion_policy,
                self.external_id,
                sorted(self.source.depends_on),
            ]
            self._fingerprint = fingerprint_of(parts)
        return self._fingerprint


def _dropped(before: Expr, after: Expr) -> frozenset[str]:
    if after is before:
        return NO_NAMES
    return frozenset(keys_of(before)).difference(keys_of(after))


def _by_entry(expr: Expr, source: Expr, scope: Scope | None) -> Expr:
    """Split a constant map into its entries if one of them is secret.

    Otherwise all other entries would also count as secret.
    """
    if not isinstance(expr, Const) or not expr.secret or not isinstance(source, MapOf):
        return expr
    assert scope is not None
    entries = {name: source.entries[name].specialise(scope) for name in expr.value}
    return MapOf(entries)


_ENCODER = json.JSONEncoder(sort_keys=True, default=str)


def fingerprint_of(parts: Sequence[Any]) -> str:
    """Return a hash of JSON data and expressions that is the same in every process."""
    data = [frozen(part) if isinstance(part, Expr) else part for part in parts]
    text = _ENCODER.encode(data)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
