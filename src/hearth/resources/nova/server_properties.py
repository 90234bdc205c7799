"""The properties of OS::Nova::Server."""

from hearth.resources.neutron.port import EXTRA_PROPERTIES
from hearth.resources.properties import NAME
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Length,
    Prop,
    Range,
    Support,
    SupportStatus,
)

PROPERTIES: dict[str, Prop] = {
    "admin_pass": Prop(STRING, "Password of the administrator of the server.", update_allowed=True),
    "admin_user": Prop(
        STRING,
        "No longer used.",
        support=Support(
            SupportStatus.HIDDEN,
            "5.0.0",
            previous=Support(
                SupportStatus.DEPRECATED,
                "2014.1",
                previous=Support(SupportStatus.SUPPORTED, "2013.2"),
            ),
        ),
    ),
    "availability_zone": Prop(STRING, "Availability zone.", empty_is_none=True),
    "block_device_mapping": Prop(
        LIST,
        "Block devices, in the older format.",
        schema=Prop(
            MAP,
            schema={
                "delete_on_termination": Prop(BOOLEAN, "true: it is deleted with the server."),
                "device_name": Prop(STRING, "Name of the device.", required=True),
                "snapshot_id": Prop(
                    STRING, "Snapshot to start from.", constraint="cinder.snapshot"
                ),
                "volume_id": Prop(STRING, "The volume.", constraint="cinder.volume"),
                "volume_size": Prop(INTEGER, "Size in gigabytes."),
            },
        ),
    ),
    "block_device_mapping_v2": Prop(
        LIST,
        "Block devices.",
        schema=Prop(
            MAP,
            schema={
                "boot_index": Prop(
                    INTEGER,
                    "Position in the boot order, from 0; a negative device is not bootable.",
                ),
                "delete_on_termination": Prop(BOOLEAN, "true: it is deleted with the server."),
                "device_name": Prop(STRING, "Name of the device."),
                "device_type": Prop(
                    STRING, "Type of the device.", constraints=(AllowedValues(["cdrom", "disk"]),)
                ),
                "disk_bus": Prop(
                    STRING,
                    "Bus of the device.",
                    constraints=(
                        AllowedValues(["ide", "lame_bus", "sata", "scsi", "usb", "virtio"]),
                    ),
                ),
                "ephemeral_format": Prop(
                    STRING,
                    "File system of an ephemeral disk.",
                    constraints=(AllowedValues(["ext2", "ext3", "ext4", "xfs", "ntfs"]),),
                    since="8.0.0",
                ),
                "ephemeral_size": Prop(
                    INTEGER,
                    "Size of an ephemeral disk in gigabytes.",
                    constraints=(Range(min=1),),
                    since="8.0.0",
                ),
                "image": Prop(
                    STRING, "The image, by name or id.", constraint="glance.image", since="7.0.0"
                ),
                "image_id": Prop(
                    STRING,
                    "Use image instead.",
                    constraint="glance.image",
                    support=Support(
                        SupportStatus.HIDDEN,
                        "9.0.0",
                        previous=Support(
                            SupportStatus.DEPRECATED,
                            "7.0.0",
                            previous=Support(SupportStatus.SUPPORTED, "5.0.0"),
                        ),
                    ),
                ),
                "snapshot_id": Prop(
                    STRING, "Snapshot to start from.", constraint="cinder.snapshot"
                ),
                "swap_size": Prop(INTEGER, "Size of a swap disk in megabytes."),
                "volume_id": Prop(STRING, "The volume.", constraint="cinder.volume"),
                "volume_size": Prop(INTEGER, "Size in gigabytes."),
                "volume_type": Prop(
                    STRING, "Volume type, by name or id.", constraint="cinder.vtype", since="26.0.0"
                ),
            },
        ),
        since="2015.1",
    ),
    "config_drive": Prop(BOOLEAN, "true: the server gets its metadata on a config drive."),
    "deployment_swift_data": Prop(
        MAP,
        "Swift container and object for the metadata of the server, for POLL_TEMP_URL.",
        default={},
        update_allowed=True,
        schema={
            "container": Prop(STRING, "Name of the container.", constraints=(Length(min=1),)),
            "object": Prop(STRING, "Name of the object.", constraints=(Length(min=1),)),
        },
        since="9.0.0",
    ),
    "diskConfig": Prop(
        STRING,
        "AUTO: Nova resizes the partition to the disk; MANUAL: it does not.",
        constraints=(AllowedValues(["AUTO", "MANUAL"]),),
    ),
    "flavor": Prop(
        STRING,
        "The flavor, by name or id.",
        required=True,
        update_allowed=True,
        constraint="nova.flavor",
    ),
    "flavor_update_policy": Prop(
        STRING,
        "How a change of the flavor is applied.",
        default="RESIZE",
        update_allowed=True,
        constraints=(AllowedValues(["RESIZE", "REPLACE"]),),
    ),
    "image": Prop(
        STRING, "The image, by name or id.", update_allowed=True, constraint="glance.image"
    ),
    "image_update_policy": Prop(
        STRING,
        "How a change of the image is applied.",
        default="REBUILD",
        update_allowed=True,
        constraints=(AllowedValues(["REBUILD", "REPLACE", "REBUILD_PRESERVE_EPHEMERAL"]),),
    ),
    "key_name": Prop(
        STRING, "Name of the key pair.", constraint="nova.keypair", empty_is_none=True
    ),
    "metadata": Prop(
        MAP,
        "Metadata of the server; nested values are sent as JSON.",
        default={},
        update_allowed=True,
    ),
    "name": NAME,
    "networks": Prop(
        LIST,
        "Networks, in the order of the network cards.",
        update_allowed=True,
        schema=Prop(
            MAP,
            schema={
                "allocate_network": Prop(
                    STRING,
                    "auto: the service creates a network; none: the server has no network.",
                    update_allowed=True,
                    constraints=(AllowedValues(["none", "auto"]),),
                    since="9.0.0",
                ),
                "fixed_ip": Prop(STRING, "Address.", constraint="ip_addr"),
                "floating_ip": Prop(STRING, "Id of a floating IP to associate.", since="6.0.0"),
                "network": Prop(
                    STRING, "The network, by name or id.", constraint="neutron.network"
                ),
                "port": Prop(STRING, "The port, by name or id.", constraint="neutron.port"),
                "port_extra_properties": Prop(
                    MAP,
                    "Properties of the port that is created.",
                    update_allowed=True,
                    schema=EXTRA_PROPERTIES,
                    since="6.0.0",
                ),
                "subnet": Prop(STRING, "The subnet, by name or id.", since="5.0.0"),
                "tag": Prop(
                    STRING, "Tag of the device; the server sees it in its metadata.", since="9.0.0"
                ),
                "uuid": Prop(
                    STRING,
                    "Use network instead.",
                    constraint="neutron.network",
                    support=Support(
                        SupportStatus.HIDDEN,
                        "5.0.0",
                        previous=Support(SupportStatus.DEPRECATED, "2014.1"),
                    ),
                ),
            },
        ),
    ),
    "personality": Prop(
        MAP,
        "Files to inject into the server.",
        default={},
        support=Support(SupportStatus.DEPRECATED, "12.0.0"),
    ),
    "reservation_id": Prop(STRING, "Reservation to use."),
    "scheduler_hints": Prop(MAP, "Hints for the scheduler."),
    "security_groups": Prop(LIST, "Security groups, by name or id.", default=[]),
    "software_config_transport": Prop(
        STRING,
        "How the server gets its software deployments.",
        default="POLL_SERVER_CFN",
        update_allowed=True,
        constraints=(
            AllowedValues(
                ["POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE"]
            ),
        ),
    ),
    "tags": Prop(
        LIST,
        "Tags: arbitrary words for filtering.",
        update_allowed=True,
        schema=Prop(STRING),
        since="8.0.0",
    ),
    "user_data": Prop(STRING, "Data for the first boot.", default="", update_allowed=True),
    "user_data_format": Prop(
        STRING,
        "How to send the user data.",
        default="HEAT_CFNTOOLS",
        constraints=(AllowedValues(["HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG"]),),
    ),
    "user_data_update_policy": Prop(
        STRING,
        "How a change of the user data is applied.",
        default="REPLACE",
        update_allowed=True,
        constraints=(AllowedValues(["REPLACE", "IGNORE", "REBUILD"]),),
        since="6.0.0",
    ),
}
"""The properties of OS::Nova::Server, by name."""
