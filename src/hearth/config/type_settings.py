"""The operator's settings for resource types, which all processes of Hearth share."""

import json
from typing import Annotated, Any

import msgspec
from msgspec import Struct, field

from hearth.model.option import Option
from hearth.resources.nova.defaults import ServerDefaults, with_defaults
from hearth.resources.registry import Catalog, default_catalog


class TypeSettings(Struct, frozen=True):
    """The defaults for properties of servers, and whether retired types are revived."""

    servers: ServerDefaults = field(default_factory=ServerDefaults)
    revive_retired_types: Annotated[
        bool,
        Option(
            "true: retired types with a successor work through it, for example "
            "OS::Neutron::LBaaS::Pool through Octavia. false: they are placeholders that create "
            "nothing, as in Heat.",
            group="hearth",
            hearth_only=True,
        ),
    ] = False

    def catalog(self) -> Catalog:
        """Return the catalogue of all types with these settings."""
        return with_defaults(default_catalog(revive=self.revive_retired_types), self.servers)

    def as_text(self) -> str:
        """Return the settings as JSON text, for another process."""
        return json.dumps(msgspec.to_builtins(self))

    @classmethod
    def of_text(cls, text: str) -> "TypeSettings":
        """Return the settings from the text that `as_text` returned."""
        document: dict[str, Any] = json.loads(text)
        return cls(ServerDefaults(**document["servers"]), document["revive_retired_types"])
