"""`hearth serve`: Hearth for an existing Keystone and database, told by a heat.conf."""

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hearth.bus.notification import LEVELS, Notifications, addresses
from hearth.cli.early import WrongSetting, listening, log_to_stderr, no_collections
from hearth.cli.settings import Settings
from hearth.cloud.credential import PasswordCredential
from hearth.service.house import Limits
from hearth.store.retention import Retention

PLACES = (Path("/etc/hearth/hearth.conf"), Path("/etc/heat/heat.conf"))


def run(configs: Sequence[Path], port: int | None, role: str) -> int:
    """Run until stopped; the exit status."""
    no_collections()
    log_to_stderr()
    try:
        conf = _read(configs)
        return asyncio.run(_run(conf, port, role))
    except WrongSetting as problem:
        print(f"hearth: {problem}", file=sys.stderr)
        return 1


def _read(configs: Sequence[Path]) -> Any:
    from oslo_config import cfg

    for path in configs:
        if not path.is_file():
            raise WrongSetting(f"--config {path}: there is no such file")
    files = [str(path) for path in configs or (p for p in PLACES if p.is_file())]
    if not files:
        raise WrongSetting(f"no configuration: give --config FILE or write {PLACES[0]}")
    conf = cfg.ConfigOpts()
    text, number = cfg.StrOpt, cfg.IntOpt
    conf.register_opts(
        [
            text("auth_encryption_key", secret=True),
            text("stack_domain_admin"),
            text("stack_domain_admin_password", secret=True),
            text("stack_user_domain_id"),
            text("stack_user_domain_name"),
            text("region_name_for_services"),
            text("heat_waitcondition_server_url"),
            text("heat_metadata_server_url"),
            text("heat_public_url"),
            text("reauthentication_auth_method", default="", choices=["", "trusts"]),
            cfg.ListOpt("trusts_delegated_roles", default=[]),
            text("environment_dir", default="/etc/heat/environment.d"),
            number("max_stacks_per_tenant", default=512, min=-1),
            number("max_resources_per_stack", default=1000, min=-1),
            number("max_snapshots_per_stack", default=32, min=-1),
            cfg.BoolOpt("encrypt_parameters_and_properties", default=False),  # they always are
            cfg.BoolOpt("enable_stack_adopt", default=False),
            cfg.BoolOpt("enable_stack_abandon", default=False),
            number("max_events_per_stack", default=1000),
            number("event_purge_batch_size", default=200, min=1),
            number("max_nested_stack_depth", default=5, min=0),
            number("max_template_size", default=524288, min=0),
            number("max_json_body_size", default=1048576, min=0),
        ]
    )
    conf.register_opts(
        [
            text("transport_url", secret=True),
            text("control_exchange", default="heat"),
            text("default_notification_level", default="INFO"),
            text("default_publisher_id"),
        ]
    )
    conf.register_opts(
        [
            cfg.MultiStrOpt("driver", default=[]),
            text("transport_url", secret=True),
            cfg.ListOpt("topics", default=["notifications"]),
        ],
        "oslo_messaging_notifications",
    )
    conf.register_opts([text("connection", secret=True)], "database")
    conf.register_opts(
        [
            number("limit_iterators", default=200, min=1),
            number("memory_quota", default=10000, min=1),
        ],
        "yaql",
    )
    conf.register_opts(
        [
            text("bind_host", default="0.0.0.0"),  # noqa: S104 - as Heat's default
            number("bind_port", default=8004, min=0, max=65535),
        ],
        "heat_api",
    )
    conf.register_opts(
        [text(name, secret=name == "password") for name in
         ("auth_url", "www_authenticate_uri", "username", "password", "project_name",
          "user_domain_name", "project_domain_name")], "keystone_authtoken")  # fmt: skip
    try:
        conf([], project="heat", prog="hearth", default_config_files=files)
        _all_values(conf)
    except (cfg.Error, ValueError) as problem:
        raise WrongSetting(f"{', '.join(files)}: {problem}") from None
    return conf


def _all_values(conf: Any) -> None:
    """Read each value once, so that a wrong one is told before anything starts."""
    groups = (conf, conf.database, conf.heat_api, conf.keystone_authtoken)
    for group in (*groups, conf.yaql, conf.oslo_messaging_notifications):
        for name in group:
            getattr(group, name)


