"""The options of [DEFAULT]: Heat's own, those of its log, and of its messages."""

from functools import partial

from hearth.cli.options.option import Option

_is = partial(Option, "DEFAULT")
_live = partial(Option, "DEFAULT", live=True)

# fmt: off
LIMITS = (
    _live("max_stacks_per_tenant", int, 512, "Stacks a project may have; -1: any number.", least=-1),
    _live("max_resources_per_stack", int, 1000, "Resources of a stack with all its nested stacks; -1: any number.", least=-1),
    _live("max_nested_stack_depth", int, 5, "How deep stacks may be nested.", least=0),
    _live("max_snapshots_per_stack", int, 32, "Snapshots of a stack; -1: any number.", least=-1),
    _live("max_software_configs_per_tenant", int, 4096, "Software configurations of a project; -1: any number.", least=-1),
    _live("max_software_deployments_per_tenant", int, 4096, "Software deployments of a project; -1: any number.", least=-1),
    _live("max_template_size", int, 524288, "Characters of a template, and bytes of one that is fetched.", least=0),
    _live("max_json_body_size", int, 1048576, "Bytes of a request's body.", least=0),
    _live("max_events_per_stack", int, 1000, "Events that are kept of a stack, rough upwards; 0 or less: all."),
    _live("event_purge_batch_size", int, 200, "Oldest events go each time a tree of stacks has had so many more.", least=1),
)
STACKS = (
    _live("enable_stack_adopt", bool, False, "Whether stacks may be adopted."),
    _live("enable_stack_abandon", bool, False, "Whether stacks may be abandoned and exported."),
    _live("hidden_stack_tags", list, [], "Stacks with one of these tags are listed only on request."),
    _live("stack_action_timeout", int, 3600, "Seconds an operation may take where the stack does not say.", least=1),
    _live("observe_on_update", bool, False, "Whether every update compares with what there really is, as `converge` in a request asks."),
    _is("action_retry_limit", int, 5, "Further attempts to create or delete a resource that failed.", least=0),
    _is("environment_dir", str, "/etc/heat/environment.d", "Directory of the environments that every stack builds on."),
    _live("template_fetch_timeout", float, 60, "Seconds that fetching a template may take.", least=0),
)
IDENTITY = (
    _is("auth_encryption_key", str, None, "Key that what users wrote is encrypted with, 32 characters or more; needed, and the same for all processes of a database. Several are separated by commas: the first encrypts, all decrypt (`hearth manage rekey`).", secret=True,
        differs="Heat's is known to all, so there is none here"),
    _is("stack_domain_admin", str, None, "User that makes projects and users for stacks; none: stacks get no users of their own."),
    _is("stack_domain_admin_password", str, None, "Its password.", secret=True),
    _is("stack_user_domain_id", str, None, "Domain in which these are made, by its id."),
    _is("stack_user_domain_name", str, None, "The same by its name, where no id is set."),
    _is("heat_stack_user_role", str, "heat_stack_user", "Role of stacks' users, made beforehand. The default policies name heat_stack_user whatever is set here."),
    _is("reauthentication_auth_method", str, "", "trusts: operations use a trust from the start; else the requester's token while it lasts.", choices=("", "trusts")),
    _is("deferred_auth_method", str, "trusts", "By what a stack goes on when its requester's token has ended: trusts, or application credentials of the stack's own. password: trusts, for no password is kept.", choices=("trusts", "application_credential", "password")),
    _is("trusts_delegated_roles", list, [], "Roles that trusts and application credentials delegate; none: all roles of the requester."),
    _is("region_name_for_services", str, None, "Region of the endpoints that stacks use."),
    _is("region_name_for_shared_services", str, None, "Region of the services that several regions share."),
    _is("shared_services_types", list, ["image", "volumev3"], "Which services these are."),
)
ADDRESSES = (
    _is("heat_public_url", str, None, "Where users and servers reach this API, without /v1; else where it listens.", own=True),
    _is("heat_metadata_server_url", str, None, "Where servers reach the CloudFormation API; else as the catalogue says."),
    _is("heat_waitcondition_server_url", str, None, "Where servers signal wait conditions; else below the CloudFormation API."),
)
SERVERS = (
    _is("default_user_data_format", str, "HEAT_CFNTOOLS", "user_data_format of servers that name none.", choices=("HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG")),
    _is("default_software_config_transport", str, "POLL_SERVER_CFN", "software_config_transport of servers that name none.", choices=("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE")),
    _is("max_server_name_length", int, 53, "Characters of a server's name that Hearth makes.", most=53),
    _is("stack_scheduler_hints", bool, False, "Whether the schedulers of Nova and Cinder are told where a new server or volume belongs: heat_root_stack_id, heat_stack_id, heat_stack_name, heat_path_in_stack, heat_resource_name, heat_resource_uuid."),
    _is("server_keystone_endpoint_type", str, "", "Which endpoint of Keystone in the catalogue servers are told; none: www_authenticate_uri, or [clients_keystone] auth_uri.", choices=("", "public", "internal", "admin")),
)
MESSAGES = (
    _is("transport_url", str, None, "Broker of notifications where [oslo_messaging_notifications] names none.", secret=True),
    _is("control_exchange", str, "heat", "Exchange that notifications are sent to."),
    _is("default_notification_level", str, "INFO", "Priority of notifications."),
    _is("default_publisher_id", str, None, "Who notifications are said to be from; else orchestration.HOST."),
)
LOG = (
    _live("debug", bool, False, "Log at DEBUG instead of INFO. HEARTH_LOG in the environment wins."),
    _live("default_log_levels", list, [], "Levels of single loggers, as NAME=LEVEL.",
          differs="the libraries it names in Heat are not here; those that are log warnings only"),
    _is("log_file", str, None, "File that the log is appended to; moved away, it is made anew. Else stderr.", formerly=(("DEFAULT", "logfile"),)),
    _is("log_dir", str, None, "Directory of a log_file that is no absolute path.", formerly=(("DEFAULT", "logdir"),)),
    _is("use_json", bool, False, "One JSON object per line of the log."),
)
# fmt: on

OPTIONS = (*LIMITS, *STACKS, *IDENTITY, *ADDRESSES, *SERVERS, *MESSAGES, *LOG)
