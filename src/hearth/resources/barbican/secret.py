"""OS::Barbican::Secret: a password, a key or a certificate."""

from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.barbican.base import BarbicanResource, collection_of, payload
from hearth.resources.base import ResourceContext
from hearth.resources.properties import FIXED_NAME
from hearth.schema import (
    INTEGER,
    STRING,
    AllowedValues,
    Attr,
    Needs,
    OnlyFor,
    Prop,
    Range,
    RequiredFor,
    Support,
)

TEXT = "text/plain"
BYTES = "application/octet-stream"


class Secret(BarbicanResource):
    """A secret that only authorized users can read."""

    type_name = "OS::Barbican::Secret"
    support = Support(version="2014.2")
    properties = {
        "algorithm": Prop(STRING, "Algorithm of the secret; for information only."),
        "bit_length": Prop(
            INTEGER, "Length in bits; for information only.", constraints=(Range(min=0),)
        ),
        "expiration": Prop(
            STRING, "Time at which the secret expires, in ISO 8601 format.", constraint="expiration"
        ),
        "mode": Prop(STRING, "Mode of the algorithm; for information only."),
        "name": FIXED_NAME,
        "payload": Prop(STRING, "The secret itself. If not given, it can be added later."),
        "payload_content_encoding": Prop(
            STRING,
            "Encoding of the payload; base64 for binary data.",
            constraints=(AllowedValues(["base64"]),),
        ),
        "payload_content_type": Prop(
            STRING,
            "Content type of the payload; text when not given.",
            constraints=(AllowedValues(["text/plain", "application/octet-stream"]),),
        ),
        "secret_type": Prop(
            STRING,
            "Type of the secret.",
            default="opaque",
            constraints=(
                AllowedValues(
                    ["symmetric", "public", "private", "certificate", "passphrase", "opaque"]
                ),
            ),
            since="5.0.0",
        ),
    }
    attributes = {
        "decrypted_payload": Attr(STRING, "The secret itself; binary data in base64.", secret=True),
        "status": Attr(STRING, "Its status."),
    }
    collection = collection_of("secrets")
    word = "Secret"
    relations = (
        Needs("payload_content_type", "payload"),
        RequiredFor("payload_content_encoding", "payload_content_type", BYTES),
        OnlyFor("payload_content_encoding", "payload_content_type", BYTES),
    )

    def fields(self, ctx: ResourceContext) -> Body:
        fields = super().fields(ctx)
        return {"payload_content_type": TEXT, **fields} if "payload" in fields else fields

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name != "decrypted_payload":
            return await super().attribute(ctx, name)
        if ctx.given("payload_content_type") == BYTES:
            return ctx.given("payload")
        return await payload(ctx.cloud, ctx.physical)
