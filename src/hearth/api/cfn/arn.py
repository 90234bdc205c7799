"""Names of stacks and resources in this API: arn:openstack:heat::PROJECT:stacks/NAME/ID."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hearth.store.rows import StackRow

_ARN = re.compile(
    r"arn:openstack:heat::(?P<project>[^:/]*):stacks/(?P<name>[^/]+)/(?P<id>[^/]+)"
    r"(?:/resources/(?P<resource>.+))?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Named:
    """The target of an ARN: a stack of a project, or a resource of it."""

    project: str
    stack: str
    stack_id: str
    resource: str | None = None

    def fits(self, row: StackRow) -> bool:
        """Return whether the ARN names this stack."""
        return (self.project, self.stack, self.stack_id) == (row.project_id, row.name, row.id)


def named(text: str) -> Named | None:
    """Return the target of an ARN of this API, or None for other text; parts may be
    percent-encoded.
    """
    found = _ARN.fullmatch(text)
    if found is None or "\0" in unquote(text):  # which no database accepts in text
        return None
    resource = found["resource"]
    return Named(
        unquote(found["project"]),
        unquote(found["name"]),
        unquote(found["id"]),
        None if resource is None else unquote(resource),
    )


def stack_arn(row: StackRow) -> str:
    """Return the id of a stack in this API."""
    project, name, ident = (quote(part, safe="") for part in (row.project_id, row.name, row.id))
    return f"arn:openstack:heat::{project}:stacks/{name}/{ident}"
