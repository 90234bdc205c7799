"""OS::Cinder::EncryptedVolumeType: the encryption of a volume type; for administrators."""

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection, CollectionResource
from hearth.schema import INTEGER, STRING, AllowedValues, Prop, Resolve, Support

SERVICE = "block-storage"


class EncryptedVolumeType(CollectionResource):
    """The encryption of a volume type. The physical id is the id of the volume type."""

    type_name = "OS::Cinder::EncryptedVolumeType"
    support = Support(version="5.0.0")
    properties = {
        "cipher": Prop(
            STRING,
            "Encryption algorithm and mode.",
            update_allowed=True,
            constraints=(AllowedValues(["aes-xts-plain64", "aes-cbc-essiv"]),),
        ),
        "control_location": Prop(
            STRING,
            "Where volumes are encrypted: in the compute service or in the storage.",
            default="front-end",
            update_allowed=True,
            constraints=(AllowedValues(["front-end", "back-end"]),),
        ),
        "key_size": Prop(INTEGER, "Length of the key, in bits.", update_allowed=True),
        "provider": Prop(
            STRING, "Encryption provider, such as luks.", required=True, update_allowed=True
        ),
        "volume_type": Prop(
            STRING, "The volume type, by name or id.", required=True, constraint="cinder.vtype"
        ),
    }
    translation = (Resolve(("volume_type",), "cinder.vtype"),)
    service = SERVICE
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the volume type, which has one encryption; it must have the requested values"
    collection = Collection(SERVICE, "/types", body="encryption", key_field=None)
    not_sent = frozenset({"volume_type"})

    async def create(self, ctx: ResourceContext) -> Made:
        ident = str(ctx.properties["volume_type"])
        json = {"encryption": self.fields(ctx)}
        answer = await ctx.cloud.request(
            SERVICE, "POST", f"/types/{segment(ident)}/encryption", json=json
        )
        return Made(physical_id=ident, body=answer.part("encryption"))

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        ident = str(ctx.properties["volume_type"])
        try:
            now = await self.read(ctx, ident)
        except NotFound:
            return []
        is_equal = all(now.get(name) == value for name, value in self.fields(ctx).items())
        return [{**now, "id": ident}] if is_equal else []

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        path = f"/types/{segment(ctx.physical)}/encryption/provider"
        body = {"encryption": fields}
        await ctx.cloud.request(SERVICE, "PUT", path, json=body, idempotent=True)
        return None

    async def drop(self, ctx: ResourceContext, physical_id: str) -> None:
        path = f"/types/{segment(physical_id)}/encryption/provider"
        await ctx.cloud.request(SERVICE, "DELETE", path, idempotent=True)

    async def show(self, ctx: ResourceContext) -> Body:
        return await self.read(ctx, ctx.physical)

    async def read(self, ctx: ResourceContext, volume_type: str) -> Body:
        """Return the encryption of a volume type. Raises CloudFault if it has none."""
        answer = await ctx.cloud.request(
            SERVICE, "GET", f"/types/{segment(volume_type)}/encryption"
        )
        if not answer.body:
            message = f"The volume type {volume_type} has no encryption."
            raise NotFound(SERVICE, message, "itemNotFound")
        return dict(answer.body)