def _settings(conf: Any, url: str) -> Settings:
    auth = conf.keystone_authtoken
    needed = {
        "[database] connection": conf.database.connection,
        "auth_encryption_key": conf.auth_encryption_key,
        "[keystone_authtoken] auth_url": auth.auth_url,
        "[keystone_authtoken] username": auth.username,
        "[keystone_authtoken] password": auth.password,
    }
    missing = [name for name, value in needed.items() if not value]
    if missing:
        raise WrongSetting(f"not set: {', '.join(missing)}")
    admin = None
    if conf.stack_domain_admin:
        admin = PasswordCredential(
            auth.auth_url,
            conf.stack_domain_admin,
            conf.stack_domain_admin_password or "",
            user_domain_id=conf.stack_user_domain_id,
            user_domain_name=conf.stack_user_domain_name,
            domain_id=conf.stack_user_domain_id,
            domain_name=None if conf.stack_user_domain_id else conf.stack_user_domain_name,
        )
    lock = None
    database = conf.database.connection
    if database.startswith("sqlite:///"):
        lock = Path(database.removeprefix("sqlite:///") + ".lock")
    public = conf.heat_public_url or url
    return Settings(
        database=database,
        secret=conf.auth_encryption_key,
        auth_url=auth.www_authenticate_uri or auth.auth_url,
        service_user=PasswordCredential(
            auth.auth_url,
            auth.username,
            auth.password,
            user_domain_name=auth.user_domain_name or "Default",
            project_name=auth.project_name or "service",
            project_domain_name=auth.project_domain_name or "Default",
        ),
        domain_admin=admin,
        stack_domain_id=conf.stack_user_domain_id,
        stack_domain_name=conf.stack_user_domain_name if admin is not None else None,
        region=conf.region_name_for_services,
        trust_from_start=conf.reauthentication_auth_method == "trusts",
        trust_roles=tuple(conf.trusts_delegated_roles),
        heat_url=f"{public}/v1/{{project}}",
        cfn_url=conf.heat_metadata_server_url or "",
        waitcondition_url=conf.heat_waitcondition_server_url or "",
        limits=Limits(
            stacks_per_project=conf.max_stacks_per_tenant,
            resources_per_stack=conf.max_resources_per_stack,
            snapshots_per_stack=conf.max_snapshots_per_stack,
            adopt=conf.enable_stack_adopt,
            abandon=conf.enable_stack_abandon,
            nested_depth=conf.max_nested_stack_depth,
            template_characters=conf.max_template_size,
            body_bytes=conf.max_json_body_size,
            yaql_iterators=conf.yaql.limit_iterators,
            yaql_memory_bytes=conf.yaql.memory_quota,
        ),
        retention=Retention(
            events=conf.max_events_per_stack, events_batch=conf.event_purge_batch_size
        ),
        notifications=_notifications(conf),
        environment_dir=Path(conf.environment_dir),
        lock=lock,
    )


def _notifications(conf: Any) -> Notifications | None:
    """Where notifications go; None where nobody wants them. Raises WrongSetting."""
    group = conf.oslo_messaging_notifications
    place = "[oslo_messaging_notifications]"
    drivers = {driver for driver in group.driver if driver not in ("", "noop")}
    if not drivers:
        return None
    if len(drivers) > 1 or not drivers <= {"messaging", "messagingv2"}:
        raise WrongSetting(f"{place} driver: messagingv2, messaging or noop; not {sorted(drivers)}")
    url = group.transport_url or conf.transport_url
    if not url:
        raise WrongSetting(f"{place} transport_url: not set, and the driver needs one")
    level = conf.default_notification_level.upper()
    if level not in LEVELS:
        raise WrongSetting(f"default_notification_level: one of {', '.join(LEVELS)}; not {level}")
    try:
        addresses(url)
    except ValueError as problem:
        raise WrongSetting(f"{place} transport_url: {problem}") from None
    to = Notifications(
        url, tuple(group.topics), level, exchange=conf.control_exchange,
        envelope="messagingv2" in drivers,
    )  # fmt: skip
    return replace(to, publisher_id=conf.default_publisher_id or to.publisher_id)


async def _run(conf: Any, port: int | None, role: str) -> int:
    from hearth.cli.wiring import until_stopped, wired

    sockets = []
    host = conf.heat_api.bind_host
    if role != "engine":
        sockets.append(listening(host, conf.heat_api.bind_port if port is None else port))
    number = sockets[0].getsockname()[1] if sockets else conf.heat_api.bind_port
    shown = "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104
    url = f"http://{shown}:{number}"
    settings = _settings(conf, url)
    told = f"hearth is ready: {role} {url}/v1 (pid {os.getpid()})"
    async with wired(settings) as running:
        await until_stopped(
            running,
            sockets,
            api=role != "engine",
            work=role != "api",
            auth_url=settings.auth_url,
            ready=lambda: print(told, flush=True),
        )
    return 0
