"""Containers: groups of secrets."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.resources.barbican.base import BarbicanResource, collection_of
from hearth.resources.base import ResourceContext
from hearth.resources.properties import FIXED_NAME
from hearth.schema import (
    LIST,
    MAP,
    STRING,
    Attr,
    Distinct,
    Prop,
    Support,
)


class Container(BarbicanResource):
    """A container of secrets, each with a name. Containers for certificates and key pairs have a
    property for each secret.
    """

    attributes = {
        "consumers": Attr(LIST, "Its registered consumers."),
        "container_ref": Attr(STRING, "Its URL."),
        "secret_refs": Attr(MAP, "URLs of its secrets, by name."),
        "status": Attr(STRING, "Its status."),
    }
    collection = collection_of("containers")
    word = "Container"
    kind: ClassVar[str]

    def fields(self, ctx: ResourceContext) -> Body:
        refs = [{"name": name, "secret_ref": ref} for name, ref in self.secrets(ctx.properties)]
        return {"name": ctx.wanted_name, "type": self.kind, "secret_refs": refs}

    def secrets(self, properties: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Yield (name, URL) for each secret, from the property `secrets` and from each property
        `NAME_ref`.
        """
        for secret in properties.get("secrets") or []:
            yield secret["name"], secret["ref"]
        for name in self.properties:
            if name.endswith("_ref") and properties.get(name):
                yield name.removesuffix("_ref"), properties[name]

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {**super().recordable(ctx), **_by_name(ctx.body or {})}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name != "secret_refs":
            return await super().attribute(ctx, name)
        return _by_name(await self.show(ctx) or {})["secret_refs"]


def _by_name(body: Mapping[str, Any]) -> dict[str, Any]:
    if "secret_refs" not in body:
        return {}
    return {
        "secret_refs": {secret.get("name"): secret["secret_ref"] for secret in body["secret_refs"]}
    }


class GenericContainer(Container):
    """A container of secrets under names that the user chooses."""

    type_name = "OS::Barbican::GenericContainer"
    support = Support(version="6.0.0")
    properties = {
        "name": FIXED_NAME,
        "secrets": Prop(
            LIST,
            "The secrets.",
            schema=Prop(
                MAP,
                schema={
                    "name": Prop(STRING, "Name of the secret in the container.", required=True),
                    "ref": Prop(
                        STRING, "URL of the secret.", required=True, constraint="barbican.secret"
                    ),
                },
            ),
        ),
    }
    kind = "generic"
    relations = (Distinct("secrets", "ref"),)


class CertificateContainer(Container):
    """A certificate, its private key and its intermediates."""

    type_name = "OS::Barbican::CertificateContainer"
    support = Support(version="6.0.0")
    properties = {
        "certificate_ref": Prop(
            STRING, "URL of the secret with the certificate.", constraint="barbican.secret"
        ),
        "intermediates_ref": Prop(
            STRING,
            "URL of the secret with the intermediate certificates.",
            constraint="barbican.secret",
        ),
        "name": FIXED_NAME,
        "private_key_passphrase_ref": Prop(
            STRING,
            "URL of the secret with the passphrase of the private key.",
            constraint="barbican.secret",
        ),
        "private_key_ref": Prop(
            STRING, "URL of the secret with the private key.", constraint="barbican.secret"
        ),
    }
    kind = "certificate"


class RSAContainer(Container):
    """An RSA key pair; it contains both keys or is empty."""

    type_name = "OS::Barbican::RSAContainer"
    support = Support(version="6.0.0")
    properties = {
        "name": FIXED_NAME,
        "private_key_passphrase_ref": Prop(
            STRING,
            "URL of the secret with the passphrase of the private key.",
            constraint="barbican.secret",
        ),
        "private_key_ref": Prop(
            STRING, "URL of the secret with the private key.", constraint="barbican.secret"
        ),
        "public_key_ref": Prop(
            STRING, "URL of the secret with the public key.", constraint="barbican.secret"
        ),
    }
    kind = "rsa"
