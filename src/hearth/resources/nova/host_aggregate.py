"""OS::Nova::HostAggregate: a group of hosts; for administrators."""

from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.parts import Call, Entries, Members
from hearth.schema import LIST, MAP, STRING, Prop, Support


class HostAggregate(CollectionResource):
    """Hosts with common metadata that flavors can require; they can be an availability zone."""

    type_name = "OS::Nova::HostAggregate"
    support = Support(version="6.0.0")
    properties = {
        "availability_zone": Prop(STRING, "Availability zone of its hosts.", update_allowed=True),
        "hosts": Prop(
            LIST,
            "Names of the hosts in it.",
            update_allowed=True,
            schema=Prop(STRING, constraint="nova.host"),
        ),
        "metadata": Prop(MAP, "Arbitrary keys and values.", default={}, update_allowed=True),
        "name": Prop(STRING, "Its name, unique in the cloud.", required=True, update_allowed=True),
    }
    service = "compute"
    identified_by = IntentKey.RENAME
    collection = Collection(
        "compute", "/os-aggregates", body="aggregate", key_field=None, numbered=True
    )
    open_ended = frozenset({"hosts", "metadata"})
    parts = (
        Members(
            property="hosts",
            shown="hosts",
            add=Call("POST", "/os-aggregates/{id}/action", {"add_host": {"host": "{member}"}}),
            remove=Call(
                "POST",
                "/os-aggregates/{id}/action",
                {"remove_host": {"host": "{member}"}},
                undoes=True,
            ),
            others_stay=True,
            emptied=True,
        ),
        Entries(
            property="metadata",
            put=Call(
                "POST", "/os-aggregates/{id}/action", {"set_metadata": {"metadata": "{entries}"}}
            ),
        ),
    )
