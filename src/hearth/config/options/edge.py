"""The options for ports, proxies, CORS, policies, limits of requests, template download,
monitoring, traces, notifications, health checks and YAQL.
"""

from functools import partial

from hearth.config.options.option import Option

_cors = partial(Option, "cors", live=True)
_health = partial(Option, "healthcheck", live=True)
_policy = partial(Option, "oslo_policy", live=True, library=True)
_live = partial(Option, "hearth", live=True, hearth_only=True)
_fixed = partial(Option, "hearth", hearth_only=True)

# fmt: off
PORTS = tuple(
    option
    for group, api, port in (("heat_api", "Orchestration", 8004), ("heat_api_cfn", "CloudFormation", 8000))
    for option in (
        Option(group, "bind_host", str, "0.0.0.0", f"Address where the {api} API listens."),  # noqa: S104 - as Heat's
        Option(group, "bind_port", int, port, f"Port of the {api} API.", minimum=0, maximum=65535),
    )
)
PROXIES = (
    Option("oslo_middleware", "enable_proxy_headers_parsing", bool, False, "true: Hearth trusts Forwarded and X-Forwarded-Proto, -Host, -Port, -Prefix and -For.", live=True,
           differs="the default is that of Heat, but Heat also trusts X-Forwarded-Proto without it (`secure_proxy_ssl_header`)"),
    Option("oslo_middleware", "max_request_body_size", int, None, "Maximum size of every request body in bytes, in addition to max_json_body_size.", minimum=1, live=True,
           differs="the default pipeline of Heat has no such limit"),
)
MONITORING = (
    _fixed("monitoring_port", int, None, "Port for metrics (/metrics) and health checks (/healthcheck/ready, /healthcheck/live), for each role. Default: none. 0: any free port.", minimum=0, maximum=65535),
    _fixed("trace_endpoint", str, None, "URL of an OpenTelemetry collector (OTLP over HTTP) that gets traces, such as http://127.0.0.1:4318. Default: none. Needs the extra: pip install hearth[traces]."),
    _fixed("trace_share", float, 1.0, "Share of new traces that is sent, from 0 to 1. Traces that a client has started follow its choice.", minimum=0, maximum=1),
    _fixed("monitoring_host", str, "127.0.0.1", "Address where the port for metrics listens. It needs no token."),
)
BROWSERS = (
    _cors("allowed_origin", list, [], "Origins of web pages that can call the API; *: all."),
    _cors("allow_credentials", bool, True, "true: web pages can send credentials such as cookies."),
    _cors("expose_headers", list, ["X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-OpenStack-Request-ID"], "Headers of answers that web pages can read."),
    _cors("max_age", int, 3600, "Time for which browsers cache the answer to a preflight request, in seconds.", minimum=0),
    _cors("allow_methods", list, ["GET", "PUT", "POST", "DELETE", "PATCH"], "HTTP methods that web pages can use."),
    _cors("allow_headers", list, ["X-Auth-Token", "X-Identity-Status", "X-Roles", "X-Service-Catalog", "X-User-Id", "X-Tenant-Id", "X-OpenStack-Request-ID"], "Headers that web pages can send, in addition to those that CORS always allows."),
)
MONITORS = (
    _health("path", str, "/healthcheck", "Path of the health check."),
    _health("detailed", bool, False, "true: the answer has the result of each check. Do not publish it."),
    _health("backends", list, ["database"], "Checks: database, disable_by_file, disable_by_files_ports, enable_by_files."),
    _health("allowed_source_ranges", list, [], "Networks from which requests are allowed; empty: all."),
    _health("ignore_proxied_requests", bool, False, "true: requests through a proxy are refused."),
    _health("disable_by_file_path", str, None, "The check disable_by_file fails while this file exists."),
    _health("disable_by_file_paths", list, [], "Entries PORT:FILE for the check disable_by_files_ports, which fails on a port while the file of the port exists."),
    _health("enable_by_file_paths", list, [], "Files for the check enable_by_files, which fails while one of them is missing."),
)
OWN = (
    _live("requests_per_second", float, 0, "Average number of requests of a project per second; 0: no limit.", minimum=0),
    _live("requests_burst", int, 50, "Number of requests that a project can send at once before requests_per_second applies.", minimum=1),
    _live("requests_at_once", int, 1000, "Number of requests that a process handles at the same time; further requests get the status 503 with Retry-After. 0: no limit.", minimum=0,
         differs="Heat has no such limit"),
    _live("operations_per_project", int, 0, "Number of stacks of a project that can be in progress at the same time. Further creates, updates and other operations get the status 429 with Retry-After; deletes are always accepted. 0: no limit.", minimum=0),
    _live("guest_requests_per_second", float, 20, "Average number of requests of one user of a stack (a server that signals) per second; 0: no limit.", minimum=0,
         differs="Heat has no such limit"),
    _live("guest_requests_burst", int, 1000, "Number of requests that one user of a stack can send at once before guest_requests_per_second applies.", minimum=1),
    _fixed("drift_check_interval", float, 0, "Time between two background drift checks of a root stack, in seconds; 0: no checks.", minimum=0),
    _fixed("revive_retired_types", bool, False, "true: retired types with a successor work through it, for example OS::Neutron::LBaaS::Pool through Octavia. false: they are placeholders that create nothing, as in Heat."),
    _live("template_fetch_enabled", bool, False, "true: users can give the address of a template instead of its text, also as a resource type.",
         differs="Heat fetches every template that a request names by URL: `template_url`, `TemplateUrl`, types and registry entries"),
    _live("foreign_cloud_networks", list, [], "Non-public networks in which an OS::Heat::Stack with a credential can use another cloud.", live=False),
    _live("template_fetch_networks", list, [], "Non-public networks from which templates may be downloaded."),
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
OTHERS = (
    Option("oslo_messaging_notifications", "driver", tuple, [], "messagingv2, messaging: send notifications; log: write notifications to the log; noop or empty: no notifications.", formerly=(("DEFAULT", "notification_driver"),)),
    Option("oslo_messaging_notifications", "transport_url", str, None, "Broker for notifications.", secret=True, formerly=(("DEFAULT", "notification_transport_url"),)),
    Option("oslo_messaging_notifications", "topics", list, ["notifications"], "Topics of notifications.", formerly=(("DEFAULT", "notification_topics"),)),
    Option("yaql", "limit_iterators", int, 200, "Maximum number of elements of a sequence in a YAQL expression.", minimum=1, live=True),
    Option("yaql", "memory_quota", int, 10000, "Maximum memory of a YAQL expression, in bytes.", minimum=1, live=True),
)
# fmt: on

OPTIONS = (*PORTS, *PROXIES, *MONITORING, *BROWSERS, *MONITORS, *POLICY, *OWN, *OTHERS)
