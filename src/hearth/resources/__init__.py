"""Resource types: one folder per service, one file per type or small family.

A type is a stateless declaration: properties, attributes, and for each action a list of named
steps. It never waits, keeps no state between calls, and imports no store, no engine and no API.
Packages that add types import the names from here: docs/extending.md.
"""

from hearth.resources.base import (
    Change,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    ResourceType,
    Step,
)
from hearth.resources.capabilities import IntentKey, MakesObject, Observable
from hearth.resources.collection import Collection, CollectionResource, forgiving

__all__ = [
    "Change",
    "Collection",
    "CollectionResource",
    "Failed",
    "IntentKey",
    "Later",
    "Made",
    "MakesObject",
    "Observable",
    "Progress",
    "Ready",
    "ResourceContext",
    "ResourceType",
    "Step",
    "forgiving",
]
