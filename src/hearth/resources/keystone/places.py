"""OS::Keystone::Project, OS::Keystone::Domain and OS::Keystone::Role."""

from hearth.resources.collection import Collection
from hearth.resources.keystone.base import KeystoneResource
from hearth.resources.parts import Call
from hearth.resources.properties import DESCRIPTION, ENABLED, NAME, OPTIONAL_DESCRIPTION
from hearth.schema import BOOLEAN, LIST, STRING, Attr, Prop, Resolve, Support


class Project(KeystoneResource):
    """A project, which owns resources of the cloud."""

    type_name = "OS::Keystone::Project"
    support = Support(version="2015.1")
    properties = {
        "description": DESCRIPTION,
        "domain": Prop(
            STRING,
            "The domain, by name or id.",
            default="default",
            update_allowed=True,
            constraint="keystone.domain",
        ),
        "enabled": ENABLED,
        "name": NAME,
        "parent": Prop(
            STRING,
            "Parent project, by name or id.",
            constraint="keystone.project",
            since="6.0.0",
        ),
        "tags": Prop(
            LIST,
            "Tags: arbitrary words for filtering.",
            default=[],
            update_allowed=True,
            since="10.0.0",
        ),
    }
    attributes = {
        "domain_id": Attr(STRING, "Id of its domain.", since="10.0.0"),
        "enabled": Attr(BOOLEAN, "true: it can be used.", since="10.0.0"),
        "is_domain": Attr(BOOLEAN, "true: the project is also a domain.", since="10.0.0"),
        "name": Attr(STRING, "Its name.", since="10.0.0"),
        "parent_id": Attr(STRING, "Id of the parent project.", since="10.0.0"),
    }
    translation = (
        Resolve(("domain",), "keystone.domain"),
        Resolve(("parent",), "keystone.project"),
    )
    collection = Collection("identity", "/v3/projects", body="project", update_method="PATCH")
    renamed = {"domain": "domain_id", "parent": "parent_id"}


class Domain(KeystoneResource):
    """A namespace of projects, users and groups."""

    type_name = "OS::Keystone::Domain"
    support = Support(version="8.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "enabled": ENABLED,
        "name": NAME,
    }
    collection = Collection("identity", "/v3/domains", body="domain", update_method="PATCH")
    before_delete = (
        Call("PATCH", "/v3/domains/{id}", {"domain": {"enabled": False}}, undoes=True),
    )


class Role(KeystoneResource):
    """A role, which grants permissions to users and groups."""

    type_name = "OS::Keystone::Role"
    support = Support(version="2015.1")
    properties = {
        "domain": Prop(
            STRING, "The domain, by name or id.", constraint="keystone.domain", since="16.0.0"
        ),
        "name": NAME,
    }
    translation = (Resolve(("domain",), "keystone.domain"),)
    collection = Collection("identity", "/v3/roles", body="role", update_method="PATCH")
    renamed = {"domain": "domain_id"}
