"""OS::Cinder::VolumeType: a volume type; for administrators."""

from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.parts import Call, Entries, Members
from hearth.schema import BOOLEAN, LIST, MAP, STRING, OnlyFor, Prop, Support

SERVICE = "block-storage"


class VolumeType(CollectionResource):
    """A volume type, which users choose when they create a volume."""

    type_name = "OS::Cinder::VolumeType"
    support = Support(version="2015.1")
    properties = {
        "description": Prop(STRING, "Description.", update_allowed=True, since="5.0.0"),
        "is_public": Prop(
            BOOLEAN,
            "true: every project can use it.",
            default=True,
            update_allowed=True,
            since="5.0.0",
        ),
        "metadata": Prop(MAP, "Arbitrary keys and values.", update_allowed=True),
        "name": Prop(STRING, "Its name.", required=True, update_allowed=True),
        "projects": Prop(
            LIST,
            "Projects that may use it, by name or id.",
            default=[],
            update_allowed=True,
            schema=Prop(STRING, constraint="keystone.project"),
            since="5.0.0",
        ),
    }
    service = SERVICE
    undescribed = None
    collection = Collection(SERVICE, "/types", body="volume_type")
    parts = (
        Entries(
            property="metadata",
            put=Call("POST", "/types/{id}/extra_specs", {"extra_specs": "{entries}"}, again=True),
            remove=Call("DELETE", "/types/{id}/extra_specs/{entry}", undoes=True),
        ),
        Members(
            property="projects",
            listing="/types/{id}/os-volume-type-access",
            field="project_id",
            add=Call("POST", "/types/{id}/action", {"addProjectAccess": {"project": "{member}"}}),
            remove=Call(
                "POST", "/types/{id}/action", {"removeProjectAccess": {"project": "{member}"}}
            ),
        ),
    )
    created_as = {"is_public": "os-volume-type-access:is_public"}
    relations = (OnlyFor("projects", "is_public", False),)
