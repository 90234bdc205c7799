"""Reads the settings of a process from a configuration in the format of heat.conf."""

import ipaddress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hearth.bus.notification import LEVELS, Notifications, addresses
from hearth.cloud.config import FetchConfig
from hearth.cloud.credential import PasswordCredential
from hearth.cloud.reach import Reach, Tls
from hearth.config.from_conf_clusters import cluster_config
from hearth.config.front import Cors, FrontSettings, Health, Rate
from hearth.config.options.cloud import SERVICES
from hearth.config.settings import Settings, TokenChecks, Tracing, with_version
from hearth.config.signers import signers
from hearth.config.wrong import WrongSetting
from hearth.resources.nova.defaults import ServerDefaults
from hearth.service.services import RequestLimits
from hearth.store.retention import Retention
from hearth.store.seal import KEY_CHARACTERS_MIN, keys_in

CATALOGUE = {"volume": "block-storage", "volumev2": "block-storage", "volumev3": "block-storage"}


def settings(conf: Any, url: str, cfn_url: str, cluster_url: str = "") -> Settings:
    """Return the settings of a process. Raises WrongSetting.

    `url`, `cfn_url` and `cluster_url` are the URLs at which its APIs listen; clients get them
    unless the configuration names others.
    """
    tokens, clients, database = conf.keystone_authtoken, conf.clients, conf.database.connection
    _demand(conf)
    service_user = _service_user(conf)
    admin = _domain_admin(conf)
    auth_url = tokens.www_authenticate_uri or tokens.auth_url
    return Settings(
        database=database,
        secret=conf.auth_encryption_key,
        auth_url=auth_url,
        service_user=service_user,
        trustee=_trustee(conf, service_user),
        signers=signers(conf, service_user),
        domain_admin=admin,
        stack_domain_id=conf.stack_user_domain_id,
        stack_domain_name=conf.stack_user_domain_name if admin is not None else None,
        stack_user_role=conf.heat_stack_user_role,
        region=conf.region_name_for_services,
        interface=clients.endpoint_type.removesuffix("URL"),
        tls=_believed("clients", _tls(clients)),
        services=_services(conf),
        token_checks=_token_checks(conf),
        trust_from_start=conf.reauthentication_auth_method == "trusts",
        by_application=conf.deferred_auth_method == "application_credential",
        trust_roles=tuple(conf.trusts_delegated_roles),
        identity_url=conf.clients_keystone.auth_uri or "",
        identity_interface=conf.server_keystone_endpoint_type,
        servers=_server_defaults(conf),
        revive_retired_types=conf.hearth.revive_retired_types,
        schedulers_told=conf.stack_scheduler_hints,
        heat_url=_heat_url(conf, url),
        cfn_url=with_version(conf.heat_metadata_server_url or ""),
        cfn_here=with_version(cfn_url),
        waitcondition_url=conf.heat_waitcondition_server_url or "",
        limits=_limits(conf),
        clusters=cluster_config(conf, cluster_url, _networks(conf, "hearth", "cluster_networks")),
        retention=Retention(
            events=conf.max_events_per_stack, events_batch=conf.event_purge_batch_size
        ),
        action_timeout_s=float(conf.stack_action_timeout),
        retries=conf.action_retry_limit,
        fetching=_fetching(conf),
        foreign_networks=_networks(conf, "hearth", "foreign_cloud_networks"),
        front=front(conf),
        policy=conf,
        notifications=_notifications(conf),
        broker=_broker(conf.transport_url),
        monitored=conf.hearth.monitoring_port is not None,
        tracing=Tracing(conf.hearth.trace_endpoint or "", conf.hearth.trace_share),
        drift_every_s=conf.hearth.drift_check_interval,
        environment_dir=Path(conf.environment_dir),
        lock=_lock(database),
    )


def _server_defaults(conf: Any) -> ServerDefaults:
    return ServerDefaults(
        conf.default_user_data_format,
        conf.default_software_config_transport,
        conf.max_server_name_length,
        conf.default_deployment_signal_transport,
    )


