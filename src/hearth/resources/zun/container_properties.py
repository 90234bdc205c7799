"""The properties of containers, except for the name."""

from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    NUMBER,
    STRING,
    AllowedValues,
    Prop,
)

_MOUNT = {
    "mount_path": Prop(STRING, "Path in the container.", required=True),
    "volume_id": Prop(STRING, "Volume to mount, by name or id.", constraint="cinder.volume"),
    "volume_size": Prop(INTEGER, "Size of a new volume, in gigabytes."),
}
_NETWORK = {
    "fixed_ip": Prop(STRING, "Address in the network.", constraint="ip_addr"),
    "network": Prop(STRING, "The network, by name or id.", constraint="neutron.network"),
    "port": Prop(STRING, "The port, by name or id.", constraint="neutron.port"),
}

PROPERTIES = {
    "command": Prop(STRING, "Command to run, split into words as in a shell."),
    "cpu": Prop(NUMBER, "Number of virtual CPUs.", update_allowed=True),
    "environment": Prop(MAP, "Environment variables."),
    "hints": Prop(MAP, "Hints for the scheduler.", since="10.0.0"),
    "hostname": Prop(STRING, "Its host name.", since="10.0.0"),
    "image": Prop(STRING, "The image, by name or id.", required=True),
    "image_driver": Prop(
        STRING,
        "Source of the image: docker (a registry) or glance.",
        constraints=(AllowedValues(["docker", "glance"]),),
    ),
    "image_pull_policy": Prop(
        STRING,
        "When the image is pulled before the start.",
        constraints=(AllowedValues(["ifnotpresent", "always", "never"]),),
    ),
    "interactive": Prop(BOOLEAN, "true: its standard input stays open."),
    "labels": Prop(MAP, "Its labels."),
    "memory": Prop(INTEGER, "Memory, in mebibytes.", update_allowed=True),
    "mounts": Prop(LIST, "Volumes mounted in it.", schema=Prop(MAP, schema=_MOUNT)),
    "networks": Prop(
        LIST,
        "Its networks; if omitted, the service chooses one.",
        update_allowed=True,
        schema=Prop(MAP, schema=_NETWORK),
        since="11.0.0",
    ),
    "restart_policy": Prop(
        STRING, "When it is restarted: no, on-failure, on-failure:COUNT, always or unless-stopped."
    ),
    "security_groups": Prop(LIST, "Security groups, by name or id.", default=[], since="10.0.0"),
    "tty": Prop(BOOLEAN, "true: it has a terminal.", since="14.0.0"),
    "workdir": Prop(STRING, "Working directory of the command."),
}
