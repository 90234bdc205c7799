"""The options of a process that functions and libraries read: addresses and ports, credentials,
messages, policies and logs.
"""

from functools import partial

from hearth.config.options.entry import entry

MAIN_PORT, CFN_PORT, CLUSTER_PORT = 8004, 8000, 9511

_is = partial(entry, "DEFAULT")
_live = partial(entry, "DEFAULT", live=True)
_hearth = partial(entry, "hearth", hearth_only=True)
_policy = partial(entry, "oslo_policy", live=True, library=True)

# fmt: off
IDENTITY = (
    _is("auth_encryption_key", str, None, "Key for the encryption of user data, 32 characters or more. Required, and the same for all processes of a database. Several keys are separated by commas: the first one encrypts, all decrypt (`hearth manage rekey`).", secret=True,
        differs="the default of Heat is public, so Hearth has none"),
    _is("stack_domain_admin", str, None, "User that creates projects and users for stacks. Without it, the service user creates users in the project of the stack."),
    _is("stack_domain_admin_password", str, None, "Password of stack_domain_admin.", secret=True),
    _is("region_name_for_shared_services", str, None, "Region of the services that several regions share."),
    _is("shared_services_types", list, ["image", "volumev3"], "Types of the services that several regions share."),
)
ADDRESSES = (
    _is("heat_public_url", str, None, "Address of this API for users and servers, without /v1. Default: the address where it listens.", hearth_only=True),
    entry("api", "host", str, "127.0.0.1", "Address where the API of clusters listens."),
    entry("api", "port", int, CLUSTER_PORT, "Port of the API of clusters.", minimum=0, maximum=65535),
    _hearth("clusters", bool, False, "true: `hearth serve --role all` also serves clusters."),
    _hearth("cluster_public_url", str, "", "Address of the API of clusters for users and nodes, without /v1. Default: the address where it listens."),
    _hearth("monitoring_port", int, None, "Port for metrics (/metrics) and health checks (/healthcheck/ready, /healthcheck/live), for each role. Default: none. 0: any free port.", minimum=0, maximum=65535),
    _hearth("monitoring_host", str, "127.0.0.1", "Address where the port for metrics listens. It needs no token."),
)
PORTS = tuple(
    option
    for group, api, port in (("heat_api", "Orchestration", MAIN_PORT), ("heat_api_cfn", "CloudFormation", CFN_PORT))
    for option in (
        entry(group, "bind_host", str, "0.0.0.0", f"Address where the {api} API listens."),  # noqa: S104 - as Heat's
        entry(group, "bind_port", int, port, f"Port of the {api} API.", minimum=0, maximum=65535),
    )
)
MESSAGES = (
    _is("transport_url", str, None, "Broker for wake-ups between processes (not needed on PostgreSQL), and for notifications if [oslo_messaging_notifications] names none.", secret=True),
    _is("default_publisher_id", str, None, "Publisher id of notifications. Default: orchestration.HOST, and magnum.HOST for clusters."),
    entry("oslo_messaging_notifications", "driver", tuple, [], "messagingv2, messaging: send notifications; log: write notifications to the log; noop or empty: no notifications.", formerly=(("DEFAULT", "notification_driver"),)),
    entry("oslo_messaging_notifications", "transport_url", str, None, "Broker for notifications.", secret=True, formerly=(("DEFAULT", "notification_transport_url"),)),
)
POLICY = (
    _policy("policy_file", str, "policy.yaml", "File with rules that override the defaults, relative to the configuration."),
    _policy("policy_dirs", list, ["policy.d"], "Folders with further files of rules."),
    _policy("policy_default_rule", str, "default", "Rule that applies where a rule is missing."),
    _policy("enforce_scope", bool, True, "true: tokens with a wrong scope are refused."),
    _policy("enforce_new_defaults", bool, True, "true: the deprecated defaults of rules are ignored."),
    _policy("remote_content_type", str, "application/x-www-form-urlencoded", "Content type of the requests that are sent for rules with a URL."),
    _policy("remote_ssl_verify_server_crt", bool, False, "true: Hearth checks the certificate of the server for rules with a URL."),
    _policy("remote_ssl_ca_crt_file", str, None, "File with the certificate authorities for remote_ssl_verify_server_crt."),
    _policy("remote_ssl_client_crt_file", str, None, "File with the client certificate for rules with a URL."),
    _policy("remote_ssl_client_key_file", str, None, "File with the key of remote_ssl_client_crt_file."),
    _policy("remote_timeout", float, 60, "Time limit for a request that is sent for a rule with a URL, in seconds.", minimum=0),
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

OPTIONS = (*IDENTITY, *ADDRESSES, *PORTS, *MESSAGES, *POLICY, *LOG)