def _lock(database: str) -> Path | None:
    """Return the lock file for an SQLite database, or None for a database that processes can
    share.
    """
    prefix = "sqlite:///"
    return Path(f"{database.removeprefix(prefix)}.lock") if database.startswith(prefix) else None


def _demand(conf: Any) -> None:
    """Raise WrongSetting if a required setting is missing, or a key or an authentication type is
    wrong.
    """
    auth = conf.keystone_authtoken
    required = {
        "[database] connection": conf.database.connection,
        "auth_encryption_key": conf.auth_encryption_key,
        "[keystone_authtoken] auth_url": auth.auth_url,
        "[keystone_authtoken] username": auth.username or auth.user_id,
        "[keystone_authtoken] password": auth.password,
    }
    unset = [name for name, value in required.items() if not value]
    if unset:
        raise WrongSetting(f"required settings are not set: {', '.join(unset)}")
    if len(keys_in(conf.auth_encryption_key)[0]) < KEY_CHARACTERS_MIN:
        message = f"auth_encryption_key: needs at least {KEY_CHARACTERS_MIN} characters"
        raise WrongSetting(f"{message}; `openssl rand -hex 32` generates a key")
    for section in ("keystone_authtoken", "trustee", "ec2authtoken"):
        kinds = (None, "password", "v3password", *(("none",) if section == "ec2authtoken" else ()))
        if (kind := conf[section].auth_type) not in kinds:
            raise WrongSetting(f"[{section}] auth_type: expected password, got {kind}")


def _service_user(conf: Any) -> PasswordCredential:
    auth = conf.keystone_authtoken
    return PasswordCredential(
        auth.auth_url,
        auth.username or "",
        auth.password,
        user_id=auth.user_id,
        user_domain_id=auth.user_domain_id,
        user_domain_name=auth.user_domain_name or (None if auth.user_domain_id else "Default"),
        project_id=auth.project_id,
        project_name=auth.project_name or (None if auth.project_id else "service"),
        project_domain_id=auth.project_domain_id,
        project_domain_name=auth.project_domain_name
        or (None if auth.project_id or auth.project_domain_id else "Default"),
    )


def _trustee(conf: Any, service_user: PasswordCredential) -> PasswordCredential | None:
    """Return the credential of the trustee, or None if that is the service user.

    The credential has no project, because a trust determines the project. Raises WrongSetting.
    """
    auth = conf.trustee
    if not (auth.username or auth.user_id):
        return None
    if not auth.password:
        raise WrongSetting("[trustee] password: not set, but required with username")
    trustee = PasswordCredential(
        auth.auth_url or service_user.auth_url,
        auth.username or "",
        auth.password,
        user_id=auth.user_id,
        user_domain_id=auth.user_domain_id,
        user_domain_name=auth.user_domain_name or (None if auth.user_domain_id else "Default"),
    )
    attributes = ("auth_url", "username", "user_id", "user_domain_id", "user_domain_name")
    alike = all(getattr(trustee, name) == getattr(service_user, name) for name in attributes)
    return None if alike else trustee


def _domain_admin(conf: Any) -> PasswordCredential | None:
    if not conf.stack_domain_admin:
        return None
    domain_id, name = conf.stack_user_domain_id, conf.stack_user_domain_name
    return PasswordCredential(
        conf.keystone_authtoken.auth_url,
        conf.stack_domain_admin,
        conf.stack_domain_admin_password or "",
        user_domain_id=domain_id,
        user_domain_name=name,
        domain_id=domain_id,
        domain_name=None if domain_id else name,
    )


def _heat_url(conf: Any, url: str) -> str:
    if conf.clients_heat.url:
        url_set: str = conf.clients_heat.url
        for word in ("%(tenant_id)s", "$(tenant_id)s", "%(project_id)s"):
            url_set = url_set.replace(word, "{project}")
        return url_set
    return f"{(conf.heat_public_url or url).rstrip('/')}/v1/{{project}}"


