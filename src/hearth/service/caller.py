"""Who asks."""

from dataclasses import dataclass, field

STACK_USER_ROLE = "heat_stack_user"


@dataclass(frozen=True)
class Caller:
    """A user in a project, with the token that proves it."""

    user_id: str
    user_name: str
    project_id: str
    roles: frozenset[str] = frozenset()
    token: str = field(default="", repr=False)
    auth_url: str = ""
    project_name: str = ""

    @property
    def admin(self) -> bool:
        """May see what is other projects'."""
        return "admin" in self.roles

    @property
    def guest(self) -> bool:
        """A user of a stack's own project: what runs inside servers."""
        return STACK_USER_ROLE in self.roles
