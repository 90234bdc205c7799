"""OS::Neutron::Quota: network limits of a project; for administrators."""

from hearth.resources.quota import PROJECT, Limits, QuotaSet, limit
from hearth.schema import Support


class Quota(QuotaSet):
    """Network limits of a project, for administrators; omitted limits stay unchanged."""

    type_name = "OS::Neutron::Quota"
    support = Support(version="8.0.0")
    properties = {
        "floatingip": limit("How many floating IPs the project may have; -1 is no limit."),
        "network": limit("How many networks the project may have; -1 is no limit."),
        "port": limit("How many ports the project may have; -1 is no limit."),
        "project": PROJECT,
        "rbac_policy": limit(
            "How many policies on sharing the project may have; -1 is no limit.", since="12.0.0"
        ),
        "router": limit("How many routers the project may have; -1 is no limit."),
        "security_group": limit("How many security groups the project may have; -1 is no limit."),
        "security_group_rule": limit(
            "How many rules of security groups the project may have; -1 is no limit."
        ),
        "subnet": limit("How many subnets the project may have; -1 is no limit."),
        "subnetpool": limit(
            "How many subnet pools the project may have; -1 is no limit.", since="12.0.0"
        ),
    }
    service = "network"
    extension = "quotas"
    limits = Limits("/v2.0/quotas", "quota", usual="default")
