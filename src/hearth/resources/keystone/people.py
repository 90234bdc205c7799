"""OS::Keystone::User and OS::Keystone::Group."""

from hearth.resources.collection import Collection
from hearth.resources.keystone.base import KeystoneResource
from hearth.resources.keystone.roles import ONE_PLACE, ROLE_NAMES, ROLES, Roles
from hearth.resources.parts import Call, Members
from hearth.resources.properties import DESCRIPTION, ENABLED, NAME
from hearth.schema import BOOLEAN, LIST, STRING, Attr, Prop, Resolve, Support


class User(KeystoneResource):
    """A user of the cloud."""

    type_name = "OS::Keystone::User"
    support = Support(version="2015.1")
    properties = {
        "default_project": Prop(
            STRING,
            "Default project, by name or id.",
            update_allowed=True,
            constraint="keystone.project",
        ),
        "description": DESCRIPTION,
        "domain": Prop(
            STRING,
            "The domain, by name or id.",
            default="default",
            update_allowed=True,
            constraint="keystone.domain",
        ),
        "email": Prop(STRING, "E-mail address.", update_allowed=True),
        "enabled": ENABLED,
        "groups": Prop(
            LIST,
            "Groups it belongs to, by name or id.",
            update_allowed=True,
            schema=Prop(STRING, constraint="keystone.group"),
        ),
        "name": NAME,
        "password": Prop(STRING, "Password.", update_allowed=True),
        "roles": ROLES,
    }
    attributes = {
        "default_project_id": Attr(STRING, "Id of the default project.", since="9.0.0"),
        "domain_id": Attr(STRING, "Id of its domain.", since="9.0.0"),
        "enabled": Attr(BOOLEAN, "true: it is enabled.", since="9.0.0"),
        "name": Attr(STRING, "Its name.", since="9.0.0"),
        "password_expires_at": Attr(STRING, "When the password expires.", since="9.0.0"),
    }
    translation = (
        Resolve(("domain",), "keystone.domain"),
        Resolve(("default_project",), "keystone.project"),
        Resolve(("groups",), "keystone.group"),
        *ROLE_NAMES,
    )
    collection = Collection("identity", "/v3/users", body="user", update_method="PATCH")
    renamed = {"domain": "domain_id", "default_project": "default_project_id"}
    parts = (
        Members(
            property="groups",
            add=Call("PUT", "/v3/groups/{member}/users/{id}"),
            remove=Call("DELETE", "/v3/groups/{member}/users/{id}", undoes=True),
        ),
        Roles(assignee="users/{id}"),
    )
    relations = ONE_PLACE


class Group(KeystoneResource):
    """A group of users, who share its roles."""

    type_name = "OS::Keystone::Group"
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
        "name": NAME,
        "roles": ROLES,
    }
    translation = (
        Resolve(("domain",), "keystone.domain"),
        *ROLE_NAMES,
    )
    collection = Collection("identity", "/v3/groups", body="group", update_method="PATCH")
    renamed = {"domain": "domain_id"}
    relations = ONE_PLACE
    parts = (Roles(assignee="groups/{id}"),)
