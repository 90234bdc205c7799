"""A resource type of the simulator that must let go before another can take its place."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hearth.cloud.fault import CloudFault
from hearth.resources.base import Live, Made, Step
from hearth.schema import Replace
from hearth.schema.prop import STRING, Attr, Prop
from hearth.sim.types import Thing

LAST = ":last"  # ends the key of a copy that outlives its original


class Claim(Thing):
    """Holds its name alone, as a port holds its addresses, and is made in two steps. `w` is an
    older name of `u`; `seen` takes a call; the deletion policy may ask for a last copy."""

    type_name = "Test::Claim"
    properties = {
        **Thing.properties,
        "u": Prop(STRING, "Changes in place.", update_allowed=True),
        "w": Prop(STRING, "Another name of u.", update_allowed=True),
    }
    attributes = {**Thing.attributes, "seen": Attr(STRING, "What holds it now.", cached=False)}
    translation = (Replace(("u",), value_path=("w",)),)
    snapshot_policy_allowed = True

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        label = Step("label", self._label, self._labelled, self._poll)
        return (*super().create_steps(live), label)

    def replaced_steps(self, live: Live) -> tuple[Step, ...]:
        if not live.physical_id:
            return ()
        return (Step("note", self._note), Step("release", self._release))

    def taken_back_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("take", self._take),) if "released" in live.data else ()

    def snapshot_delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("keep", self._keep, self._kept), *self.delete_steps(live))

    async def replace_failed(self, live: Live) -> bool:
        if live.physical_id is None:
            return True
        try:
            shown = await self.show(live)
        except CloudFault as fault:
            if fault.not_found:
                return True
            raise
        return shown["fate"] != "ok" or not shown["labelled"]

    async def observe(self, live: Live) -> Mapping[str, Any] | None:
        shown = await self.show(live)
        return {"u": shown.get("u") or None, "r": shown.get("r"), "l": shown.get("l")}

    async def attribute(self, live: Live, name: str) -> Any:
        if name == "seen":
            return str((await self.show(live))["holds"])
        return await super().attribute(live, name)

    async def show(self, live: Live) -> Mapping[str, Any]:
        answer = await live.cloud.request("test", "GET", f"/things/{live.physical_id}")
        body: Mapping[str, Any] = answer.body
        return body

    async def _create(self, live: Live) -> Made:
        made = await super()._create(live)
        return replace(made, metadata={**live.metadata, "born": made.physical_id})

    def body_of(self, live: Live) -> dict[str, Any]:
        return {**super().body_of(live), "claims": True}

    async def _label(self, live: Live) -> Made:
        path = f"/things/{live.physical_id}/label"
        answer = await live.cloud.request("test", "POST", path)
        return Made(body=answer.body)

    async def _labelled(self, live: Live) -> Made | None:
        shown = await self.show(live)
        return Made(body=shown) if shown["labelled"] else None

    async def _note(self, live: Live) -> Made:
        return Made(data={"released": "yes"})

    async def _release(self, live: Live) -> None:
        try:
            await live.cloud.request("test", "POST", f"/things/{live.physical_id}/release")
        except CloudFault as fault:
            if not fault.not_found:
                raise

    async def _take(self, live: Live) -> Made:
        await live.cloud.request("test", "POST", f"/things/{live.physical_id}/take")
        return Made(data={"released": None})

    async def _keep(self, live: Live) -> Made:
        path = f"/things/{live.physical_id}/copy"
        try:
            await live.cloud.request("test", "POST", path, json={"key": live.key + LAST})
        except CloudFault as fault:
            if not fault.not_found:
                raise
        return Made()

    async def _kept(self, live: Live) -> Made | None:
        copies = await live.cloud.listing("test", "/copies")
        return Made() if any(copy["key"] == live.key + LAST for copy in copies) else None
