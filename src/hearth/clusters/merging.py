"""How the labels of a request and of its template are combined, and how they differ.

Source: facts/magnum/labels.json, `merge_rules`; facts/magnum/objects.json, `computed`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hearth.clusters.objects import Labels


def merged(base: Labels, given: Labels | None, *, merge: bool) -> dict[str, str]:
    """Return the labels of a new object: a copy of `base`, or what the request gives.

    With `merge` the labels of the request are added to those of `base`.
    """
    if not given:
        return dict(base)
    return {**base, **given} if merge else dict(given)


class Difference(NamedTuple):
    """How the labels of an object differ from the labels of its template or its cluster."""

    overridden: Mapping[str, str]  # the values of the base
    added: Mapping[str, str]
    skipped: Mapping[str, str]


def difference(base: Labels, own: Labels) -> Difference:
    """Return how the labels of an object differ from those of its template or its cluster."""
    return Difference(
        {key: base[key] for key in base.keys() & own.keys() if base[key] != own[key]},
        {key: value for key, value in own.items() if key not in base},
        {key: value for key, value in base.items() if key not in own},
    )
