"""Actions and statuses of stacks and resources, deletion policies, and hooks."""

from enum import StrEnum


class Action(StrEnum):
    """The action that a stack or a resource performs now, or the last one that it performed."""

    INIT = "INIT"
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    ROLLBACK = "ROLLBACK"
    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    ADOPT = "ADOPT"
    SNAPSHOT = "SNAPSHOT"
    CHECK = "CHECK"
    RESTORE = "RESTORE"


class Status(StrEnum):
    """The status of the action of a stack or a resource."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"


class DeletionPolicy(StrEnum):
    """What happens to the object in the cloud when its resource leaves the stack."""

    DELETE = "Delete"
    RETAIN = "Retain"
    SNAPSHOT = "Snapshot"


class Hook(StrEnum):
    """A point at which a resource waits until a user clears the hook."""

    PRE_CREATE = "pre-create"
    PRE_UPDATE = "pre-update"
    PRE_DELETE = "pre-delete"
    POST_CREATE = "post-create"
    POST_UPDATE = "post-update"
    POST_DELETE = "post-delete"


class RestrictedAction(StrEnum):
    """An action that `restricted_actions` in an environment can forbid for a resource."""

    UPDATE = "update"
    REPLACE = "replace"
