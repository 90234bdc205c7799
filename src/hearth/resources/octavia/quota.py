"""OS::Octavia::Quota: load balancer limits of a project."""

from hearth.resources.octavia.base import SERVICE
from hearth.resources.quota import PROJECT, Limits, QuotaSet, limit
from hearth.schema import Support


class Quota(QuotaSet):
    """Limits of a project for objects of the load-balancer service; -1 is no limit."""

    type_name = "OS::Octavia::Quota"
    support = Support(version="14.0.0")
    properties = {
        "healthmonitor": limit("How many health monitors."),
        "listener": limit("How many listeners."),
        "loadbalancer": limit("How many load balancers."),
        "member": limit("Number of members."),
        "pool": limit("How many pools."),
        "project": PROJECT,
    }
    service = SERVICE
    limits = Limits("/v2/lbaas/quotas", "quota", usual=None)
