"""Options of Heat and its libraries that are known and do nothing here, each with the reason."""

from collections.abc import Mapping

BROKER = "processes talk through the database; notifications have sections of their own"
CACHE = "what is kept, and how long, follows from what it is"
COLLECTOR = "it is said in the template, or Heat's usual value counts"
LIBRARY = "the library it is for is not used"
ONE_WAY = "there is one way here"
PASTE = "what requests pass is fixed; sections of their own set it up"
POOL = "a process has a few connections, of sizes that follow from its threads"
PROCESSES = "a process serves on one processor; start several, as a service manager does"
PUBLISHING = "it is of the log's form, which is fixed"
RETRIES = "transactions are tried again as often as the database asks for it"
SERVER = "the HTTP server sets it itself"
TLS = "TLS ends at the proxy in front"

# fmt: off
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "DEFAULT": {
        "allow_trusts_redelegation": "trusts are made without redelegation",
        "client_retry_limit": "calls are repeated by what went wrong, four times at most",
        "cloud_backend": ONE_WAY,
        "convergence_engine": "every stack converges",
        "default_deployment_signal_transport": COLLECTOR,
        "encrypt_parameters_and_properties": "they always are encrypted",
        "engine_life_check_timeout": "engines have leases of 15 s in the database",
        "error_wait_time": "a superseded resource is waited for until it ends",
        "host": "engines are named by their machine",
        "instance_connection_https_validate_certificates": "no in-guest agent reads it any more",
        "instance_connection_is_secure": "no in-guest agent reads it any more",
        "keystone_backend": ONE_WAY,
        "loadbalancer_template": "there is no type that reads it",
        "max_cinder_api_microversion": "types name the version they need",
        "max_interface_check_attempts": "ports are looked at until the operation's time is over",
        "max_ironic_api_microversion": "types name the version they need",
        "max_nova_api_microversion": "types name the version they need",
        "metadata_put_timeout": "each call to the cloud has 120 s",
        "num_engine_workers": PROCESSES,
        "periodic_interval": "nothing runs by that clock",
        "plugin_dirs": "types are installed as packages: see docs/extending.md",
        "template_dir": "environments name templates by their paths",
        # oslo.log, oslo.messaging, oslo.service and oslo.config
        "config_dir": "give it on the command line", "config_file": "give it on the command line",
        "config_source": LIBRARY,
        "conn_pool_min_size": BROKER, "conn_pool_ttl": BROKER, "executor_thread_pool_size": BROKER,
        "rpc_conn_pool_size": BROKER, "rpc_response_timeout": BROKER, "rpc_ping_enabled": BROKER,
        "rpc_backend": BROKER,
        "onready": LIBRARY,
        "backdoor_port": LIBRARY, "backdoor_socket": LIBRARY, "graceful_shutdown_timeout": "it is 3 s for requests and 10 s for stacks",
        "log_options": "hearth serve --check-config tells them", "run_external_periodic_tasks": LIBRARY,
        "api_paste_config": PASTE, "client_socket_timeout": SERVER, "max_header_line": SERVER,
        "tcp_keepidle": SERVER, "wsgi_default_pool_size": SERVER, "wsgi_keep_alive": SERVER,
        "wsgi_log_format": PUBLISHING, "wsgi_server_debug": SERVER, "secure_proxy_ssl_header": "see [oslo_middleware] enable_proxy_headers_parsing",
        "fatal_deprecations": PUBLISHING, "instance_format": PUBLISHING, "instance_uuid_format": PUBLISHING,
        "log_color": PUBLISHING, "log_config_append": PUBLISHING, "log_date_format": PUBLISHING,
        "log_rotate_interval": "logrotate does it", "log_rotate_interval_type": "logrotate does it",
        "log_rotation_type": "logrotate does it", "max_logfile_count": "logrotate does it", "max_logfile_size_mb": "logrotate does it",
        "logging_context_format_string": PUBLISHING, "logging_debug_format_suffix": PUBLISHING,
        "logging_default_format_string": PUBLISHING, "logging_exception_prefix": PUBLISHING,
        "logging_user_identity_format": PUBLISHING, "publish_errors": PUBLISHING,
        "rate_limit_burst": PUBLISHING, "rate_limit_except_level": PUBLISHING, "rate_limit_interval": PUBLISHING,
        "syslog_log_facility": "stderr is for the service manager's journal", "use_journal": "stderr is for the service manager's journal",
        "use_syslog": "stderr is for the service manager's journal", "use_eventlog": PUBLISHING, "use_stderr": "it is used where no log_file is set",
        "verbose": PUBLISHING, "watch_log_file": "a log file that was moved is always made anew",
        # names that are gone from Heat, in files that are still there
        "deprecated_user_role": ONE_WAY, "heat_watch_server_url": "there is no CloudWatch API", "enable_cloud_watch_lite": "there is no CloudWatch API",
        "sql_idle_timeout": POOL,
    },
    "auth_password": dict.fromkeys(("allowed_auth_uris", "multi_cloud"), "users come with tokens, not with passwords"),
    "clients_cinder": {"http_log_debug": "no call is logged with its body"},
    "clients_nova": {"http_log_debug": "no call is logged with its body"},
    "constraint_validation_cache": dict.fromkeys(("caching", "expiration_time"), CACHE),
    "database": {
        **dict.fromkeys(("asyncio_connection", "asyncio_slave_connection", "slave_connection", "synchronous_reader"), "one connection string says it all"),
        **dict.fromkeys(("backend", "connection_parameters", "db_backend", "use_tpool"), ONE_WAY),
        **dict.fromkeys(("connection_debug", "connection_trace"), "no statement is logged"),
        **dict.fromkeys(("connection_recycle_time", "idle_timeout", "max_overflow", "max_pool_size", "min_pool_size", "pool_timeout"), POOL),
        **dict.fromkeys(("db_inc_retry_interval", "db_max_retries", "db_max_retry_interval", "db_retry_interval", "max_retries", "retry_interval", "use_db_reconnect"), RETRIES),
        "mysql_sql_mode": "it is STRICT_ALL_TABLES", "mysql_enable_ndb": ONE_WAY,
        "mysql_wsrep_sync_wait": "what a process wrote is read from the node that has it",
        "sqlite_db": "it is in connection", "sqlite_synchronous": "it always is",
    },
    "ec2authtoken": {
        **dict.fromkeys(("ca_file", "cafile", "cert_file", "certfile", "insecure", "key_file", "keyfile"), "that of [keystone_authtoken] counts"),
        **dict.fromkeys((
            "auth_section", "collect_timing", "connect_retries", "connect_retry_delay", "domain_id", "domain_name",
            "endpoint_override", "interface", "max_version", "min_version", "region_name", "retriable_status_codes",
            "service_name", "service_type", "split_loggers", "status_code_retries", "status_code_retry_delay",
            "system_scope", "timeout", "tls_ciphers", "tls_min_version", "trust_id", "valid_interfaces", "version",
        ), "Keystone is asked at auth_url, as the user that is named"),
    },
    "healthcheck": {"ignore_path": "nothing lies on the way to it", **dict.fromkeys(("disable_by_file_ports",), "it is disable_by_file_paths")},
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
        ), "each process keeps Keystone's answers by itself"),
        **dict.fromkeys(("admin_password", "admin_tenant_name", "admin_token", "admin_user", "auth_host", "auth_port", "auth_protocol", "auth_admin_prefix", "identity_uri"), "it is auth_url, username, password and project_name"),
        **dict.fromkeys(("auth_section", "auth_plugin"), "the user is named in this section"),
        **dict.fromkeys(("auth_uri", "tenant_name", "tenant_id", "user_name"), "its newer name counts"),
        **dict.fromkeys(("default_domain_id", "default_domain_name", "domain_id", "domain_name", "system_scope", "trust_id"), "the service user acts in a project"),
        **dict.fromkeys(("auth_version", "delay_auth_decision", "service_type"), ONE_WAY),
        **dict.fromkeys(("http_connect_timeout", "http_request_max_retries", "timeout", "connect_retries", "status_code_retries"), "as for every call to the cloud"),
    },
    "noauth": {"token_response": "everybody comes with a token"},
    "oslo_messaging_notifications": {"retry": "they are sent until they arrive"},
    "oslo_middleware": {"secure_proxy_ssl_header": "see enable_proxy_headers_parsing"},
    "paste_deploy": dict.fromkeys(("api_paste_config", "flavor"), PASTE),
    "resource_finder_cache": dict.fromkeys(("caching", "expiration_time"), CACHE),
    "revision": {"heat_revision": "it is that of the release"},
    "service_extension_cache": dict.fromkeys(("caching", "expiration_time"), CACHE),
    "trustee": {
        **dict.fromkeys(("auth_section", "auth_plugin"), "the user is named in this section"),
        **dict.fromkeys((
            "default_domain_id", "default_domain_name", "domain_id", "domain_name", "project_domain_id", "project_domain_name",
            "project_id", "project_name", "system_scope", "trust_id", "tenant_id", "tenant_name",
        ), "a trust brings its project"),
        "user_name": "its newer name counts",
    },
    "volumes": {"backups_enabled": "whether there are backups, the catalogue tells"},
}
GROUPS: Mapping[str, str] = {
    "audit": LIBRARY,
    "audit_middleware_notifications": LIBRARY,
    "cache": CACHE,
    "clients_ceilometer": "no resource type asks that service",
    "clients_sahara": "no resource type asks that service",
    "clients_senlin": "no resource type asks that service",
    "clients_monasca": "no resource type asks that service",
    "clients_vitrage": "no resource type asks that service",
    "clients_zun": "no resource type asks that service",
    "cors.subdomain": "one section [cors] says it all",
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
"""Whole sections of which nothing counts, whatever is in them."""
# fmt: on
