"""OS::Cinder::Quota: block storage limits of a project; for administrators."""

from hearth.resources.quota import PROJECT, Limits, QuotaSet, limit
from hearth.schema import Support


class Quota(QuotaSet):
    """Limits of a project for volumes, snapshots and backups."""

    type_name = "OS::Cinder::Quota"
    support = Support(version="7.0.0")
    properties = {
        "backup_gigabytes": limit("Gigabytes of backups.", since="16.0.0"),
        "backups": limit("How many backups.", since="16.0.0"),
        "gigabytes": limit("Gigabytes of volumes and snapshots."),
        "project": PROJECT,
        "snapshots": limit("How many snapshots."),
        "volumes": limit("How many volumes."),
    }
    service = "block-storage"
    limits = Limits("/os-quota-sets", "quota_set", usual="defaults", usage="?usage=True")
