"""OS::Magnum::Cluster: masters and workers, as a cluster template describes them."""

from collections.abc import Mapping
from typing import Any

from hearth.model.state import Action
from hearth.resources.base import Failed, Progress, Ready, ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import in_between, unknown_status, went_to
from hearth.resources.magnum.base import MagnumResource, collection_of
from hearth.resources.properties import FIXED_NAME
from hearth.schema import INTEGER, LIST, STRING, Attr, Prop, Range, Resolve, Support

POLL_S = 5.0
CREATED = "CREATE_COMPLETE"


class Cluster(MagnumResource):
    """A cluster of masters and workers."""

    type_name = "OS::Magnum::Cluster"
    support = Support(version="9.0.0")
    properties = {
        "cluster_template": Prop(
            STRING,
            "Its cluster template, by name or id.",
            required=True,
            constraint="magnum.cluster_template",
        ),
        "create_timeout": Prop(
            INTEGER,
            "Longest time to create it, in minutes; 0 means as long as the service allows.",
            default=60,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "discovery_url": Prop(
            STRING, "URL by which its etcd members find each other.", update_allowed=True
        ),
        "keypair": Prop(
            STRING,
            "Name of the key pair to log in to nodes; that of the template when not given.",
            constraint="nova.keypair",
        ),
        "master_count": Prop(
            INTEGER,
            "Number of masters.",
            default=1,
            update_allowed=True,
            constraints=(Range(min=1),),
        ),
        "name": FIXED_NAME,
        "node_count": Prop(
            INTEGER,
            "Number of workers.",
            default=1,
            update_allowed=True,
            constraints=(Range(min=1),),
        ),
    }
    attributes = {
        "api_address": Attr(STRING, "URL of its API."),
        "cluster_template_id": Attr(STRING, "Id of its cluster template."),
        "coe_version": Attr(STRING, "Version of its orchestration engine."),
        "container_version": Attr(STRING, "Version of its container runtime."),
        "create_timeout": Attr(INTEGER, "Longest time to create it, in minutes."),
        "discovery_url": Attr(STRING, "URL by which its etcd members find each other."),
        "keypair": Attr(STRING, "Name of the key pair to log in to nodes."),
        "master_addresses": Attr(LIST, "Addresses of its masters."),
        "master_count": Attr(INTEGER, "Number of masters."),
        "name": Attr(STRING, "Its name."),
        "node_addresses": Attr(LIST, "Addresses of its workers."),
        "node_count": Attr(INTEGER, "Number of workers."),
        "stack_id": Attr(STRING, "Id of its stack."),
        "status": Attr(STRING, "Its status."),
        "status_reason": Attr(STRING, "Reason for its status."),
    }
    collection = collection_of(
        "clusters", update_method="PATCH", staying=frozenset({"DELETE_FAILED"})
    )
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which the object keeps"
    keyless_with = frozenset({"name"})
    renamed = {"cluster_template": "cluster_template_id"}
    translation = (Resolve(("cluster_template",), "magnum.cluster_template"),)

    def progress(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Progress:
        status = str(body.get("status") or "")
        if status.endswith("_FAILED"):
            return Failed(went_to(status, self.why(body)), retry=ctx.action is Action.CREATE)
        begun = ctx.action is not Action.UPDATE or status != CREATED  # the update is not seen yet
        if status.endswith("_COMPLETE") and begun:
            return Ready(body)
        if status and not status.endswith(("_COMPLETE", "_IN_PROGRESS")):
            return unknown_status(ctx.name, status, self.why(body))
        return in_between(status, body, POLL_S)

    def why(self, body: Mapping[str, Any]) -> str:
        return str(body.get("status_reason") or "Unknown")
