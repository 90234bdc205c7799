"""OS::Nova::KeyPair: a public key for logging in."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import IntentKey, Live, Made, Progress, Ready, ResourceType, Step
from hearth.resources.collection import forgiving
from hearth.schema import BOOLEAN, STRING, AllowedValues, Attr, Length, Prop, Resolve, Support

VERSION = "2.2"
VERSION_USER = "2.10"


class KeyPair(ResourceType):
    """A public key, put into servers when they are made.

    Where none is given, a pair is made here and only its public half is sent: so the key itself
    tells whether a pair of that name is ours.
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
        "public_key": Prop(STRING, "The public key; a pair is made when not given."),
        "save_private_key": Prop(
            BOOLEAN, "true: the attribute shows the private key.", default=False
        ),
        "type": Prop(
            STRING, "Kind of key.", constraints=(AllowedValues(["ssh", "x509"]),), since="8.0.0"
        ),
        "user": Prop(
            STRING,
            "Owner of the key, by name or id; for administrators.",
            constraint="keystone.user",
            since="9.0.0",
        ),
    }
    attributes = {
        "private_key": Attr(STRING, "The private key, if it was made here and kept.", cached=False),
        "public_key": Attr(STRING, "The public key."),
    }
    translation = (Resolve(("user",), "keystone.user"),)
    service = "compute"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the name and the public key, which is stored before the call"

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        generate = () if live.given("public_key") else (Step("generate", self.generate),)
        return (*generate, Step("create", self.create, self.find))

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("delete", self.delete),) if live.physical_id else ()

    def check_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    def replaced_steps(self, live: Live) -> tuple[Step, ...]:
        """Names are unique: the new pair needs that of the old one."""
        return self.delete_steps(live)

    def taken_back_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("create", self.create, self.find),)

    async def generate(self, live: Live) -> Made:
        """Make a pair; an earlier one of this record stays."""
        if "public_key" in live.data:
            return Made()
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.generate()
        public = key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
        data: dict[str, str | None] = {"public_key": public.decode()}
        if live.given("save_private_key"):
            private = key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.OpenSSH,
                serialization.NoEncryption(),
            )
            data["private_key"] = private.decode()
        return Made(data=data)

    async def create(self, live: Live) -> Made:
        """Register the public key."""
        fields: Body = {"name": live.properties["name"], "public_key": public_key(live)}
        if live.given("type"):
            fields["type"] = live.given("type")
        if live.given("user"):
            fields["user_id"] = live.given("user")
        answer = await live.cloud.request(
            "compute",
            "POST",
            "/os-keypairs",
            json={"keypair": fields},
            microversion=VERSION_USER if live.given("user") else VERSION,
        )
        return Made(physical_id=str(live.properties["name"]), body=answer.part("keypair"))

    async def find(self, live: Live) -> Made | None:
        try:
            body = await self.read(live, str(live.properties["name"]))
        except CloudFault as fault:
            if fault.not_found:
                return None
            raise
        ours = str(body.get("public_key", "")).split()[:2] == public_key(live).split()[:2]
        return Made(physical_id=str(body["name"]), body=body) if ours else None

    async def delete(self, live: Live) -> Made | None:
        """Remove it; what is gone already is done."""
        path = self.path(live, live.physical)
        version = VERSION_USER if live.given("user") else VERSION
        await forgiving(
            live.cloud.request("compute", "DELETE", path, microversion=version, idempotent=True)
        )
        return None

    async def nothing(self, live: Live) -> Made | None:
        return None

    async def checked(self, live: Live) -> Progress:
        return Ready(await self.show(live))

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        return await self.read(live, live.physical)

    async def read(self, live: Live, name: str) -> Body:
        """A pair by name."""
        version = VERSION_USER if live.given("user") else VERSION
        path = self.path(live, name)
        return (await live.cloud.request("compute", "GET", path, microversion=version)).part(
            "keypair"
        )

    def path(self, live: Live, name: str) -> str:
        """The URL of a pair."""
        user = f"?user_id={live.given('user')}" if live.given("user") else ""
        return f"/os-keypairs/{segment(name)}{user}"

    def recordable(self, live: Live) -> dict[str, Any]:
        return {
            "public_key": public_key(live),
            "private_key": live.data.get("private_key", ""),
        }

    async def attribute(self, live: Live, name: str) -> Any:
        shown = self.recordable(live)
        return shown[name] if name in shown else await super().attribute(live, name)


def public_key(live: Live) -> str:
    """The public key, given or made."""
    return str(live.given("public_key") or live.data.get("public_key", ""))
