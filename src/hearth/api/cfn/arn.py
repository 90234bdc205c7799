"""ARNs, the names of stacks and resources in this API:
arn:openstack:heat::PROJECT:stacks/NAME/ID.
"""

import re
from urllib.parse import quote, unquote

from msgspec import Struct

from hearth.store.rows import StackRow

_ARN = re.compile(
    r"arn:openstack:heat::(?P<project>[^:/]*):stacks/(?P<name>[^/]+)/(?P<id>[^/]+)"
    r"(?:/resources/(?P<resource>.+))?",
    re.DOTALL,
)


class StackArn(Struct, frozen=True):
    """The stack or the resource to which an ARN refers."""

    project: str
    stack: str
    stack_id: str
    resource: str | None = None

    def fits(self, row: StackRow) -> bool:
        """Return whether the ARN refers to this stack or to one of its resources."""
        return (self.project, self.stack, self.stack_id) == (row.project_id, row.name, row.id)


def parsed_arn(text: str) -> StackArn | None:
    """Return the stack or resource to which an ARN refers; None if the text is not such an ARN.

    Parts of the ARN may be percent-encoded.
    """
    match = _ARN.fullmatch(text)
    # null characters are not accepted in texts of databases
    if match is None or "\0" in unquote(text):
        return None
    resource = match["resource"]
    return StackArn(
        unquote(match["project"]),
        unquote(match["name"]),
        unquote(match["id"]),
        None if resource is None else unquote(resource),
    )


def stack_arn(row: StackRow) -> str:
    """Return the ARN of a stack."""
    project, name, ident = (quote(part, safe="") for part in (row.project_id, row.name, row.id))
    return f"arn:openstack:heat::{project}:stacks/{name}/{ident}"
