"""OS::Nova::Quota: compute limits of a project; for administrators."""

from hearth.resources.quota import PROJECT, QuotaSet, limit
from hearth.schema import Support, SupportStatus

NO_FILES = Support(SupportStatus.DEPRECATED, version="14.0.0")


class Quota(QuotaSet):
    """Limits of a project for servers and related objects."""

    type_name = "OS::Nova::Quota"
    support = Support(version="8.0.0")
    properties = {
        "cores": limit("How many processors."),
        "fixed_ips": limit("How many fixed IPs."),
        "floating_ips": limit("How many floating IPs."),
        "injected_file_content_bytes": limit(
            "Size of an injected file, in bytes.", support=NO_FILES
        ),
        "injected_file_path_bytes": limit(
            "Length of the path of an injected file, in bytes.", support=NO_FILES
        ),
        "injected_files": limit("How many files may be injected into a server.", support=NO_FILES),
        "instances": limit("How many servers."),
        "key_pairs": limit("How many key pairs a user may have."),
        "metadata_items": limit("How many metadata entries a server may have."),
        "project": PROJECT,
        "ram": limit("Megabytes of memory."),
        "security_group_rules": limit("How many rules a security group may have."),
        "security_groups": limit("How many security groups."),
        "server_group_members": limit("How many servers a server group may have."),
        "server_groups": limit("How many server groups."),
    }
    service = "compute"
