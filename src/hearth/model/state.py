"""What is being done to a stack or a resource, and how far it is."""

from enum import StrEnum


class Action(StrEnum):
    """What is, or was last, done."""

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
    """How far an action is."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"


class DeletionPolicy(StrEnum):
    """What becomes of the real object when its resource leaves the stack."""

    DELETE = "Delete"
    RETAIN = "Retain"
    SNAPSHOT = "Snapshot"


class Hook(StrEnum):
    """A moment of a resource's life at which it can be made to wait."""

    PRE_CREATE = "pre-create"
    PRE_UPDATE = "pre-update"
    PRE_DELETE = "pre-delete"
    POST_CREATE = "post-create"
    POST_UPDATE = "post-update"
    POST_DELETE = "post-delete"


class RestrictedAction(StrEnum):
    """What an environment can forbid to be done to a resource."""

    UPDATE = "update"
    REPLACE = "replace"
