"""Limits of templates. Source: docs/spec/hot.md, section 11."""

from functools import partial
from typing import Annotated

from msgspec import Struct

from hearth.model.option import Option

_live = partial(Option, live=True)


# fmt: off
class Limits(Struct, frozen=True):
    """The limits for texts and for trees of templates. A maximum of -1 resources means that there
    is no limit.
    """

    max_template_size: Annotated[int, _live("Maximum size of a template in characters; of a downloaded template in bytes.", minimum=0)] = 524288
    nodes_max: int = 1_000_000  # after aliases are expanded
    nesting_max: int = 100  # lists and maps inside each other
    max_nested_stack_depth: Annotated[int, _live("Maximum depth of nested stacks.", minimum=0)] = 5
    max_resources_per_stack: Annotated[int, _live("Maximum number of resources of a stack with all its nested stacks; -1: no limit.", minimum=-1)] = 1000
    yaql_limit_iterators: Annotated[int, _live("Maximum number of elements of a sequence in a YAQL expression.", group="yaql", name="limit_iterators", minimum=1)] = 200
    yaql_memory_quota: Annotated[int, _live("Maximum memory of a YAQL expression, in bytes.", group="yaql", name="memory_quota", minimum=1)] = 10000
# fmt: on


def too_many_resources(count: int, maximum: int) -> str:
    """Return the error message for a template or a tree of stacks that has too many resources.

    `count` is the number of its resources, and `maximum` is the maximum.
    """
    return f"Request limit exceeded: {count} resources are more than the {maximum} allowed"
