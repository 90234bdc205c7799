"""Common parts of the types of the shared file system service."""

from typing import Any

from hearth.resources.collection import Collection

SERVICE = "shared-file-system"
MICROVERSION = "2.50"  # the last one in which a share network shows its subnet itself


def collection_of(path: str, body: str, **options: Any) -> Collection:
    """Declare a collection of the service with a list of full bodies at `path`/detail."""
    options.setdefault("detail", f"{path}/detail")
    return Collection(SERVICE, path, body=body, microversion=MICROVERSION, **options)
