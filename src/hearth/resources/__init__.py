"""What can be made: one folder per service, one file per resource type or small family.

A type is a stateless declaration: properties, attributes, and per action a list of named steps. It
never waits by itself, keeps nothing between calls, and knows no store, no engine and no API. What
is exported here is what types of other packages are made with: docs/extending.md.
"""

from hearth.resources.base import (
    Change,
    Failed,
    IntentKey,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    ResourceType,
    Step,
)
from hearth.resources.collection import Collection, CollectionResource, forgiving

__all__ = [
    "Change",
    "Collection",
    "CollectionResource",
    "Failed",
    "IntentKey",
    "Later",
    "Made",
    "Progress",
    "Ready",
    "ResourceContext",
    "ResourceType",
    "Step",
    "forgiving",
]
