"""Limits of templates. Source: docs/spec/hot.md, section 11."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True):
    """The limits for texts and for trees of templates. A maximum of -1 resources means that there
    is no limit.
    """

    template_size_max: int = 524288  # characters of one text
    nodes_max: int = 1_000_000  # after aliases are expanded
    nesting_max: int = 100  # lists and maps inside each other
    stack_depth_max: int = 5  # levels of nested stacks below the root
    resources_max: int = 1000  # per template
    yaql_iterators_max: int = 200
    yaql_memory_bytes: int = 10000


def too_many_resources(count: int, maximum: int) -> str:
    """Return the error message for a template or a tree of stacks that has too many resources.

    `count` is the number of its resources, and `maximum` is the maximum.
    """
    return f"Request limit exceeded: {count} resources are more than the {maximum} allowed"
