"""Load balancer flavors and availability zones, and their profiles; for administrators.

A profile contains options of a provider. A flavor or an availability zone, which users name, refers
to a profile. The service refuses a change of a profile's data while the profile is in use.
"""

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.octavia.base import SERVICE
from hearth.resources.properties import DESCRIPTION, NAME
from hearth.schema import BOOLEAN, STRING, Attr, Prop, Resolve, Support

PROVIDER = "amphora"


class Profile(CollectionResource):
    """Base class of profiles. A profile without the name of a provider belongs to amphora."""

    service = SERVICE
    identified_by = IntentKey.RENAME

    def fields(self, ctx: ResourceContext) -> Body:
        return {"provider_name": PROVIDER, **super().fields(ctx)}

    def changed_fields(self, ctx: ResourceContext) -> Body:
        fields = super().changed_fields(ctx)
        if "provider_name" in fields:
            fields["provider_name"] = fields["provider_name"] or PROVIDER
        return fields


class FlavorProfile(Profile):
    """Provider options for the flavors that use this profile."""

    type_name = "OS::Octavia::FlavorProfile"
    support = Support(version="14.0.0")
    properties = {
        "flavor_data": Prop(
            STRING,
            "The capabilities, as JSON text.",
            required=True,
            update_allowed=True,
            constraint="json_string",
        ),
        "name": NAME,
        "provider_name": Prop(
            STRING,
            "Provider of the capabilities; amphora when not given.",
            update_allowed=True,
        ),
    }
    collection = Collection(SERVICE, "/v2/lbaas/flavorprofiles", "flavorprofile", key_field=None)


class Flavor(CollectionResource):
    """A flavor of load balancers that users can choose."""

    type_name = "OS::Octavia::Flavor"
    support = Support(version="14.0.0")
    properties = {
        "description": DESCRIPTION,
        "enabled": Prop(
            BOOLEAN,
            "true: new load balancers can use it.",
            default=True,
            update_allowed=True,
        ),
        "flavor_profile": Prop(
            STRING, "Its profile, by name or id.", required=True, constraint="octavia.flavorprofile"
        ),
        "name": NAME,
    }
    attributes = {
        "flavor_profile_id": Attr(STRING, "Id of its profile."),
    }
    translation = (Resolve(("flavor_profile",), "octavia.flavorprofile"),)
    service = SERVICE
    collection = Collection(SERVICE, "/v2/lbaas/flavors", "flavor")
    renamed = {"flavor_profile": "flavor_profile_id"}


class AvailabilityZoneProfile(Profile):
    """Provider options for the availability zones that use this profile."""

    type_name = "OS::Octavia::AvailabilityZoneProfile"
    support = Support(version="24.0.0")
    properties = {
        "availability_zone_data": Prop(
            STRING,
            "The capabilities, as JSON text.",
            required=True,
            update_allowed=True,
            constraint="json_string",
        ),
        "name": NAME,
        "provider_name": Prop(
            STRING,
            "Provider of the capabilities; amphora when not given.",
            update_allowed=True,
        ),
    }
    collection = Collection(
        SERVICE,
        "/v2/lbaas/availabilityzoneprofiles",
        "availability_zone_profile",
        key_field=None,
    )


class AvailabilityZone(CollectionResource):
    """An availability zone for load balancers; its name is its id."""

    type_name = "OS::Octavia::AvailabilityZone"
    support = Support(version="24.0.0")
    properties = {
        "availability_zone_profile": Prop(
            STRING,
            "Its profile, by name or id.",
            required=True,
            constraint="octavia.availabilityzoneprofile",
        ),
        "description": DESCRIPTION,
        "enabled": Prop(
            BOOLEAN,
            "true: new load balancers can use it.",
            default=True,
            update_allowed=True,
        ),
        "name": Prop(
            STRING,
            "Its name; generated when not given. A new name replaces the availability zone.",
            update_allowed=True,
        ),
    }
    attributes = {
        "availability_zone_profile_id": Attr(STRING, "Id of its profile."),
    }
    translation = (Resolve(("availability_zone_profile",), "octavia.availabilityzoneprofile"),)
    service = SERVICE
    collection = Collection(
        SERVICE, "/v2/lbaas/availabilityzones", "availability_zone", id_field="name"
    )
    renamed = {"availability_zone_profile": "availability_zone_profile_id"}
    replaced_for = {"name": "the name of an availability zone cannot be changed"}
