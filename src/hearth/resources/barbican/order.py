"""OS::Barbican::Order: a request to generate a key, a key pair or a certificate."""

from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.barbican.base import SERVICE, BarbicanResource, collection_of, id_of, payload
from hearth.resources.base import ResourceContext
from hearth.resources.properties import FIXED_NAME
from hearth.schema import (
    INTEGER,
    STRING,
    AllowedValues,
    Attr,
    OnlyFor,
    Prop,
    RequiredFor,
    Support,
)

KEY = ("algorithm", "bit_length", "mode", "expiration", "payload_content_type")
CERTIFICATE = (
    "request_type", "subject_dn", "source_container_ref", "ca_id", "profile", "request_data",
)  # fmt: skip
MADE = ("certificate", "intermediates", "private_key", "public_key")


class Order(BarbicanResource):
    """A request to generate a secret; the secret remains when the order is deleted."""

    type_name = "OS::Barbican::Order"
    support = Support(version="2014.2")
    properties = {
        "algorithm": Prop(STRING, "Algorithm of the key."),
        "bit_length": Prop(INTEGER, "Length of the key in bits."),
        "ca_id": Prop(STRING, "Id of the authority that signs the certificate.", since="5.0.0"),
        "expiration": Prop(
            STRING,
            "Time at which the key expires, in ISO 8601 format.",
            constraint="expiration",
        ),
        "mode": Prop(STRING, "Mode of the algorithm.", empty_is_none=True),
        "name": FIXED_NAME,
        "pass_phrase": Prop(STRING, "Passphrase of the private key.", since="5.0.0"),
        "payload_content_type": Prop(STRING, "Content type of the key."),
        "profile": Prop(STRING, "Certificate profile of the authority.", since="5.0.0"),
        "request_data": Prop(STRING, "The certificate signing request.", since="5.0.0"),
        "request_type": Prop(
            STRING,
            "Type of the certificate request.",
            constraints=(AllowedValues(["stored-key", "simple-cmc", "custom"]),),
            since="5.0.0",
        ),
        "source_container_ref": Prop(
            STRING,
            "URL of the container with the key pair to certify.",
            constraint="barbican.container",
            since="5.0.0",
        ),
        "subject_dn": Prop(
            STRING, "Subject of the certificate, as a distinguished name.", since="5.0.0"
        ),
        "type": Prop(
            STRING,
            "Type of the order.",
            required=True,
            constraints=(AllowedValues(["key", "asymmetric", "certificate"]),),
            since="5.0.0",
        ),
    }
    attributes = {
        "certificate": Attr(STRING, "The certificate, if the order creates one.", since="5.0.0"),
        "container_ref": Attr(
            STRING,
            "URL of the created container, if the order creates several secrets.",
            since="5.0.0",
        ),
        "intermediates": Attr(
            STRING, "The intermediate certificates, if there are any.", since="5.0.0"
        ),
        "order_ref": Attr(STRING, "Its URL."),
        "private_key": Attr(
            STRING, "The private key, if the order creates one.", since="5.0.0", secret=True
        ),
        "public_key": Attr(STRING, "The public key, if the order creates one.", since="5.0.0"),
        "secret_ref": Attr(STRING, "URL of the created secret, if the order creates one secret."),
        "status": Attr(STRING, "Its status."),
    }
    collection = collection_of("orders")
    word = "Order"
    relations = (
        *(OnlyFor(name, "type", "key", "asymmetric") for name in KEY),
        RequiredFor("algorithm", "type", "key", "asymmetric"),
        RequiredFor("bit_length", "type", "key", "asymmetric"),
        OnlyFor("pass_phrase", "type", "asymmetric"),
        *(OnlyFor(name, "type", "certificate") for name in CERTIFICATE),
        RequiredFor("subject_dn", "request_type", "stored-key"),
        RequiredFor("source_container_ref", "request_type", "stored-key"),
        RequiredFor("request_data", "request_type", "simple-cmc"),
    )

    def fields(self, ctx: ResourceContext) -> Body:
        meta = super().fields(ctx)
        if "source_container_ref" in meta:
            meta["container_ref"] = meta.pop("source_container_ref")
        return {"type": meta.pop("type"), "meta": meta}

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        orders = await ctx.cloud.listing(SERVICE, str(self.collection.detail))
        return [
            order for order in orders if (order.get("meta") or {}).get("name") == ctx.physical_name
        ]

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name not in MADE:
            return await super().attribute(ctx, name)
        ref = (await self.show(ctx) or {}).get("container_ref")
        if ref is None:
            return None
        try:
            answer = await ctx.cloud.request(
                SERVICE, "GET", f"/v1/containers/{segment(id_of(ref))}"
            )
        except NotFound:
            return None
        refs = {secret["name"]: secret["secret_ref"] for secret in answer.body["secret_refs"]}
        return await payload(ctx.cloud, refs[name]) if name in refs else None
