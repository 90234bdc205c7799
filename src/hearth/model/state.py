"""The action of a stack or a resource, and its status."""

from enum import StrEnum


class Action(StrEnum):
    """The current action, or the last one."""

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
    """The status of an action."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"


class DeletionPolicy(StrEnum):
    """What happens to the object in the cloud when its resource leaves the stack."""

    DELETE = "Delete"
    RETAIN = "Retain"
    SNAPSHOT = "Snapshot"


class Hook(StrEnum):
    """A point in a resource's life cycle at which a hook can make it wait."""

    PRE_CREATE = "pre-create"
    PRE_UPDATE = "pre-update"
    PRE_DELETE = "pre-delete"
    POST_CREATE = "post-create"
    POST_UPDATE = "post-update"
    POST_DELETE = "post-delete"


class RestrictedAction(StrEnum):
    """An action that an environment can forbid for a resource."""

    UPDATE = "update"
    REPLACE = "replace"
