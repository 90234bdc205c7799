"""OS::Manila::SecurityService: a directory service for the users of shares."""

from hearth.resources.collection import CollectionResource
from hearth.resources.manila.base import SERVICE, collection_of
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION
from hearth.schema import STRING, AllowedValues, Prop, Support


class SecurityService(CollectionResource):
    """A directory service (LDAP, Kerberos or Active Directory) for a share network."""

    type_name = "OS::Manila::SecurityService"
    support = Support(version="5.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "dns_ip": Prop(
            STRING, "Address of its DNS server in the project's network.", update_allowed=True
        ),
        "domain": Prop(STRING, "Its domain.", update_allowed=True),
        "name": NAME,
        "password": Prop(STRING, "Password of the user.", update_allowed=True),
        "server": Prop(STRING, "Its host name or address.", update_allowed=True),
        "type": Prop(
            STRING,
            "Its kind.",
            required=True,
            constraints=(AllowedValues(["ldap", "kerberos", "active_directory"]),),
        ),
        "user": Prop(STRING, "User with which share servers log in to it.", update_allowed=True),
    }
    service = SERVICE
    undescribed = None
    collection = collection_of("/security-services", "security_service", status="")  # ready at once
