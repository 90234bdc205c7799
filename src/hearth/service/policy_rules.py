"""The policy rules of the orchestration API, with Heat's names and defaults.

In a rule, `%(project_id)s` is the project of the request. Source: tests/facts/policies.json.
"""

from collections.abc import Mapping

READER = "role:reader and project_id:%(project_id)s"
MEMBER = "role:member and project_id:%(project_id)s"
ADMIN = "role:admin and project_id:%(project_id)s"
READER_OR_GUEST = f"({READER}) or (role:heat_stack_user and project_id:%(project_id)s)"

BASE: Mapping[str, str] = {
    "context_is_admin": "(role:admin and is_admin_project:True)",
    "project_admin": "role:admin",
    "deny_stack_user": "not role:heat_stack_user",
    "deny_everybody": "!",
    "allow_everybody": "",
}

READERS = {
    "actions": ("check",),
    "build_info": ("build_info",),
    "cloudformation": (
        "DescribeStackEvents", "DescribeStackResources", "DescribeStacks", "EstimateTemplateCost",
        "GetTemplate", "ListStackResources", "ListStacks", "ValidateTemplate",
    ),
    "events": ("index", "show"),
    "resource": ("index", "show"),
    "software_configs": ("index", "show"),
    "software_deployments": ("index", "show"),
    "stacks": (
        "detail", "environment", "files", "index", "list_outputs", "list_resource_types",
        "list_snapshots", "list_template_functions", "list_template_versions", "preview",
        "resource_schema", "show", "show_output", "show_snapshot", "template",
    ),
}  # fmt: skip
MEMBERS = {
    "actions": (
        "action", "cancel_update", "cancel_without_rollback", "resume", "snapshot", "suspend",
    ),
    "cloudformation": ("CancelUpdateStack", "CreateStack", "DeleteStack", "UpdateStack"),
    "resource": ("mark_unhealthy",),
    "software_configs": ("create", "delete"),
    "software_deployments": ("create", "delete", "update"),
    "stacks": (
        "abandon", "create", "delete", "delete_snapshot", "export", "generate_template",
        "preview_update", "preview_update_patch", "restore_snapshot", "snapshot", "update",
        "update_patch", "validate_template",
    ),
}  # fmt: skip
GUESTS = {
    "cloudformation": ("DescribeStackResource",),
    "resource": ("metadata", "signal"),
    "software_deployments": ("metadata",),
    "stacks": ("lookup",),
}
OTHERS: Mapping[str, str] = {
    "service:index": ADMIN,
    "software_configs:global_index": "rule:deny_everybody",
    "stacks:global_index": "rule:deny_everybody",
    "stacks:update_no_change": "rule:stacks:update_patch",
}
OURS: Mapping[str, str] = {"stacks:show_hidden_values": MEMBER}  # not in Heat
ADMIN_TYPES = (
    "OS::Blazar::Host", "OS::Cinder::EncryptedVolumeType", "OS::Cinder::QoSAssociation",
    "OS::Cinder::QoSSpecs", "OS::Cinder::Quota", "OS::Cinder::VolumeType", "OS::Keystone::*",
    "OS::Manila::ShareType", "OS::Neutron::ProviderNet", "OS::Neutron::QoSBandwidthLimitRule",
    "OS::Neutron::QoSDscpMarkingRule", "OS::Neutron::QoSMinimumBandwidthRule",
    "OS::Neutron::QoSMinimumPacketRateRule", "OS::Neutron::QoSPolicy", "OS::Neutron::Quota",
    "OS::Neutron::Segment", "OS::Nova::Flavor", "OS::Nova::HostAggregate", "OS::Nova::Quota",
    "OS::Octavia::AvailabilityZone", "OS::Octavia::AvailabilityZoneProfile",
    "OS::Octavia::Flavor", "OS::Octavia::FlavorProfile", "OS::Octavia::Quota",
)  # fmt: skip
TYPE_RULE = "resource_types:"
FORMER = {  # rules whose former default also applies while enforce_new_defaults is off
    READER: "rule:deny_stack_user",
    MEMBER: "rule:deny_stack_user",
    ADMIN: "rule:context_is_admin",
    READER_OR_GUEST: "rule:allow_everybody",
}
NEVER_OTHERWISE = {"software_deployments:metadata"}  # without a former default


def defaults() -> dict[str, tuple[str, str | None]]:
    """Return the pair (check, former check) of every rule, by name; the former check may be
    None.
    """
    rules: dict[str, tuple[str, str | None]] = {name: (rule, None) for name, rule in BASE.items()}
    for group, check in ((READERS, READER), (MEMBERS, MEMBER), (GUESTS, READER_OR_GUEST)):
        for prefix, names in group.items():
            for name in names:
                rule = f"{prefix}:{name}"
                rules[rule] = (check, None if rule in NEVER_OTHERWISE else FORMER[check])
    rules |= {name: (check, FORMER.get(check)) for name, check in OTHERS.items()}
    rules |= {name: (check, FORMER[check]) for name, check in OURS.items()}
    rules |= {TYPE_RULE + name: ("rule:project_admin", None) for name in ADMIN_TYPES}
    return rules
