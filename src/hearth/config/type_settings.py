"""The operator's settings for resource types, which all processes of Hearth share."""

import json
from typing import Any

import msgspec
from msgspec import Struct, field

from hearth.resources.nova.defaults import ServerDefaults, with_defaults
from hearth.resources.registry import Catalog, default_catalog


class TypeSettings(Struct, frozen=True):
    """The defaults for properties of servers, and whether retired types are revived."""

    servers: ServerDefaults = field(default_factory=ServerDefaults)
    revive: bool = False

    def catalog(self) -> Catalog:
        """Return the catalogue of all types with these settings."""
        return with_defaults(default_catalog(revive=self.revive), self.servers)

    def as_text(self) -> str:
        """Return the settings as JSON text, for another process."""
        return json.dumps(msgspec.to_builtins(self))

    @classmethod
    def of_text(cls, text: str) -> "TypeSettings":
        """Return the settings from the text that `as_text` returned."""
        document: dict[str, Any] = json.loads(text)
        return cls(ServerDefaults(**document["servers"]), document["revive"])
