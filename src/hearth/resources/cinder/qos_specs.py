"""OS::Cinder::QoSSpecs and its association with volume types; for administrators."""

from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import IntentKey, Live, Made, ResourceType, Step
from hearth.resources.collection import Collection, CollectionResource, forgiving, mark
from hearth.schema import LIST, MAP, STRING, Prop, Resolve, Support

SERVICE = "block-storage"
CONSUMER = "consumer"  # given among the specifications, but none of them


class QoSSpecs(CollectionResource):
    """What volumes may do in a time; it holds for volume types that are associated with it."""

    type_name = "OS::Cinder::QoSSpecs"
    support = Support(version="7.0.0")
    properties = {
        "name": Prop(STRING, "Its name; generated when not given."),
        "specs": Prop(
            MAP,
            "Free keys and values; consumer says who heeds them: front-end, back-end or both.",
            required=True,
            update_allowed=True,
        ),
    }
    service = SERVICE
    known_by = "the specification hearth_key, which is removed once the id is recorded"
    collection = Collection(SERVICE, "/qos-specs", body="qos_specs", key_field="hearth_key")

    def fields(self, live: Live) -> Body:
        return {**specs_of(live.properties), "name": live.wanted_name}

    async def ours(self, live: Live) -> list[Body]:
        members = await live.cloud.listing(SERVICE, "/qos-specs")
        return [one for one in members if one.get("specs", {}).get("hearth_key") == mark(live)]

    def wanted_key_field(self, live: Live) -> Any:
        return ""

    async def describe(self, live: Live) -> Made | None:
        return await self.remove(live, {"hearth_key"})

    async def update(self, live: Live) -> Made | None:
        wanted, before = specs_of(live.properties), specs_of(live.before)
        await self.remove(live, before.keys() - wanted.keys())
        if CONSUMER in before:
            wanted.setdefault(CONSUMER, "back-end")
        return await self.change(live, wanted)

    async def remove(self, live: Live, names: set[str]) -> Made | None:
        """Remove those of the specifications that are there."""
        there = (await self.show(live)).get("specs", {})
        if keys := sorted(names & there.keys()):
            path = f"/qos-specs/{live.physical}/delete_keys"
            await live.cloud.request(SERVICE, "PUT", path, json={"keys": keys})
        return None

    async def change(self, live: Live, fields: Body) -> Made | None:
        await super().change(live, fields)
        return None

    async def show(self, live: Live) -> Body:
        answer = await live.cloud.request(SERVICE, "GET", f"/qos-specs/{live.physical}")
        return answer.part("qos_specs")

    async def drop(self, live: Live, physical_id: str) -> None:
        path = f"/qos-specs/{physical_id}/disassociate_all"
        await live.cloud.request(SERVICE, "GET", path)
        await super().drop(live, physical_id)


class QoSAssociation(ResourceType):
    """Lets QoS specifications hold for volume types."""

    type_name = "OS::Cinder::QoSAssociation"
    support = Support(version="8.0.0")
    properties = {
        "qos_specs": Prop(
            STRING,
            "The specifications, by name or id.",
            required=True,
            constraint="cinder.qos_specs",
        ),
        "volume_types": Prop(
            LIST,
            "The volume types, by name or id.",
            required=True,
            update_allowed=True,
            schema=Prop(STRING, constraint="cinder.vtype"),
        ),
    }
    translation = (
        Resolve(("volume_types",), "cinder.vtype"),
        Resolve(("qos_specs",), "cinder.qos_specs"),
    )
    service = SERVICE
    identified_by = IntentKey.NATURAL_KEY
    known_by = "which type follows which specifications; to associate again changes nothing"

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("associate", self.associate),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("associate", self.associate),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("dissociate", self.dissociate),) if live.physical_id else ()

    def replaced_steps(self, live: Live) -> tuple[Step, ...]:
        """A type follows one set of specifications: the new resource needs those of the old one."""
        return self.delete_steps(live)

    def taken_back_steps(self, live: Live) -> tuple[Step, ...]:
        return self.create_steps(live)

    async def associate(self, live: Live) -> Made:
        """Associate the types wanted, let those of before go that are not."""
        wanted, before = set(live.properties["volume_types"]), live.before.get("volume_types")
        for ident in sorted(set(before or []) - wanted):
            await forgiving(self.call(live, "disassociate", ident))
        for ident in sorted(wanted):
            await self.call(live, "associate", ident)
        return Made(physical_id=live.physical_id or live.physical_name)

    async def dissociate(self, live: Live) -> Made | None:
        """Let the types go."""
        for ident in sorted(set(live.properties["volume_types"])):
            await forgiving(self.call(live, "disassociate", ident))
        return None

    async def call(self, live: Live, verb: str, volume_type: str) -> None:
        """Tie or untie one type. The service has it that this is a GET."""
        path = f"/qos-specs/{live.properties['qos_specs']}/{verb}?vol_type_id={volume_type}"
        await live.cloud.request(SERVICE, "GET", path)


def specs_of(properties: Any) -> dict[str, str]:
    """The specifications; the service takes text only."""
    return {str(name): str(value) for name, value in (properties.get("specs") or {}).items()}
