"""Reads the settings of a process from a configuration in the format of heat.conf."""

from pathlib import Path
from typing import Any

from hearth.bus.notification import Notifications, addresses
from hearth.cloud.config import CloudConfig, interface_of
from hearth.cloud.credential import PasswordCredential
from hearth.cloud.reach import Reach, Tls
from hearth.clusters.config import ClusterConfig
from hearth.clusters.drivers import Drivers
from hearth.config.options.cloud import SERVICES
from hearth.config.options.declared import read_struct
from hearth.config.settings import Settings, TokenChecks, with_version
from hearth.config.signers import signers
from hearth.config.wrong import WrongSetting
from hearth.store.seal import KEY_CHARACTERS_MIN, keys_in

CATALOGUE = {"volume": "block-storage", "volumev2": "block-storage", "volumev3": "block-storage"}


def settings(conf: Any, url: str, cfn_url: str, cluster_url: str = "") -> Settings:
    """Return the settings of a process. Raises WrongSetting.

    `url`, `cfn_url` and `cluster_url` are the URLs at which its APIs listen; clients get them
    unless the configuration names others.
    """
    _demand(conf)
    service_user = _service_user(conf)
    tokens, database = conf.keystone_authtoken, conf.database.connection
    return read_struct(
        Settings,
        conf,
        database=database,
        secret=conf.auth_encryption_key,
        auth_url=tokens.www_authenticate_uri or tokens.auth_url,
        service_user=service_user,
        cloud=read_struct(
            CloudConfig,
            conf,
            tls=_believed("clients", _tls(conf.clients)),
            services=_services(conf),
            trustee=_trustee(conf, service_user),
            domain_admin=_domain_admin(conf),
        ),
        clusters=_clusters(conf, cluster_url),
        token_checks=read_struct(TokenChecks, conf, reach=_token_reach(conf)),
        signers=signers(conf, service_user),
        heat_url=_heat_url(conf, url),
        cfn_here=with_version(cfn_url),
        policy=conf,
        notifications=_notifications(conf),
        broker=_broker(conf.transport_url),
        monitored=conf.hearth.monitoring_port is not None,
        lock=_lock(database),
    )


def _clusters(conf: Any, url: str) -> ClusterConfig:
    """Return the settings of the cluster service. Raises WrongSetting.

    `url` is the URL of its API, which clients get unless the configuration names another.
    """
    base = (conf.hearth.cluster_public_url or url).rstrip("/").removesuffix("/v1")
    config = read_struct(ClusterConfig, conf, url=f"{base}/v1")
    try:
        Drivers(disabled=config.disabled_drivers, default=config.default_driver)
    except ValueError as problem:
        raise WrongSetting(f"[drivers]: {problem}") from None
    return config


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
        interface = group.endpoint_type and interface_of(group.endpoint_type)
        region = conf.region_name_for_shared_services if service in shared else None
        if (reach := Reach(interface, region, tls)) != Reach():
            reaches[service] = reach
    return reaches


def _token_reach(conf: Any) -> Reach:
    """Return the access settings of the Keystone that checks tokens. Raises WrongSetting."""
    auth = conf.keystone_authtoken
    tls = Tls(bool(auth.insecure), auth.cafile, auth.certfile, auth.keyfile)
    trusted = None if tls == Tls() else _believed("keystone_authtoken", tls)
    return Reach(auth.interface and interface_of(auth.interface), auth.region_name, trusted)


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
    try:
        if senders:
            addresses(url)
    except ValueError as problem:
        raise WrongSetting(f"{section} transport_url: {problem}") from None
    publishers = ("publisher_id", "cluster_publisher_id")
    set_id = conf.default_publisher_id
    return read_struct(
        Notifications,
        conf,
        transport_url=url,
        envelope="messagingv2" in drivers,
        logged=logged,
        **({} if set_id is None else dict.fromkeys(publishers, set_id)),
    )
