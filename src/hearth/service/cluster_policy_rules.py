"""The policy rules of the cluster service, with Magnum's names and defaults.

In a rule, `%(project_id)s` and `%(user_id)s` are those of the requested object; if there is none,
those of the caller. The policy does not apply to the credentials of nodes, which `fence` restricts.
Source: tests/facts/magnum/policies.json.
"""

from collections.abc import Mapping

ADMIN = "rule:context_is_admin"
MEMBER = "rule:admin_or_project_member"
READER = "rule:admin_or_project_reader"
MEMBER_NOT_NODE = "rule:admin_or_project_member_deny_cluster_user"
READER_NOT_NODE = "rule:admin_or_project_reader_deny_cluster_user"

BASE: Mapping[str, str] = {
    "context_is_admin": "role:admin",
    "admin_or_owner": "is_admin:True or project_id:%(project_id)s",
    "admin_or_user": "is_admin:True or user_id:%(user_id)s",
    "is_user": "user_id:%(user_id)s",
    "project_member": "role:member and project_id:%(project_id)s",
    "project_reader": "role:reader and project_id:%(project_id)s",
    "admin_or_project_reader": f"({ADMIN}) or (rule:project_reader)",
    "admin_or_project_member": f"({ADMIN}) or (rule:project_member)",
    "admin_or_project_member_user": f"({ADMIN}) or ((rule:project_member) and (rule:is_user))",
    "admin_or_project_member_user_or_cluster_user": (
        f"({ADMIN}) or ((rule:project_member) and (rule:is_user))"
    ),
    "project_member_deny_cluster_user": "(rule:project_member)",
    "admin_or_project_member_deny_cluster_user": f"({ADMIN}) or (rule:project_member)",
    "project_reader_deny_cluster_user": "(rule:project_reader)",
    "admin_or_project_reader_deny_cluster_user": f"({ADMIN}) or (rule:project_reader)",
    "admin_or_project_reader_user": f"({ADMIN}) or ((rule:project_reader) and (rule:is_user))",
}
RULES: Mapping[str, tuple[str, ...]] = {
    ADMIN: (
        "cluster:delete_all_projects", "cluster:detail_all_projects",
        "cluster:get_all_all_projects", "cluster:get_one_all_projects",
        "cluster:update_all_projects", "cluster:upgrade_all_projects",
        "clustertemplate:delete_all_projects", "clustertemplate:detail_all_projects",
        "clustertemplate:get_all_all_projects", "clustertemplate:get_one_all_projects",
        "clustertemplate:publish", "clustertemplate:update_all_projects",
        "magnum-service:get_all", "nodegroup:get_all_all_projects",
        "nodegroup:get_one_all_projects", "quota:create", "quota:delete", "quota:get_all",
        "quota:update",
    ),
    MEMBER: (
        "certificate:rotate_ca", "clustertemplate:delete", "clustertemplate:update",
        "nodegroup:create", "nodegroup:delete", "nodegroup:update",
    ),
    READER: ("nodegroup:get", "nodegroup:get_all", "quota:get", "stats:get_all"),
    MEMBER_NOT_NODE: (
        "cluster:create", "cluster:delete", "cluster:resize", "cluster:update", "cluster:upgrade",
        "clustertemplate:create", "federation:create", "federation:delete", "federation:update",
    ),
    READER_NOT_NODE: (
        "cluster:detail", "cluster:get", "cluster:get_all", "clustertemplate:detail",
        "clustertemplate:get", "clustertemplate:get_all", "federation:detail", "federation:get",
        "federation:get_all",
    ),
    "rule:admin_or_project_member_user_or_cluster_user": ("cluster:update_health_status",),
    "rule:project_member_deny_cluster_user": ("credential:rotate",),
}  # fmt: skip


def defaults(*, owner_only_certificates: bool = False) -> dict[str, tuple[str, str | None]]:
    """Return the pair (check, former check) of every rule, by name.

    The former check is always None, because no check has changed since an earlier release. If
    `owner_only_certificates` is true, only administrators and the user who created a cluster may
    use its certificates, as in Magnum. Otherwise each member of the project may, and each reader
    may read them.
    """
    rules: dict[str, tuple[str, str | None]] = {name: (rule, None) for name, rule in BASE.items()}
    rules |= {name: (check, None) for check, names in RULES.items() for name in names}
    suffix = "_user" if owner_only_certificates else ""
    rules["certificate:create"] = (f"{MEMBER}{suffix}", None)
    rules["certificate:get"] = (f"{READER}{suffix}", None)
    return rules
