"""`hearth serve --check-config`: shows the effect of a configuration without starting anything."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.exc import ArgumentError

from hearth.cli.serve import address
from hearth.config.configuration import Configuration, read
from hearth.config.from_conf import settings
from hearth.config.options import OPTIONS
from hearth.config.options.register import values
from hearth.config.policies import policies
from hearth.config.settings import Settings
from hearth.config.wrong import WrongSetting
from hearth.process.logs import checked_levels
from hearth.service.policy import WrongRules
from hearth.store.database import shown_url


def run(configs: Sequence[Path], role: str) -> int:
    """Print the effective configuration; return exit status 0 if it is valid, else 1.

    `role` is the role of the process, as in `hearth serve --role`. No network connection is opened.
    """
    try:
        configuration = read(configs)
        conf = configuration.conf
        checked_levels(conf)
        effective = settings(conf, _address(conf.heat_api), _address(conf.heat_api_cfn))
        owner_only = effective.clusters.owner_only_certificates
        policies(conf, owner_only_certificates=owner_only).load()
        lines = list(_lines(configuration, effective, role))
    except ArgumentError as problem:
        print(f"hearth: [database] connection: {problem}", file=sys.stderr)
        return 1
    except (WrongSetting, WrongRules) as problem:
        print(f"hearth: {problem}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def _lines(configuration: Configuration, effective: Settings, role: str) -> Iterator[str]:
    conf = configuration.conf
    yield f"read: {', '.join(configuration.files)}"
    yield f"role: {role}"
    if role != "engine":
        yield f"orchestration: {_address(conf.heat_api)}/v1, for servers {effective.heat_url}"
        yield f"cloudformation: {_address(conf.heat_api_cfn)}/v1/"
    yield f"database: {shown_url(effective.database)}"
    yield f"identity: {effective.auth_url}, as {effective.service_user.username or 'a user id'}"
    if (trustee := effective.cloud.trustee) is not None:
        yield f"trusts: given to {trustee.username or trustee.user_id}"
    if (admin := effective.cloud.domain_admin) is not None:
        domain = effective.stack_user_domain_name or effective.cloud.stack_user_domain_id
        yield f"users of stacks: in {domain}, by {admin.username}"
    else:
        yield "users of stacks: in the project of the stack, because stack_domain_admin is not set"
    notifications = effective.notifications
    yield f"notifications: {'none' if notifications is None else ', '.join(notifications.topics)}"
    for option, value in values(conf, OPTIONS):
        if value != option.default:
            yield f"set: {option.place} = {'***' if option.secret else _text(value)}"
    for setting, reason in sorted(configuration.idle.items()):
        yield f"has no effect: {setting}: {reason}"
    for name in configuration.unknown_settings():
        yield f"unknown: {name}"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _address(at: Any) -> str:
    return address(at.bind_host, at.bind_port)
