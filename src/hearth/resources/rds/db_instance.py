"""AWS::RDS::DBInstance: a nested stack with a server that has a MySQL database."""

from functools import cache
from importlib import resources
from typing import Any

from hearth.resources.base import Child, ResourceContext
from hearth.resources.capabilities import NestedType
from hearth.resources.heat.agent_text import agent_text
from hearth.schema import LIST, STRING, AllowedValues, Attr, Fits, Prop, Support

PORTS = range(1, 2**16)
PORT_DIGITS = 5


def _is_port(text: str) -> bool:
    return not text or (text.isdecimal() and len(text) <= PORT_DIGITS and int(text) in PORTS)


class DBInstance(NestedType):
    """A MySQL database on a server of its own: a nested stack."""

    type_name = "AWS::RDS::DBInstance"
    support = Support()
    hidden_properties = frozenset({"MasterUserPassword"})
    properties = {
        "AllocatedStorage": Prop(
            STRING,
            "Accepted for compatibility: the database is on the disk of the flavor.",
            required=True,
            update_allowed=True,
        ),
        "DBInstanceClass": Prop(
            STRING,
            "Flavor of the server, such as db.m1.small for m1.small.",
            required=True,
            update_allowed=True,
        ),
        "DBName": Prop(STRING, "Name of the database.", required=True, update_allowed=True),
        "DBSecurityGroups": Prop(
            LIST,
            "Further security groups of the server, by name or id.",
            update_allowed=True,
            allow_conversion=True,
        ),
        "Engine": Prop(
            STRING,
            "Kind of the database.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["MySQL"]),),
        ),
        "KeyName": Prop(STRING, "Key pair of the server.", update_allowed=True),
        "MasterUserPassword": Prop(
            STRING, "Password of the user.", required=True, update_allowed=True
        ),
        "MasterUsername": Prop(
            STRING, "User with all rights on the database.", required=True, update_allowed=True
        ),
        "Port": Prop(STRING, "Port of the database; 3306 when not given.", update_allowed=True),
    }
    attributes = {
        "Endpoint.Address": Attr(None, "Address of the server."),
        "Endpoint.Port": Attr(None, "Port of the database."),
    }

    relations = (Fits("Port", _is_port, "expected a port number"),)

    def child(self, ctx: ResourceContext) -> Child:
        properties = {name: value for name, value in ctx.properties.items() if value is not None}
        if "DBSecurityGroups" in properties:
            properties["DBSecurityGroups"] = ",".join(map(str, properties["DBSecurityGroups"]))
        files = {
            "DBInstanceUserData": agent_text(user_data=True),
            "DBInstanceConfiguration": _file("configure.sh"),
        }
        return Child(_file("db_instance.yaml"), parameters={**properties, **files})

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return dict(ctx.outputs)


@cache
def _file(name: str) -> str:
    """Return the text of a file beside this module."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
