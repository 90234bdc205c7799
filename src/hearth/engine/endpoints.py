"""The addresses of Hearth's services, and the facts about a stack that resource types may use."""

from msgspec import Struct

from hearth.resources.base import StackFacts
from hearth.store.rows import StackRow


class Endpoints(Struct, frozen=True):
    """The addresses of Hearth and of Keystone that servers in the cloud use.

    `heat`, `cfn`, `waitcondition` and `metadata` are URLs of Hearth. In `heat`, the text
    `{project}` is a placeholder for the project id. `identity` is the URL of Keystone. If
    `stack_scheduler_hints` is true, scheduler hints name the stack to which a server or volume
    belongs.
    """

    heat: str = ""
    cfn: str = ""
    identity: str = ""
    region: str | None = None
    waitcondition: str = ""
    metadata: str = ""
    stack_scheduler_hints: bool = False


def stack_facts(stack: StackRow, at: Endpoints) -> StackFacts:
    """Return the facts about a stack that resource types may use."""
    return StackFacts(
        id=stack.id,
        name=stack.name,
        project_id=stack.project_id,
        user_project_id=stack.user_project_id,
        root_id=stack.root_id,
        region=at.region,
        heat_url=at.heat.replace("{project}", stack.project_id),
        cfn_url=at.cfn,
        identity_url=at.identity,
        metadata_url=at.metadata,
        waitcondition_url=at.waitcondition,
        timeout_mins=stack.timeout_mins,
        stack_scheduler_hints=at.stack_scheduler_hints,
    )
