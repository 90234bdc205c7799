"""OS::Magnum::ClusterTemplate: the template from which clusters are created."""

from hearth.resources.capabilities import IntentKey
from hearth.resources.magnum.base import MagnumResource, collection_of
from hearth.resources.properties import FIXED_NAME
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    MAP,
    STRING,
    AllowedValues,
    NotAbove,
    OnlyFor,
    Prop,
    Range,
    Resolve,
    Support,
    SupportStatus,
    Where,
)


class ClusterTemplate(MagnumResource):
    """The template of clusters: image, flavors, networks and labels.

    While a cluster uses it, only the flag that makes it public can be changed.
    """

    type_name = "OS::Magnum::ClusterTemplate"
    support = Support(version="9.0.0")
    properties = {
        "coe": Prop(
            STRING,
            "Container orchestration engine.",
            required=True,
            constraints=(AllowedValues(["kubernetes", "swarm", "mesos"]),),
        ),
        "dns_nameserver": Prop(
            STRING, "Address of the name server of the nodes.", constraint="ip_addr"
        ),
        "docker_storage_driver": Prop(
            STRING,
            "Storage driver of containers.",
            default="devicemapper",
            constraints=(AllowedValues(["devicemapper", "overlay"]),),
        ),
        "docker_volume_size": Prop(
            INTEGER,
            "Size of the volume for containers of each node, in GB; no volume when not given.",
            constraints=(Range(min=1),),
        ),
        "external_network": Prop(
            STRING,
            "External network that connects clusters to the outside, by name or id.",
            required=True,
            constraint="neutron.network",
        ),
        "fixed_network": Prop(
            STRING,
            "Network of the nodes, by name or id; a new one when not given.",
            constraint="neutron.network",
        ),
        "fixed_subnet": Prop(
            STRING,
            "Subnet of the nodes, by name or id; a new one when not given.",
            constraint="neutron.subnet",
        ),
        "flavor": Prop(STRING, "Flavor of workers, by name or id.", constraint="nova.flavor"),
        "floating_ip_enabled": Prop(BOOLEAN, "true: nodes get floating addresses.", default=True),
        "http_proxy": Prop(STRING, "Proxy of the nodes for HTTP."),
        "https_proxy": Prop(STRING, "Proxy of the nodes for HTTPS."),
        "image": Prop(
            STRING, "Image of the nodes, by name or id.", required=True, constraint="glance.image"
        ),
        "keypair": Prop(
            STRING, "Name of the key pair to log in to nodes.", constraint="nova.keypair"
        ),
        "labels": Prop(MAP, "Settings of the cluster driver, by name."),
        "master_flavor": Prop(
            STRING, "Flavor of masters, by name or id.", constraint="nova.flavor"
        ),
        "master_lb_enabled": Prop(
            BOOLEAN, "true: a load balancer is in front of the masters.", default=True
        ),
        "name": FIXED_NAME,
        "network_driver": Prop(STRING, "Network driver of containers."),
        "no_proxy": Prop(
            STRING, "Addresses that nodes reach without a proxy, separated by commas."
        ),
        "public": Prop(
            BOOLEAN,
            "true: every project can use it.",
            default=False,
            update_allowed=True,
        ),
        "registry_enabled": Prop(BOOLEAN, "true: clusters have an image registry.", default=False),
        "server_type": Prop(
            STRING,
            "vm for virtual machines, bm for bare metal.",
            default="vm",
            constraints=(AllowedValues(["vm", "bm"]),),
        ),
        "tls_disabled": Prop(BOOLEAN, "true: the API of clusters has no TLS.", default=False),
        "volume_driver": Prop(
            STRING,
            "Driver of persistent volumes: cinder for Kubernetes, rexray for others.",
            constraints=(AllowedValues(["cinder", "rexray"]),),
        ),
    }
    collection = collection_of("clustertemplates", update_method="PATCH")
    identified_by = IntentKey.RENAME
    renamed = {
        "external_network": "external_network_id",
        "flavor": "flavor_id",
        "image": "image_id",
        "keypair": "keypair_id",
        "master_flavor": "master_flavor_id",
    }
    translation = (
        Resolve(("external_network",), "neutron.network"),
        Resolve(("fixed_network",), "neutron.network"),
        Resolve(("fixed_subnet",), "neutron.subnet"),
    )
    relations = (
        Where("volume_driver", ("cinder",), OnlyFor("volume_driver", "coe", "kubernetes")),
        Where("volume_driver", ("rexray",), OnlyFor("volume_driver", "coe", "swarm", "mesos")),
        Where("docker_storage_driver", ("devicemapper",), NotAbove(3, "docker_volume_size")),
    )


class BayModel(ClusterTemplate):
    """The former name of a cluster template."""

    type_name = "OS::Magnum::BayModel"
    substitute = ClusterTemplate.type_name
    support = Support(
        SupportStatus.HIDDEN,
        "11.0.0",
        "Use OS::Magnum::ClusterTemplate instead.",
        previous=Support(SupportStatus.DEPRECATED, "9.0.0", previous=Support(version="5.0.0")),
    )
