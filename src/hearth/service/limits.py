"""The limits and switches for requests."""

from functools import partial
from typing import Annotated

from msgspec import Struct

from hearth.model.option import Option

_live = partial(Option, live=True)


# fmt: off
class RequestLimits(Struct, frozen=True):
    """The limits and switches for requests, besides those for templates.

    For the numbers per project and per stack, -1 means no limit. Source: docs/spec/engine.md,
    section 37.
    """

    max_stacks_per_tenant: Annotated[int, _live("Maximum number of stacks of a project; -1: no limit.", minimum=-1)] = 512
    max_snapshots_per_stack: Annotated[int, _live("Maximum number of snapshots of a stack; -1: no limit.", minimum=-1)] = 32
    max_software_configs_per_tenant: Annotated[int, _live("Maximum number of software configurations of a project; -1: no limit.", minimum=-1)] = 4096
    max_software_deployments_per_tenant: Annotated[int, _live("Maximum number of software deployments of a project; -1: no limit.", minimum=-1)] = 4096
    max_json_body_size: Annotated[int, _live("Maximum size of a request body in bytes.", minimum=0)] = 1048576
    enable_stack_adopt: Annotated[bool, _live("true: users can adopt stacks.")] = False
    enable_stack_abandon: Annotated[bool, _live("true: users can abandon and export stacks.")] = False
    hidden_stack_tags: Annotated[tuple[str, ...], _live("Tags of hidden stacks: lists show a stack with one of these tags only on request.")] = ()
    observe_on_update: Annotated[bool, _live("true: every update compares with the real state in the cloud, like `converge` in a request.")] = False
    operations_per_project: Annotated[int, _live("Number of stacks of a project that can be in progress at the same time. Further creates, updates and other operations get the status 429 with Retry-After; deletes are always accepted. 0: no limit.", group="hearth", hearth_only=True, minimum=0)] = 0
# fmt: on