def _tls(group: Any) -> Tls:
    return Tls(bool(group.insecure), group.ca_file, group.cert_file, group.key_file)


def _believed(section: str, tls: Tls) -> Tls:
    """Return `tls` after checking that its files can be used. Raises WrongSetting."""
    try:
        tls.context()
    except (OSError, ValueError, TypeError) as problem:  # the last two: no possible path
        raise WrongSetting(f"[{section}] ca_file, cert_file, key_file: {problem}") from None
    return tls


def _services(conf: Any) -> dict[str, Reach]:
    """Return the access settings of those services that differ from the general ones, by service
    type.

    Raises WrongSetting.
    """
    shared = {
        CATALOGUE.get(service_type, service_type) for service_type in conf.shared_services_types
    }
    reaches: dict[str, Reach] = {}
    for name, service in SERVICES.items():
        group = conf[f"clients_{name}"]
        values = (group.insecure, group.ca_file, group.cert_file, group.key_file)
        tls = None
        if any(value is not None for value in values):
            usual = conf.clients
            tls = Tls(
                bool(usual.insecure if group.insecure is None else group.insecure),
                group.ca_file or usual.ca_file,
                group.cert_file or usual.cert_file,
                group.key_file or usual.key_file,
            )
            _believed(f"clients_{name}", tls)
        interface = group.endpoint_type and group.endpoint_type.removesuffix("URL")
        region = conf.region_name_for_shared_services if service in shared else None
        if (reach := Reach(interface, region, tls)) != Reach():
            reaches[service] = reach
    return reaches


def _token_checks(conf: Any) -> TokenChecks:
    """Return the settings for checking tokens. Raises WrongSetting."""
    auth = conf.keystone_authtoken
    tls = Tls(bool(auth.insecure), auth.cafile, auth.certfile, auth.keyfile)
    trusted = None if tls == Tls() else _believed("keystone_authtoken", tls)
    return TokenChecks(
        kept_s=float(auth.token_cache_time),
        service_roles=frozenset(auth.service_token_roles),
        any_service=not auth.service_token_roles_required,
        reach=Reach(
            auth.interface and auth.interface.removesuffix("URL"), auth.region_name, trusted
        ),
    )


def _limits(conf: Any) -> RequestLimits:
    return RequestLimits(
        stacks_per_project=conf.max_stacks_per_tenant,
        operations_per_project=conf.hearth.operations_per_project,
        resources_per_stack=conf.max_resources_per_stack,
        snapshots_per_stack=conf.max_snapshots_per_stack,
        software_configs_per_project=conf.max_software_configs_per_tenant,
        software_deployments_per_project=conf.max_software_deployments_per_tenant,
        adopt=conf.enable_stack_adopt,
        abandon=conf.enable_stack_abandon,
        nested_depth=conf.max_nested_stack_depth,
        template_characters=conf.max_template_size,
        body_bytes=conf.max_json_body_size,
        hidden_stack_tags=tuple(conf.hidden_stack_tags),
        observe_on_update=conf.observe_on_update,
        yaql_iterators=conf.yaql.limit_iterators,
        yaql_memory_bytes=conf.yaql.memory_quota,
    )


def _fetching(conf: Any) -> FetchConfig:
    return FetchConfig(
        enabled=conf.hearth.template_fetch_enabled,
        timeout_s=conf.template_fetch_timeout,
        bytes_max=conf.max_template_size,
        networks=_networks(conf, "hearth", "template_fetch_networks"),
    )


