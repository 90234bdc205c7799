"""Kubernetes versions: parsing, and which upgrades are possible.

Source: docs/spec/clusters.md, section 12, item 4.
"""

import re

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def parsed(version: str | None) -> tuple[int, int, int] | None:
    """Return a version as (major, minor, patch), or None if the text is not a version.

    A missing patch number is 0. Text after the numbers is ignored.
    """
    match = _VERSION.match(version or "")
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def tag_problem(tag: str | None, image: str, version: str | None) -> str | None:
    """Return the error message if the label kube_tag is not the version of an image, else None.

    `version` is that of the image. Return None if one of them is unknown.
    """
    tag_version, image_version = parsed(tag), parsed(version)
    if tag_version is None or image_version is None or tag_version == image_version:
        return None
    return (
        f"Label kube_tag: expected {version}, the version of Kubernetes in image {image}, got "
        f"{tag}. Remove the label or use another image."
    )


def skew_problem(current: str | None, new: str | None) -> str | None:
    """Return the error message for an upgrade that is not possible, or None if it is.

    `current` is the version of the cluster and `new` that of the template, which may be at most
    one minor version higher. Return None if a version is unknown.
    """
    current_version, target_version = parsed(current), parsed(new)
    if current_version is None or target_version is None:
        return None
    if target_version < current_version:
        return f"Kubernetes cannot be downgraded. The cluster has {current}, the template {new}."
    if target_version[0] != current_version[0] or target_version[1] > current_version[1] + 1:
        return (
            "An upgrade may skip no minor version of Kubernetes. The cluster has "
            f"{current}, the template {new}."
        )
    return None
