"""OS::Keystone::Service, OS::Keystone::Endpoint and OS::Keystone::Region: the service catalogue."""

from hearth.resources.collection import Collection
from hearth.resources.keystone.base import KeystoneResource
from hearth.resources.properties import ENABLED, NAME, OPTIONAL_DESCRIPTION
from hearth.schema import BOOLEAN, STRING, AllowedValues, Prop, Resolve, Support


class Service(KeystoneResource):
    """A service in the service catalogue."""

    type_name = "OS::Keystone::Service"
    support = Support(version="5.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "enabled": Prop(
            BOOLEAN,
            "true: it is enabled and listed in the catalogue.",
            default=True,
            update_allowed=True,
            since="6.0.0",
        ),
        "name": NAME,
        "type": Prop(
            STRING,
            "Service type, such as compute or volumev3.",
            required=True,
            update_allowed=True,
        ),
    }
    collection = Collection("identity", "/v3/services", body="service", update_method="PATCH")


class Endpoint(KeystoneResource):
    """The URL of a service."""

    type_name = "OS::Keystone::Endpoint"
    support = Support(version="5.0.0")
    properties = {
        "enabled": Prop(
            BOOLEAN,
            "true: it is enabled and listed in the catalogue.",
            default=True,
            update_allowed=True,
            since="6.0.0",
        ),
        "interface": Prop(
            STRING,
            "Interface: public, internal or admin.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["public", "internal", "admin"]),),
        ),
        "name": NAME,
        "region": Prop(
            STRING, "The region, by id.", update_allowed=True, constraint="keystone.region"
        ),
        "service": Prop(
            STRING,
            "The service, by name or id.",
            required=True,
            update_allowed=True,
            constraint="keystone.service",
        ),
        "url": Prop(
            STRING,
            "URL; $(project_id)s is replaced by the project of the caller.",
            required=True,
            update_allowed=True,
        ),
    }
    translation = (
        Resolve(("service",), "keystone.service"),
        Resolve(("region",), "keystone.region"),
    )
    collection = Collection("identity", "/v3/endpoints", body="endpoint", update_method="PATCH")
    renamed = {"service": "service_id", "region": "region_id"}


class Region(KeystoneResource):
    """A region."""

    type_name = "OS::Keystone::Region"
    support = Support(version="6.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "enabled": ENABLED,
        "id": Prop(STRING, "Its id; generated when not given."),
        "parent_region": Prop(
            STRING,
            "Parent region, by id.",
            update_allowed=True,
            constraint="keystone.region",
        ),
    }
    translation = (Resolve(("parent_region",), "keystone.region"),)
    collection = Collection("identity", "/v3/regions", body="region", update_method="PATCH")
    renamed = {"parent_region": "parent_region_id"}
