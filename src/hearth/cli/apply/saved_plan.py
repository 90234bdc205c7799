"""Plans in files: what `hearth plan -o FILE` writes and `hearth apply FILE` carries out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from hearth.cli.apply.api import UserError
from hearth.cli.apply.stack import Body, StackClient
from hearth.process.own_files import write_own

FORMAT = 1
KIND = "hearth-plan"
READ_MAX = 256 * 1024 * 1024  # bytes


class _Reason(Struct):
    property: str = ""


class _PlannedResource(Struct):
    resource: str
    action: str
    reasons: list[_Reason]
    nested: "_Plan | None" = None
    removed: "_Plan | None" = None


class _Plan(Struct):
    """What is read from the plan in a file; the rest is only compared."""

    hash: str
    resources: list[_PlannedResource]


class SavedPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A plan with its request, for the stack `name` with the id `stack_id` (None: a new stack) in
    the state file or the cloud `where`.
    """

    name: str
    stack_id: str | None
    where: str
    body: Body
    plan: Body

    @classmethod
    def of(cls, stack: StackClient, body: Body, plan: Body) -> "SavedPlan":
        """Return the plan of a stack as it is saved."""
        stack_id = None if stack.details is None else str(stack.details["id"])
        return cls(stack.name, stack_id, stack.api.location, body, plan)

    def write(self, path: Path) -> None:
        """Write the plan to a file that only the user can read, as it contains the parameters.

        Raises OSError.
        """
        text = json.dumps({"kind": KIND, "format": FORMAT, **asdict(self)}, indent=1)
        write_own(path, text)

    @classmethod
    def read(cls, path: Path) -> "SavedPlan | None":
        """Return the plan in a file; None if the file is no plan. Raises OSError, UserError."""
        with path.open("rb") as file:
            if file.read(1) != b"{":
                return None
            text = b"{" + file.read(READ_MAX)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            if KIND.encode() in text[:200]:
                raise UserError([f"{path} is damaged: it is incomplete"]) from None
            return None
        if not isinstance(document, dict) or document.pop("kind", None) != KIND:
            return None
        if document.pop("format", None) != FORMAT:
            raise UserError([f"{path} was written by a newer release of Hearth; use that release"])
        try:
            saved = msgspec.convert(document, cls)
            msgspec.convert(saved.plan, _Plan)
        except (msgspec.ValidationError, RecursionError):
            raise UserError([f"{path} is damaged: it is not a plan"]) from None
        return saved

    def demand(self, stack: StackClient) -> None:
        """Raise UserError unless the plan is for this stack."""
        if stack.api.location != self.where:
            raise UserError([f"the plan is for {self.where}, not for {stack.api.location}"])
        now = None if stack.details is None else stack.details["id"]
        if now != self.stack_id:
            reason = "does not exist any more" if now is None else "was created again since"
            raise UserError([f"the plan is old: the stack {self.name} {reason}"])

    def demand_same(self, plan: Body) -> None:
        """Raise UserError, with the differences, unless `plan` is the saved plan."""
        if plan["hash"] == self.plan["hash"]:
            return
        raise UserError(["the plan is old; this has changed since:", *differences(self.plan, plan)])


def differences(old: Body, new: Body, above: str = "") -> Iterator[str]:
    """Yield a line for each resource whose plan differs."""
    before = {entry["resource"]: entry for entry in old["resources"]}
    after = {entry["resource"]: entry for entry in new["resources"]}
    for name in dict.fromkeys([*before, *after]):
        planned, current = before.get(name), after.get(name)
        if planned == current:
            continue
        path = f"{above}{name}"
        if (
            planned is not None
            and current is not None
            and planned.get("nested")
            and current.get("nested")
        ):
            yield from differences(planned["nested"], current["nested"], f"{path}.")
            if planned["action"] == current["action"]:
                continue
        yield f"  {path}: planned {_action(planned)}, now {_action(current)}"


def _action(entry: Any) -> str:
    if entry is None:
        return "nothing"
    values = [
        f"{reason['property']} = {json.dumps(reason.get('after'), default=str)}"
        for reason in entry["reasons"]
        if "property" in reason
    ]
    return f"{entry['action']} ({', '.join(values)})" if values else str(entry["action"])
