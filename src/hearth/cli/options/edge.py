"""The options of what stands between a client and the API: ports, proxies, browsers, monitors."""

from functools import partial

from hearth.cli.options.option import Option

_cors = partial(Option, "cors", live=True)
_health = partial(Option, "healthcheck", live=True)
_policy = partial(Option, "oslo_policy", live=True, library=True)
_own = partial(Option, "hearth", live=True, own=True)

# fmt: off
PORTS = tuple(
    option
    for group, api, port in (("heat_api", "Orchestration", 8004), ("heat_api_cfn", "CloudFormation", 8000))
    for option in (
        Option(group, "bind_host", str, "0.0.0.0", f"Address that the {api} API listens on."),  # noqa: S104 - as Heat's
        Option(group, "bind_port", int, port, "Its port.", least=0, most=65535),
    )
)
PROXIES = (
    Option("oslo_middleware", "enable_proxy_headers_parsing", bool, False, "Whether Forwarded and X-Forwarded-Proto, -Host, -Port, -Prefix and -For are believed.", live=True),
    Option("oslo_middleware", "max_request_body_size", int, None, "Bytes of any request's body, besides max_json_body_size.", least=1, live=True,
           differs="Heat's pipeline does not use it unless told"),
)
BROWSERS = (
    _cors("allowed_origin", list, [], "Origins of pages that may call the API; *: all of them."),
    _cors("allow_credentials", bool, True, "Whether they may send cookies and the like."),
    _cors("expose_headers", list, ["X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-OpenStack-Request-ID"], "Headers of answers that they may read."),
    _cors("max_age", int, 3600, "Seconds that they may remember this.", least=0),
    _cors("allow_methods", list, ["GET", "PUT", "POST", "DELETE", "PATCH"], "Methods that they may use."),
    _cors("allow_headers", list, ["X-Auth-Token", "X-Identity-Status", "X-Roles", "X-Service-Catalog", "X-User-Id", "X-Tenant-Id", "X-OpenStack-Request-ID"], "Headers that they may send, besides the simple ones."),
)
MONITORS = (
    _health("path", str, "/healthcheck", "Path that monitors ask."),
    _health("detailed", bool, False, "Whether the answer tells what each check found. Never to the world."),
    _health("backends", list, [], "Checks: database, disable_by_file, disable_by_files_ports, enable_by_files."),
    _health("allowed_source_ranges", list, [], "Networks from which it may be asked; none: all."),
    _health("ignore_proxied_requests", bool, False, "Whether requests that came through a proxy are refused."),
    _health("disable_by_file_path", str, None, "The check disable_by_file fails while this file is there."),
    _health("disable_by_file_paths", list, [], "The check disable_by_files_ports: PORT:FILE, fails on a port while its file is there."),
    _health("enable_by_file_paths", list, [], "The check enable_by_files fails while one of these is missing."),
)
OWN = (
    _own("requests_per_second", float, 0, "Requests of a project, on the average; 0: any number.", least=0),
    _own("requests_burst", int, 50, "Requests that a project may send at once before that counts.", least=1),
    _own("guest_requests_per_second", float, 20, "Requests of one user of a stack, as guests signal with, on the average; 0: any number.", least=0),
    _own("guest_requests_burst", int, 1000, "Requests that such a user may send at once before that counts.", least=1),
    _own("template_fetch_enabled", bool, False, "Whether users may name a template by its address."),
    _own("foreign_cloud_networks", list, [], "Networks in which the clouds of users' credentials (OS::Heat::Stack) may be though they are not public.", live=False),
    _own("template_fetch_networks", list, [], "Networks it may be fetched from though they are not public."),
)
POLICY = (
    _policy("policy_file", str, "policy.yaml", "File of rules laid over the defaults, beside the configuration."),
    _policy("policy_dirs", list, ["policy.d"], "Directories with more such files."),
    _policy("policy_default_rule", str, "default", "Rule that counts where one is not there."),
    _policy("enforce_scope", bool, True, "Whether tokens of a wrong scope are refused."),
    _policy("enforce_new_defaults", bool, True, "Whether the former defaults of rules are left out."),
    _policy("remote_content_type", str, "application/x-www-form-urlencoded", "How rules that ask an address send their question."),
    _policy("remote_ssl_verify_server_crt", bool, False, "Whether the certificate of such an address is checked."),
    _policy("remote_ssl_ca_crt_file", str, None, "File with the certificate authorities for that."),
    _policy("remote_ssl_client_crt_file", str, None, "File with the certificate to show."),
    _policy("remote_ssl_client_key_file", str, None, "File with its key."),
    _policy("remote_timeout", float, 60, "Seconds that such an address may take.", least=0),
)
OTHERS = (
    Option("oslo_messaging_notifications", "driver", tuple, [], "messagingv2 or messaging: notifications are sent; log: they go into the log; noop or none: there are none.", formerly=(("DEFAULT", "notification_driver"),)),
    Option("oslo_messaging_notifications", "transport_url", str, None, "Their broker.", secret=True, formerly=(("DEFAULT", "notification_transport_url"),)),
    Option("oslo_messaging_notifications", "topics", list, ["notifications"], "Their topics.", formerly=(("DEFAULT", "notification_topics"),)),
    Option("yaql", "limit_iterators", int, 200, "Elements of one sequence in a YAQL expression.", least=1, live=True),
    Option("yaql", "memory_quota", int, 10000, "Bytes that an expression may take.", least=1, live=True),
)
# fmt: on

OPTIONS = (*PORTS, *PROXIES, *BROWSERS, *MONITORS, *POLICY, *OWN, *OTHERS)
