"""Options of Heat and its libraries that have no effect in Hearth, each with the reason."""

from collections.abc import Mapping

BROKER = "processes communicate through the database; notifications have their own section"
CACHE = "Hearth decides what it caches and for how long"
LIBRARY = "Hearth does not use this library"
ONE_WAY = "Hearth has no alternative to choose"
PASTE = "the pipeline is fixed; other sections configure it"
POOL = "a process has a few connections, according to its threads"
PROCESSES = (
    "a process uses one processor; start several with `hearth serve --workers`, or several services"
)
PUBLISHING = "the format of the log is fixed"
RETRIES = "transactions are repeated as often as the database requires"
SERVER = "the value in the HTTP server is fixed"
TLS = "TLS ends at the proxy"

# fmt: off
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "DEFAULT": {
        "allow_trusts_redelegation": "trusts have no redelegation",
        "client_retry_limit": "the type of the error decides whether Hearth retries a call; the maximum is four retries",
        "cloud_backend": ONE_WAY,
        "convergence_engine": "every stack converges",
        "encrypt_parameters_and_properties": "parameters and properties are always encrypted",
        "engine_life_check_timeout": "engines have leases of 15 s in the database",
        "error_wait_time": "an update waits until a call in progress has ended",
        "host": "the name of an engine comes from its machine",
        "instance_connection_https_validate_certificates": "no agent in a server reads the value any more",
        "instance_connection_is_secure": "no agent in a server reads the value any more",
        "keystone_backend": ONE_WAY,
        "loadbalancer_template": "no resource type reads the value",
        "max_cinder_api_microversion": "resource types name the version that they need",
        "max_interface_check_attempts": "Hearth checks ports until the time limit of the operation",
        "max_ironic_api_microversion": "resource types name the version that they need",
        "max_nova_api_microversion": "resource types name the version that they need",
        "metadata_put_timeout": "each call to the cloud has a time limit of 120 s",
        "num_engine_workers": PROCESSES,
        "periodic_interval": "nothing in Hearth uses the value",
        "plugin_dirs": "resource types are installed as packages, see docs/extending.md",
        "template_dir": "environments name templates by path",
        # oslo.log, oslo.messaging, oslo.service and oslo.config
        "config_dir": "use the command line instead", "config_file": "use the command line instead",
        "config_source": LIBRARY,
        "conn_pool_min_size": BROKER, "conn_pool_ttl": BROKER, "executor_thread_pool_size": BROKER,
        "rpc_conn_pool_size": BROKER, "rpc_response_timeout": BROKER, "rpc_ping_enabled": BROKER,
        "rpc_backend": BROKER,
        "onready": LIBRARY,
        "backdoor_port": LIBRARY, "backdoor_socket": LIBRARY, "graceful_shutdown_timeout": "at a stop, requests and operations always get 10 s",
        "log_options": "hearth serve --check-config prints the options", "run_external_periodic_tasks": LIBRARY,
        "api_paste_config": PASTE, "client_socket_timeout": SERVER, "max_header_line": SERVER,
        "tcp_keepidle": SERVER, "wsgi_default_pool_size": SERVER, "wsgi_keep_alive": SERVER,
        "wsgi_log_format": PUBLISHING, "wsgi_server_debug": SERVER, "secure_proxy_ssl_header": "see [oslo_middleware] enable_proxy_headers_parsing",
        "fatal_deprecations": PUBLISHING, "instance_format": PUBLISHING, "instance_uuid_format": PUBLISHING,
        "log_color": PUBLISHING, "log_config_append": PUBLISHING, "log_date_format": PUBLISHING,
        "log_rotate_interval": "logrotate rotates the log", "log_rotate_interval_type": "logrotate rotates the log",
        "log_rotation_type": "logrotate rotates the log", "max_logfile_count": "logrotate rotates the log", "max_logfile_size_mb": "logrotate rotates the log",
        "logging_context_format_string": PUBLISHING, "logging_debug_format_suffix": PUBLISHING,
        "logging_default_format_string": PUBLISHING, "logging_exception_prefix": PUBLISHING,
        "logging_user_identity_format": PUBLISHING, "publish_errors": PUBLISHING,
        "rate_limit_burst": PUBLISHING, "rate_limit_except_level": PUBLISHING, "rate_limit_interval": PUBLISHING,
        "syslog_log_facility": "the service manager sends stderr to its journal", "use_journal": "the service manager sends stderr to its journal",
        "use_syslog": "the service manager sends stderr to its journal", "use_eventlog": PUBLISHING, "use_stderr": "Hearth logs to stderr if log_file is not set",
        "verbose": PUBLISHING, "watch_log_file": "Hearth always opens a new file after the log file was moved",
        # names that Heat has removed, but that existing files still contain
        "deprecated_user_role": ONE_WAY, "heat_watch_server_url": "there is no CloudWatch API", "enable_cloud_watch_lite": "there is no CloudWatch API",
        "sql_idle_timeout": POOL,
    },
    "auth_password": dict.fromkeys(("allowed_auth_uris", "multi_cloud"), "users authenticate with tokens, not with passwords"),
    "clients_cinder": {"http_log_debug": "no call is logged with its body"},
    "clients_nova": {"http_log_debug": "no call is logged with its body"},
    "constraint_validation_cache": dict.fromkeys(("caching", "expiration_time"), CACHE),
    "database": {
        **dict.fromkeys(("asyncio_connection", "asyncio_slave_connection", "slave_connection", "synchronous_reader"), "the setting connection contains the whole address"),
        **dict.fromkeys(("backend", "connection_parameters", "db_backend", "use_tpool"), ONE_WAY),
        **dict.fromkeys(("connection_debug", "connection_trace"), "no statement is logged"),
        **dict.fromkeys(("connection_recycle_time", "idle_timeout", "max_overflow", "max_pool_size", "min_pool_size", "pool_timeout"), POOL),
        **dict.fromkeys(("db_inc_retry_interval", "db_max_retries", "db_max_retry_interval", "db_retry_interval", "max_retries", "retry_interval", "use_db_reconnect"), RETRIES),
        "mysql_sql_mode": "the mode is STRICT_ALL_TABLES", "mysql_enable_ndb": ONE_WAY,
        "mysql_wsrep_sync_wait": "a process reads from the node that it has written to",
        "sqlite_db": "the setting connection contains the path", "sqlite_synchronous": "SQLite always writes synchronously",
    },
    "ec2authtoken": {
        **dict.fromkeys(("ca_file", "cafile", "cert_file", "certfile", "insecure", "key_file", "keyfile"), "the value of [keystone_authtoken] applies"),
        **dict.fromkeys((
            "auth_section", "collect_timing", "connect_retries", "connect_retry_delay", "domain_id", "domain_name",
            "endpoint_override", "interface", "max_version", "min_version", "region_name", "retriable_status_codes",
            "service_name", "service_type", "split_loggers", "status_code_retries", "status_code_retry_delay",
            "system_scope", "timeout", "tls_ciphers", "tls_min_version", "trust_id", "valid_interfaces", "version",
        ), "Hearth uses auth_url and the user of this section"),
    },
    "healthcheck": {"ignore_path": "no other middleware comes before it", **dict.fromkeys(("disable_by_file_ports",), "the name is disable_by_file_paths")},
    "heat_api": {
        **dict.fromkeys(("backlog", "max_header_line", "tcp_keepidle"), SERVER),
        **dict.fromkeys(("cert_file", "key_file"), TLS), "workers": PROCESSES,
    },
    "heat_api_cfn": {
        **dict.fromkeys(("backlog", "max_header_line", "tcp_keepidle"), SERVER),
        **dict.fromkeys(("cert_file", "key_file"), TLS), "workers": PROCESSES,
    },
    "keystone_authtoken": {
        **dict.fromkeys((
            "cache", "enforce_token_bind", "hash_algorithms", "include_service_catalog", "memcache_pool_conn_get_timeout",
            "memcache_pool_dead_retry", "memcache_pool_maxsize", "memcache_pool_socket_timeout", "memcache_pool_unused_timeout",
            "memcache_secret_key", "memcache_security_strategy", "memcache_use_advanced_pool", "memcached_servers",
            "memcache_sasl_enabled", "memcache_username", "memcache_password", "memcache_tls_enabled", "memcache_tls_cafile",
            "memcache_tls_certfile", "memcache_tls_keyfile", "memcache_tls_allowed_ciphers", "check_revocations_for_cached",
            "revocation_cache_time", "signing_dir", "token_cache_dir",
        ), "each process has its own cache of Keystone's answers"),
        **dict.fromkeys(("admin_password", "admin_tenant_name", "admin_token", "admin_user", "auth_host", "auth_port", "auth_protocol", "auth_admin_prefix", "identity_uri"), "use auth_url, username, password and project_name"),
        **dict.fromkeys(("auth_section", "auth_plugin"), "the user must be named in this section itself"),
        **dict.fromkeys(("auth_uri", "tenant_name", "tenant_id", "user_name"), "use the newer name"),
        **dict.fromkeys(("default_domain_id", "default_domain_name", "domain_id", "domain_name", "system_scope", "trust_id"), "the service user acts in a project"),
        **dict.fromkeys(("auth_version", "delay_auth_decision", "service_type"), ONE_WAY),
        **dict.fromkeys(("http_connect_timeout", "http_request_max_retries", "timeout", "connect_retries", "status_code_retries"), "the limits are those of every call to the cloud"),
    },
    "noauth": {"token_response": "every request has a token"},
    "oslo_messaging_notifications": {"retry": "Hearth sends a notification again until the broker confirms it"},
    "oslo_middleware": {"secure_proxy_ssl_header": "see enable_proxy_headers_parsing"},
    "paste_deploy": dict.fromkeys(("api_paste_config", "flavor"), PASTE),
    "resource_finder_cache": dict.fromkeys(("caching", "expiration_time"), CACHE),
    "revision": {"heat_revision": "the release determines the revision"},
    "service_extension_cache": dict.fromkeys(("caching", "expiration_time"), CACHE),
    "trustee": {
        **dict.fromkeys(("auth_section", "auth_plugin"), "the user must be named in this section itself"),
        **dict.fromkeys((
            "default_domain_id", "default_domain_name", "domain_id", "domain_name", "project_domain_id", "project_domain_name",
            "project_id", "project_name", "system_scope", "trust_id", "tenant_id", "tenant_name",
        ), "the trust determines the project"),
        "user_name": "use the newer name",
    },
    "volumes": {"backups_enabled": "the catalogue shows whether there are backups"},
}
GROUPS: Mapping[str, str] = {
    "audit": LIBRARY,
    "audit_middleware_notifications": LIBRARY,
    "cache": CACHE,
    "clients_ceilometer": "no resource type uses this service",
    "clients_sahara": "no resource type uses this service",
    "clients_senlin": "no resource type uses this service",
    "clients_monasca": "no resource type uses this service",
    "clients_vitrage": "no resource type uses this service",
    "clients_zun": "no resource type uses this service",
    "cors.subdomain": "one section [cors] is enough",
    "eventlet_opts": SERVER,
    "heat_all": ONE_WAY,
    "heat_api_cloudwatch": "there is no CloudWatch API",
    "matchmaker_redis": BROKER,
    "oslo_concurrency": LIBRARY,
    "oslo_limit": LIBRARY,
    "oslo_messaging_amqp": BROKER,
    "oslo_messaging_kafka": BROKER,
    "oslo_messaging_metrics": BROKER,
    "oslo_messaging_rabbit": BROKER,
    "oslo_messaging_zmq": BROKER,
    "oslo_reports": LIBRARY,
    "oslo_versionedobjects": LIBRARY,
    "os_vif_ovs": LIBRARY,
    "process_manager": PROCESSES,
    "profiler": LIBRARY,
    "profiler_jaeger": LIBRARY,
    "profiler_otlp": LIBRARY,
    "ssl": TLS,
}
"""Sections in which no option has an effect, each with the reason."""
# fmt: on
