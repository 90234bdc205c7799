"""The options of [DEFAULT]: Heat's own, and those for logs and messages."""

from functools import partial

from hearth.config.options.option import Option

_is = partial(Option, "DEFAULT")
_live = partial(Option, "DEFAULT", live=True)

# fmt: off
LIMITS = (
    _live("max_stacks_per_tenant", int, 512, "Maximum number of stacks of a project; -1: no limit.", minimum=-1),
    _live("max_resources_per_stack", int, 1000, "Maximum number of resources of a stack with all its nested stacks; -1: no limit.", minimum=-1),
    _live("max_nested_stack_depth", int, 5, "Maximum depth of nested stacks.", minimum=0),
    _live("max_snapshots_per_stack", int, 32, "Maximum number of snapshots of a stack; -1: no limit.", minimum=-1),
    _live("max_software_configs_per_tenant", int, 4096, "Maximum number of software configurations of a project; -1: no limit.", minimum=-1),
    _live("max_software_deployments_per_tenant", int, 4096, "Maximum number of software deployments of a project; -1: no limit.", minimum=-1),
    _live("max_template_size", int, 524288, "Maximum size of a template in characters; of a downloaded template in bytes.", minimum=0),
    _live("max_json_body_size", int, 1048576, "Maximum size of a request body in bytes.", minimum=0),
    _live("max_events_per_stack", int, 1000, "Approximate number of events kept per stack; 0 or less: all."),
    _live("event_purge_batch_size", int, 200, "Number of new events of a stack and its nested stacks after which Hearth removes the oldest ones.", minimum=1),
)
STACKS = (
    _live("enable_stack_adopt", bool, False, "true: users can adopt stacks."),
    _live("enable_stack_abandon", bool, False, "true: users can abandon and export stacks."),
    _live("hidden_stack_tags", list, [], "Tags of hidden stacks: lists show a stack with one of these tags only on request."),
    _live("stack_action_timeout", int, 3600, "Time limit of an operation in seconds, for stacks without a timeout.", minimum=1),
    _live("observe_on_update", bool, False, "true: every update compares with the real state in the cloud, like `converge` in a request."),
    _is("action_retry_limit", int, 5, "Number of retries of a failed create or delete of a resource.", minimum=0),
    _is("environment_dir", str, "/etc/heat/environment.d", "Folder with the environments of the operator, which apply to every stack."),
    _live("template_fetch_timeout", float, 60, "Time limit for the download of a template, in seconds.", minimum=0),
)
IDENTITY = (
    _is("auth_encryption_key", str, None, "Key for the encryption of user data, 32 characters or more. Required, and the same for all processes of a database. Several keys are separated by commas: the first one encrypts, all decrypt (`hearth manage rekey`).", secret=True,
        differs="the default of Heat is public, so Hearth has none"),
    _is("stack_domain_admin", str, None, "User that creates projects and users for stacks. Without it, the service user creates users in the project of the stack."),
    _is("stack_domain_admin_password", str, None, "Password of stack_domain_admin.", secret=True),
    _is("stack_user_domain_id", str, None, "Id of the domain for the projects and users that Hearth creates for stacks."),
    _is("stack_user_domain_name", str, None, "Name of the domain, if stack_user_domain_id is not set."),
    _is("heat_stack_user_role", str, "heat_stack_user", "Role of the users of stacks; it must exist. The default policies always name heat_stack_user."),
    _is("reauthentication_auth_method", str, "", "trusts: operations use a trust from the start. Otherwise they use the token of the requester until it expires.", choices=("", "trusts")),
    _is("deferred_auth_method", str, "trusts", "Credential of a stack after the token of its requester has expired: trusts or application credentials. password means trusts, because Hearth stores no passwords.", choices=("trusts", "application_credential", "password")),
    _is("trusts_delegated_roles", list, [], "Roles that trusts and application credentials delegate; empty: all roles of the requester."),
    _is("region_name_for_services", str, None, "Region of the endpoints that stacks use."),
    _is("region_name_for_shared_services", str, None, "Region of the services that several regions share."),
    _is("shared_services_types", list, ["image", "volumev3"], "Types of the services that several regions share."),
)
ADDRESSES = (
    _is("heat_public_url", str, None, "Address of this API for users and servers, without /v1. Default: the address where it listens.", hearth_only=True),
    _is("heat_metadata_server_url", str, None, "Address of the CloudFormation-style API for servers. Default: the endpoint in the catalogue."),
    _is("heat_waitcondition_server_url", str, None, "Address for signals to wait conditions. Default: a path of the CloudFormation-style API."),
)
SERVERS = (
    _is("default_user_data_format", str, "HEAT_CFNTOOLS", "user_data_format of servers that do not set this property.", choices=("HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG")),
    _is("default_software_config_transport", str, "POLL_SERVER_CFN", "software_config_transport of servers that do not set this property.", choices=("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE")),
    _is("default_deployment_signal_transport", str, "CFN_SIGNAL", "signal_transport of software deployments that do not set this property.", choices=("CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "ZAQAR_SIGNAL")),
    _is("max_server_name_length", int, 53, "Maximum length of generated server names.", maximum=53),
    _is("stack_scheduler_hints", bool, False, "true: Hearth sends scheduler hints for new servers and volumes: heat_root_stack_id, heat_stack_id, heat_stack_name, heat_path_in_stack, heat_resource_name, heat_resource_uuid."),
    _is("server_keystone_endpoint_type", str, "", "Endpoint of Keystone that servers receive; empty: www_authenticate_uri, or [clients_keystone] auth_uri.", choices=("", "public", "internal", "admin")),
)
MESSAGES = (
    _is("transport_url", str, None, "Broker for wake-ups between processes (not needed on PostgreSQL), and for notifications if [oslo_messaging_notifications] names none.", secret=True),
    _is("control_exchange", str, "heat", "Exchange for notifications."),
    _is("default_notification_level", str, "INFO", "Priority of notifications."),
    _is("default_publisher_id", str, None, "Publisher id of notifications. Default: orchestration.HOST, and magnum.HOST for clusters."),
)
LOG = (
    _live("debug", bool, False, "Log at DEBUG instead of INFO. The environment variable HEARTH_LOG overrides this setting."),
    _live("default_log_levels", list, [], "Levels of loggers, as NAME=LEVEL.",
          differs="Hearth does not use the libraries in the default of Heat; other libraries log only warnings"),
    _is("log_file", str, None, "File for the log; Hearth creates it again after logrotate has moved it. Default: stderr.", formerly=(("DEFAULT", "logfile"),)),
    _is("log_dir", str, None, "Folder of a log_file without an absolute path.", formerly=(("DEFAULT", "logdir"),)),
    _is("use_json", bool, False, "One JSON object per line of the log."),
)
# fmt: on

OPTIONS = (*LIMITS, *STACKS, *IDENTITY, *ADDRESSES, *SERVERS, *MESSAGES, *LOG)
