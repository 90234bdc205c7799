"""OS::Nova::KeyPair: a public key for logging in."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import (
    FOR_HEARTH,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import GivesWay, IntentKey, Observable
from hearth.resources.collection import forgiving
from hearth.schema import BOOLEAN, STRING, AllowedValues, Attr, Length, Prop, Resolve, Support

VERSION = "2.2"
VERSION_USER = "2.10"


class KeyPair(Observable, GivesWay):
    """A public key that is installed in new servers.

    If the template gives no key, Hearth generates a key pair and sends only the public key. By
    comparing public keys, Hearth knows whether an existing pair of this name belongs to the
    resource.
    """

    type_name = "OS::Nova::KeyPair"
    support = Support(version="2014.1")
    properties = {
        "name": Prop(
            STRING,
            "Its name, unique for the user.",
            required=True,
            constraints=(Length(min=1, max=255),),
        ),
        "public_key": Prop(STRING, "The public key; a key pair is generated when not given."),
        "save_private_key": Prop(
            BOOLEAN, "true: the attribute private_key shows a generated private key.", default=False
        ),
        "type": Prop(
            STRING, "Type of the key.", constraints=(AllowedValues(["ssh", "x509"]),), since="8.0.0"
        ),
        "user": Prop(
            STRING,
            "Owner of the key, by name or id; for administrators.",
            constraint="keystone.user",
            since="9.0.0",
        ),
    }
    attributes = {
        "private_key": Attr(
            STRING,
            "The private key, if it was generated and save_private_key is true.",
            cached=False,
            secret=True,
        ),
        "public_key": Attr(STRING, "The public key."),
    }
    translation = (Resolve(("user",), "keystone.user"),)
    service = "compute"
    identified_by = IntentKey.NATURAL_KEY
    unobserved = {"save_private_key": FOR_HEARTH}
    known_by = "the name and the public key, which is stored before the call"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        generate = () if ctx.given("public_key") else (Step("generate", self.generate),)
        return (*generate, Step("create", self.create, self.find))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self.delete),) if ctx.physical_id else ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that delete the old key pair, because the new one needs its name."""
        return self.delete_steps(ctx)

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("create", self.create, self.find),)

    async def generate(self, ctx: ResourceContext) -> Made:
        """Generate a key pair and store it in private data, unless it is stored already."""
        if "public_key" in ctx.data:
            return Made()
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.generate()
        public = key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
        data: dict[str, str | None] = {"public_key": public.decode()}
        if ctx.given("save_private_key"):
            private = key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.OpenSSH,
                serialization.NoEncryption(),
            )
            data["private_key"] = private.decode()
        return Made(data=data)

    async def create(self, ctx: ResourceContext) -> Made:
        """Register the public key."""
        fields: Body = {"name": ctx.properties["name"], "public_key": public_key(ctx)}
        if ctx.given("type"):
            fields["type"] = ctx.given("type")
        if ctx.given("user"):
            fields["user_id"] = ctx.given("user")
        answer = await ctx.cloud.request(
            "compute",
            "POST",
            "/os-keypairs",
            json={"keypair": fields},
            microversion=VERSION_USER if ctx.given("user") else VERSION,
        )
        return Made(physical_id=str(ctx.properties["name"]), body=answer.part("keypair"))

    async def find(self, ctx: ResourceContext) -> Made | None:
        try:
            body = await self.read(ctx, str(ctx.properties["name"]))
        except NotFound:
            return None
        ours = str(body.get("public_key", "")).split()[:2] == public_key(ctx).split()[:2]
        return Made(physical_id=str(body["name"]), body=body) if ours else None

    async def delete(self, ctx: ResourceContext) -> Made | None:
        """Delete the key pair; "not found" is success."""
        path = self.path(ctx, ctx.physical)
        version = VERSION_USER if ctx.given("user") else VERSION
        await forgiving(
            ctx.cloud.request("compute", "DELETE", path, microversion=version, idempotent=True)
        )
        return None

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        return None

    async def checked(self, ctx: ResourceContext) -> Progress:
        return Ready(await self.show(ctx))

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return await self.read(ctx, ctx.physical)

    async def read(self, ctx: ResourceContext, name: str) -> Body:
        """Return the body of a key pair."""
        version = VERSION_USER if ctx.given("user") else VERSION
        path = self.path(ctx, name)
        return (await ctx.cloud.request("compute", "GET", path, microversion=version)).part(
            "keypair"
        )

    def path(self, ctx: ResourceContext, name: str) -> str:
        """Return the path of a key pair, with the user's id as a query parameter if it is given."""
        user = f"?user_id={ctx.given('user')}" if ctx.given("user") else ""
        return f"/os-keypairs/{segment(name)}{user}"

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {
            "public_key": public_key(ctx),
            "private_key": ctx.data.get("private_key", ""),
        }

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        attributes = self.recordable(ctx)
        return attributes[name] if name in attributes else await super().attribute(ctx, name)


def public_key(ctx: ResourceContext) -> str:
    """Return the public key: the given one, or else the generated one."""
    return str(ctx.given("public_key") or ctx.data.get("public_key", ""))
