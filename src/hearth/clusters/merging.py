"""Combining and comparing the labels of a cluster, a node group and their template.

Source: tests/facts/magnum/labels.json, `merge_rules`; tests/facts/magnum/objects.json, `computed`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hearth.clusters.objects import Labels


def merged(base: Labels, labels: Labels | None, *, merge: bool) -> dict[str, str]:
    """Return the labels of a new object.

    They are a copy of `base` if the request gives no labels. Otherwise they are the given labels,
    which are added to those of `base` if `merge` is true.
    """
    if not labels:
        return dict(base)
    return {**base, **labels} if merge else dict(labels)


class LabelDifference(NamedTuple):
    """The labels in which an object differs from its template or cluster (its base).

    `overridden` are the labels with another value in the object; it contains the values of the
    base. `added` are the labels that only the object has, and `skipped` those that only the base
    has.
    """

    overridden: Mapping[str, str]  # the values of the base
    added: Mapping[str, str]
    skipped: Mapping[str, str]


def difference(base: Labels, labels: Labels) -> LabelDifference:
    """Compare the labels `labels` of an object with those of its template or cluster, `base`."""
    return LabelDifference(
        {key: base[key] for key in base.keys() & labels.keys() if base[key] != labels[key]},
        {key: value for key, value in labels.items() if key not in base},
        {key: value for key, value in base.items() if key not in labels},
    )
