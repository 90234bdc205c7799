"""OS::Neutron::SubnetPool and OS::Neutron::AddressScope."""

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION, SHARED, TAGS, TENANT_ID
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    STRING,
    AllowedValues,
    Attr,
    Length,
    NotAbove,
    Prop,
    Range,
    Resolve,
    Support,
)

NUMBERS = frozenset({"default_prefixlen", "default_quota", "max_prefixlen", "min_prefixlen"})


class SubnetPool(NeutronResource):
    """A pool of addresses from which subnets are allocated."""

    type_name = "OS::Neutron::SubnetPool"
    support = Support(version="6.0.0")
    properties = {
        "address_scope": Prop(
            STRING,
            "Address scope, by name or id.",
            update_allowed=True,
            constraint="neutron.address_scope",
        ),
        "default_prefixlen": Prop(
            INTEGER,
            "Prefix length of subnets that request none.",
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "default_quota": Prop(
            INTEGER,
            "Number of addresses that a project can allocate.",
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "is_default": Prop(
            BOOLEAN,
            "true: it is the default subnet pool.",
            default=False,
            update_allowed=True,
        ),
        "max_prefixlen": Prop(
            INTEGER, "Maximum prefix length.", update_allowed=True, constraints=(Range(min=0),)
        ),
        "min_prefixlen": Prop(
            INTEGER, "Minimum prefix length.", update_allowed=True, constraints=(Range(min=0),)
        ),
        "name": NAME,
        "prefixes": Prop(
            LIST,
            "The addresses, as networks in CIDR notation.",
            required=True,
            update_allowed=True,
            constraints=(Length(min=1),),
            schema=Prop(STRING, constraint="net_cidr"),
        ),
        "shared": Prop(
            BOOLEAN, "true: every project can use it; for administrators.", default=False
        ),
        "tags": TAGS,
        "tenant_id": TENANT_ID,
    }
    translation = (Resolve(("address_scope",), "neutron.address_scope"),)
    collection = Collection("network", "/v2.0/subnetpools", body="subnetpool")
    renamed = {"address_scope": "address_scope_id"}
    relations = (NotAbove("min_prefixlen", "max_prefixlen"),)

    def changed_fields(self, ctx: ResourceContext) -> Body:
        # the service refuses null for its numbers: one without a value stays as it is
        fields = super().changed_fields(ctx)
        return {k: v for k, v in fields.items() if v is not None or k not in NUMBERS}


class AddressScope(NeutronResource):
    """A scope within which addresses do not overlap."""

    type_name = "OS::Neutron::AddressScope"
    support = Support(version="6.0.0")
    properties = {
        "ip_version": Prop(
            INTEGER,
            "Version of the Internet protocol: 4 or 6.",
            default=4,
            constraints=(AllowedValues([4, 6]),),
        ),
        "name": NAME,
        "shared": SHARED,
        "tenant_id": Prop(
            STRING,
            "The project it belongs to; only administrators may choose another project.",
            constraint="keystone.project",
        ),
    }
    identified_by = IntentKey.RENAME
    extension = "address-scope"
    collection = Collection("network", "/v2.0/address-scopes", body="address_scope", key_field=None)


class QoSPolicy(NeutronResource):
    """A QoS policy."""

    type_name = "OS::Neutron::QoSPolicy"
    support = Support(version="6.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "name": NAME,
        "shared": SHARED,
        "tenant_id": TENANT_ID,
    }
    attributes = {
        "rules": Attr(LIST, "Its rules."),
    }
    extension = "qos"
    collection = Collection("network", "/v2.0/qos/policies", body="policy")
