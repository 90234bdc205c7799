"""One run of the command: compare, write the configuration, change Keystone, report."""

import os
import secrets
import sys
from dataclasses import replace
from pathlib import Path

from hearth.cli.bootstrap import conf
from hearth.cli.bootstrap.desired import (
    DATABASE,
    DOMAIN_PASSWORD,
    SERVICE_PASSWORD,
    BootstrapOptions,
    DesiredKeystone,
    apis_of,
    region_of,
)
from hearth.cli.bootstrap.keystone import Keystone
from hearth.cli.bootstrap.steps import Account, Comparison, ObjectState
from hearth.config.wrong import WrongSetting

DONE = {
    ObjectState.EXISTS: "exists",
    ObjectState.MISSING: "created",
    ObjectState.CHANGES: "changed",
    ObjectState.DIFFERS: "differs",
}
PLANNED = {**DONE, ObjectState.MISSING: "would create", ObjectState.CHANGES: "would change"}
PASSWORD_BYTES = 32


def run(options: BootstrapOptions) -> int:
    """Carry out a bootstrap and return the exit status: 1 if a difference remains in Keystone, else
    0.

    Raises WrongSetting.
    """
    apis = apis_of(options)
    former = conf.Former(options.write) if options.write and options.write.exists() else None
    service = _secret(SERVICE_PASSWORD, options.service_password_file)
    domain = _secret(DOMAIN_PASSWORD, options.stack_domain_password_file)
    if former is not None:
        service = service or former.service_password(options.service_user)
        domain = domain or former.domain_password(options.stack_domain_admin)
    elif options.write is not None and not options.write.parent.is_dir():
        raise WrongSetting(
            f"--write {options.write}: the folder {options.write.parent} does not exist"
        )
    keystone = Keystone(options.os_cloud)
    regions = [str(region["id"]) for region in keystone.find("regions")]
    region = region_of(options.region or keystone.region, regions)
    desired = DesiredKeystone(options, region, apis, service, domain)
    plan = Comparison(keystone, desired, apply=False)
    plan.run()
    desired = _with_passwords(desired, plan)
    key, database = secrets.token_hex(PASSWORD_BYTES), os.environ.get(DATABASE)
    settings = list(conf.entries(desired, keystone.url, keystone.verify, key, database))
    content = conf.text(settings)
    if options.dry_run:
        _report(plan, PLANNED)
        _tell_of_file(options.write, former, settings, "would write")
        return _end(plan)
    if options.write is not None and former is None:
        conf.write(options.write, content)
    _apply(keystone, desired, options.write if former is None else None)
    _tell_of_file(options.write, former, settings, "wrote")
    if options.write is None:
        print(f"\n{content}", end="")
    return _end(plan)


def _apply(keystone: Keystone, desired: DesiredKeystone, written: Path | None) -> None:
    """Change Keystone and print what was changed, even if an error occurs halfway.

    `written` is the configuration file that this run wrote, or None. The file is removed if an
    error occurs before the first change.
    """
    steps = Comparison(keystone, desired, apply=True)
    try:
        steps.run()
    except WrongSetting:
        _report(steps, DONE)
        if keystone.changes == 0 and written is not None:
            conf.remove(written)
        raise
    _report(steps, DONE)


def _with_passwords(desired: DesiredKeystone, plan: Comparison) -> DesiredKeystone:
    """Return the desired state with generated passwords for users that do not exist yet.

    A password that is already known is kept.
    """
    service, domain = desired.service_password, desired.domain_password
    if Account.SERVICE in plan.new:
        service = service or secrets.token_urlsafe(PASSWORD_BYTES)
    if Account.DOMAIN_ADMIN in plan.new:
        domain = domain or secrets.token_urlsafe(PASSWORD_BYTES)
    return replace(desired, service_password=service, domain_password=domain)


def _secret(variable: str, path: Path | None) -> str | None:
    """Return the secret in the file `path`; if `path` is None, that in an environment variable.

    Return None if neither is set. Raises WrongSetting if the file cannot be read or does not
    contain one line.
    """
    if path is None:
        return os.environ.get(variable) or None
    try:
        secret = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise WrongSetting(f"{path}: cannot be read: {problem}") from None
    if not secret or "\n" in secret:
        raise WrongSetting(f"{path}: expected one line with a password")
    return secret


def _report(steps: Comparison, labels: dict[ObjectState, str]) -> None:
    for line in steps.lines:
        print(f"{labels[line.state]:<13} {line.label}")


def _tell_of_file(
    path: Path | None, former: conf.Former | None, settings: list[conf.Setting], verb: str
) -> None:
    """Print whether the configuration file was written or kept, and how a kept one differs.

    `verb` is the word for a file that did not exist, such as "wrote".
    """
    if path is None:
        return
    if former is None:
        print(f"{verb:<13} {path}")
        return
    print(f"{'kept':<13} {path}")
    for difference in former.differences(settings):
        print(f"{'note':<13} {path}: {difference}")


def _end(plan: Comparison) -> int:
    """Print what the operator must still do, and return the exit status."""
    for account in sorted(plan.unknown, key=lambda account: account.value):
        variable = SERVICE_PASSWORD if account is Account.SERVICE else DOMAIN_PASSWORD
        phrase = f"note: the {account.value} exists and its password is not known"
        print(
            f"{phrase}; set the variable {variable}, or complete the configuration", file=sys.stderr
        )
    count = sum(line.state is ObjectState.DIFFERS for line in plan.lines)
    if count:
        phrase = "difference is" if count == 1 else "differences are"
        print(f"hearth: {count} {phrase} left; --update changes them", file=sys.stderr)
    return 1 if count else 0
