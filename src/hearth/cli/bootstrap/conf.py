"""Write the configuration of a bootstrap, and read the configuration of an earlier run."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hearth.cli.bootstrap.desired import DesiredKeystone, base_of
from hearth.cli.bootstrap.keystone import with_v3
from hearth.config.configuration import read
from hearth.config.wrong import WrongSetting

HEAD = """\
# Made by `hearth manage bootstrap`. All processes of Hearth need the same values.
# This file contains secrets: only the user of the service may read it.
"""
SECRETS = ("auth_encryption_key", "stack_domain_admin_password", "password", "connection")


class Setting(NamedTuple):
    """A setting of a configuration file. If its value is None, it is written as a comment with
    `hint`.
    """

    group: str
    name: str
    value: str | None
    hint: str = ""


def entries(
    desired: DesiredKeystone,
    auth_url: str,
    verify: bool | str | None,
    key: str,
    database: str | None,
) -> Iterator[Setting]:
    """Yield the settings of a configuration for the objects in `desired`.

    `auth_url` is the address of the Keystone that the run has used; the option --auth-url overrides
    it. `verify` is the path of a file with trusted CA certificates, False if certificates are not
    verified, or anything else for the default certificates. `key` is the value of
    auth_encryption_key, and `database` the URL of the database, or None if it is not known.
    """
    options = desired.options
    yield Setting("DEFAULT", "auth_encryption_key", key)
    yield Setting("DEFAULT", "region_name_for_services", desired.region)
    yield Setting("DEFAULT", "heat_public_url", base_of(desired.apis[0].public.rpartition("/")[0]))
    yield Setting("DEFAULT", "heat_metadata_server_url", desired.cfn_url)
    yield Setting("DEFAULT", "stack_user_domain_name", options.stack_domain)
    yield Setting("DEFAULT", "stack_domain_admin", options.stack_domain_admin)
    comment = f"the password of {options.stack_domain_admin}"
    yield Setting("DEFAULT", "stack_domain_admin_password", desired.domain_password, comment)
    hint = "postgresql://hearth:PASSWORD@HOST/hearth"
    yield Setting("database", "connection", database, hint)
    address = with_v3(options.auth_url or auth_url)
    yield Setting("keystone_authtoken", "www_authenticate_uri", address)
    yield Setting("keystone_authtoken", "auth_url", address)
    yield Setting("keystone_authtoken", "auth_type", "password")
    yield Setting("keystone_authtoken", "user_domain_name", options.service_domain)
    yield Setting("keystone_authtoken", "username", options.service_user)
    comment = f"the password of {options.service_user}"
    yield Setting("keystone_authtoken", "password", desired.service_password, comment)
    yield Setting("keystone_authtoken", "project_domain_name", options.service_domain)
    yield Setting("keystone_authtoken", "project_name", options.service_project)
    if isinstance(verify, str):
        yield Setting("keystone_authtoken", "cafile", verify)
        yield Setting("clients", "ca_file", verify)
    elif verify is False:
        yield Setting("keystone_authtoken", "insecure", "true")
        yield Setting("clients", "insecure", "true")
    if desired.cluster_url:
        yield Setting("hearth", "clusters", "true")
        yield Setting("hearth", "cluster_public_url", desired.cluster_url)


def text(settings: Sequence[Setting]) -> str:
    """Return the text of a configuration file with the settings."""
    lines, group = [HEAD.rstrip()], ""
    for entry in settings:
        if entry.group != group:
            group = entry.group
            lines += ["", f"[{group}]"]
        value = f"{entry.name} = {_quoted(entry)}" if entry.value else ""
        lines.append(value or f"# {entry.name} = {entry.hint}")
    return "\n".join(lines) + "\n"


def write(path: Path, content: str) -> None:
    """Create a file with this content that only its owner can read.

    The file appears only when it is complete. Raises WrongSetting if it already exists or cannot be
    written.
    """
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.") as file:
            file.write(content)  # the mode of such files is 600
            file.flush()
            os.fsync(file.fileno())
            os.link(file.name, path)
    except OSError as problem:
        raise WrongSetting(f"--write {path}: {problem.strerror}") from None


def remove(path: Path) -> None:
    """Remove a configuration file if it exists, because the run that wrote it changed nothing
    else.
    """
    with suppress(OSError):
        path.unlink()


class Former:
    """The configuration file `path`, which an earlier run wrote.

    The constructor raises WrongSetting if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._conf = read([path]).conf

    def service_password(self, user: str) -> str | None:
        """Return the password of the service user; None if the file names another user or no
        password.
        """
        section = self._conf.keystone_authtoken
        return (section.password or None) if section.username == user else None

    def domain_password(self, user: str) -> str | None:
        """Return the password of the stack domain administrator; None if the file names another
        user or no password.
        """
        same_user = self._conf.stack_domain_admin == user
        return (self._conf.stack_domain_admin_password or None) if same_user else None

    def differences(self, settings: Sequence[Setting]) -> list[str]:
        """Return a text for each setting whose value in this file differs from the value in
        `settings`.

        Secret values are not shown. Settings without a value in `settings`, and the encryption key,
        are not compared.
        """
        lines = []
        for group, name, value, _ in settings:
            section = self._conf if group == "DEFAULT" else self._conf[group]
            now = section[name]
            current = str(now).lower() if isinstance(now, bool) else now
            if not value or current == value or name == "auth_encryption_key":
                continue
            label = name if group == "DEFAULT" else f"[{group}] {name}"
            difference = (
                "is another" if name in SECRETS else f"is {current or 'not set'}, not {value}"
            )
            lines.append(f"{label} {difference}")
        return lines


def _quoted(entry: Setting) -> str:
    """Return the value of a setting, escaped so that oslo.config reads exactly this value.

    oslo.config reads `$` as the beginning of a reference and removes outer quotes. Raises
    WrongSetting if the value cannot be written.
    """
    value = str(entry.value).replace("$", "$$")
    if "\n" in value or "\r" in value:
        raise WrongSetting(f"{entry.name}: expected a value in one line, got a line break")
    if "\\$" in value:  # oslo.config has no way to write it: it always reads one dollar sign
        raise WrongSetting(
            f"{entry.name}: the configuration file cannot hold a backslash before a dollar sign"
        )
    quoted = value[0] == value[-1] and value[0] in "\"'"
    if quoted or value != value.strip():
        quote = "'" if value[0] == '"' else '"'
        return f"{quote}{value}{quote}"
    return value
