"""Kubernetes versions: parsing, and which upgrades are possible.

Source: spec/clusters.md, section 12, item 4.
"""

import re

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def parsed(version: str | None) -> tuple[int, int, int] | None:
    """Return a version as (major, minor, patch), or None if the text is not a version.

    A missing patch number is 0. Text after the numbers is ignored.
    """
    found = _VERSION.match(version or "")
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))


def tag_problem(tag: str | None, image: str, version: str | None) -> str | None:
    """Return the error message if the label kube_tag is not the version of an image, else None.

    `version` is that of the image. Return None if one of them is unknown.
    """
    asked, there = parsed(tag), parsed(version)
    if asked is None or there is None or asked == there:
        return None
    return (
        f"Label kube_tag: expected {version}, the version of Kubernetes in image {image}, got "
        f"{tag}. Remove the label or use another image."
    )


def skew_problem(current: str | None, wanted: str | None) -> str | None:
    """Return the error message for an upgrade that is not possible, or None if it is.

    `current` is the version of the cluster and `wanted` that of the template, which may be at most
    one minor version higher. Return None if a version is unknown.
    """
    here, there = parsed(current), parsed(wanted)
    if here is None or there is None:
        return None
    if there < here:
        return f"Kubernetes cannot be downgraded. The cluster has {current}, the template {wanted}."
    if there[0] != here[0] or there[1] > here[1] + 1:
        return (
            "An upgrade may skip no minor version of Kubernetes. The cluster has "
            f"{current}, the template {wanted}."
        )
    return None