def _networks(
    conf: Any, section: str, option: str
) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Return the networks that an option lists. Raises WrongSetting."""
    try:
        return tuple(ipaddress.ip_network(network) for network in conf[section][option])
    except ValueError as problem:
        raise WrongSetting(f"[{section}] {option}: {problem}") from None


def front(conf: Any) -> FrontSettings:
    """Return the settings of the middleware: proxies, CORS, request limits, health checks.

    Raises WrongSetting.
    """
    cors, health, hearth, proxies = conf.cors, conf.healthcheck, conf.hearth, conf.oslo_middleware
    unknown = set(health.backends) - Health.CHECKS
    if unknown:
        expected = f"{', '.join(sorted(Health.CHECKS))}; got {', '.join(sorted(unknown))}"
        raise WrongSetting(f"[healthcheck] backends: expected {expected}")
    return FrontSettings(
        proxies=proxies.enable_proxy_headers_parsing,
        body_bytes=proxies.max_request_body_size,
        cors=Cors(
            origins=frozenset(origin.rstrip("/") for origin in cors.allowed_origin),
            credentials=cors.allow_credentials,
            expose=tuple(cors.expose_headers),
            max_age_s=cors.max_age,
            methods=tuple(method.upper() for method in cors.allow_methods),
            headers=tuple(cors.allow_headers),
        ),
        requests_at_once=hearth.requests_at_once,
        rate=Rate(hearth.requests_per_second, hearth.requests_burst),
        guest_rate=Rate(hearth.guest_requests_per_second, hearth.guest_requests_burst),
        health=Health(
            path=health.path,
            detailed=health.detailed,
            checks=tuple(health.backends),
            sources=_networks(conf, "healthcheck", "allowed_source_ranges"),
            unproxied=health.ignore_proxied_requests,
            disabled_by=health.disable_by_file_path,
            disabled_by_port=_by_port(health.disable_by_file_paths),
            enabled_by=tuple(health.enable_by_file_paths),
        ),
    )


def _by_port(written: list[str]) -> dict[int, str]:
    """Return {port: file} from entries PORT:FILE. Raises WrongSetting."""
    files_by_port = {}
    for entry in written:
        port, colon, path = entry.partition(":")
        if not colon or not port.isdecimal():
            raise WrongSetting(
                f"[healthcheck] disable_by_file_paths: expected PORT:FILE, got {entry}"
            )
        files_by_port[int(port)] = path
    return files_by_port


def _broker(transport_url: str | None) -> str:
    """Return the transport URL if it is one for RabbitMQ, else an empty text."""
    try:
        return transport_url if transport_url and addresses(transport_url) else ""
    except ValueError:
        return ""  # oslo.messaging has other transports, such as fake: and kafka:


def _notifications(conf: Any) -> Notifications | None:
    """Return the settings for notifications, or None if they are disabled. Raises WrongSetting."""
    group = conf.oslo_messaging_notifications
    section = "[oslo_messaging_notifications]"
    drivers = {driver for driver in group.driver if driver not in ("", "noop")}
    if not drivers:
        return None
    logged = "log" in drivers
    senders = drivers - {"log"}
    if len(senders) > 1 or not senders <= {"messaging", "messagingv2"}:
        expected = "expected one of messagingv2, messaging, log and noop"
        raise WrongSetting(f"{section} driver: {expected}; got {', '.join(sorted(drivers))}")
    url = (group.transport_url or conf.transport_url) if senders else ""
    if senders and not url:
        raise WrongSetting(f"{section} transport_url: not set, but the driver requires it")
    level = conf.default_notification_level.upper()
    if level not in LEVELS:
        raise WrongSetting(
            f"default_notification_level: expected one of {', '.join(LEVELS)}; got {level}"
        )
    try:
        if senders:
            addresses(url)
    except ValueError as problem:
        raise WrongSetting(f"{section} transport_url: {problem}") from None
    to = Notifications(
        url,
        tuple(group.topics),
        level,
        exchange=conf.control_exchange,
        envelope="messagingv2" in drivers,
        logged=logged,
    )
    if (publisher_id := conf.default_publisher_id) is None:
        return to
    return replace(to, publisher_id=publisher_id, cluster_publisher_id=publisher_id)
