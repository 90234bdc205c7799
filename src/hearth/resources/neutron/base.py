"""What types of the network service have in common: tags, failed ones, what is taken away."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.resources.base import Live, Made, Step
from hearth.resources.collection import CollectionResource

TEXTS = frozenset({"description", "dns_domain", "dns_name"})  # cleared with "", not with null


class NeutronResource(CollectionResource):
    """A member of a collection of the network service."""

    service = "network"
    not_sent: ClassVar[frozenset[str]] = frozenset({"tags"})

    def after_create(self, live: Live) -> tuple[Step, ...]:
        return (Step("tags", self.apply_tags),) if live.given("tags") else ()

    def after_update(self, live: Live) -> tuple[Step, ...]:
        return (Step("tags", self.apply_tags),) if "tags" in live.changed else ()

    async def apply_tags(self, live: Live) -> Made | None:
        """Make the tags those of the properties."""
        await live.cloud.request(
            "network",
            "PUT",
            f"{self.path(live)}/{live.physical}/tags",
            json={"tags": list(live.given("tags") or [])},
            idempotent=True,
        )
        return None

    def changed_fields(self, live: Live) -> Body:
        fields = super().changed_fields(live)
        return {k: "" if v is None and k in TEXTS else v for k, v in fields.items()}

    async def replace_failed(self, live: Live) -> bool:
        """Only when it is gone or in an error state; otherwise an update can mend it."""
        if live.physical_id is None:
            return True
        try:
            body = await self.show(live)
        except CloudFault as fault:
            if fault.not_found:
                return True
            raise
        return (body or {}).get("status") == "ERROR"


def addresses(fixed_ips: Any) -> list[Body]:
    """Fixed addresses as the service takes them: subnet → subnet_id."""
    wanted = []
    for one in fixed_ips or []:
        fields = {"subnet_id": one.get("subnet"), "ip_address": one.get("ip_address")}
        wanted.append({name: value for name, value in fields.items() if value is not None})
    return wanted


def as_text(value: Mapping[str, Any] | list[Any]) -> str:
    """Private data holds text only."""
    return json.dumps(value, sort_keys=True)
