"""The Keystones that check EC2 signatures: sections [ec2authtoken] and [ec2authtoken.NAME]."""

from typing import Any

from msgspec.structs import replace

from hearth.cloud.credential import PasswordCredential
from hearth.config.wrong import WrongSetting

SECTION = "ec2authtoken"
OF_USER = ("user_id", "user_domain_id", "user_domain_name")
OF_PROJECT = ("project_id", "project_name", "project_domain_id", "project_domain_name")


def signers(conf: Any, service_user: PasswordCredential) -> tuple[PasswordCredential, ...]:
    """Return a credential for each Keystone that checks signatures, in the order of the checks.

    Values that are not set are those of the service user. Raises WrongSetting.
    """
    group = conf[SECTION]
    sections = [f"{SECTION}.{name}" for name in group.clouds] if group.multi_cloud else []
    if group.multi_cloud and not sections:
        raise WrongSetting(
            f"[{SECTION}] clouds: not set, but multi_cloud requires at least one name"
        )
    return tuple(_signer(conf, section, service_user) for section in sections or [SECTION])


def _signer(conf: Any, section: str, service_user: PasswordCredential) -> PasswordCredential:
    """Return the credential of one section. Raises WrongSetting if it is incomplete."""
    group = conf[section]
    url = group.auth_url or group.auth_uri
    if url is None and section != SECTION:
        raise WrongSetting(f"[{section}] auth_url: not set")
    if bool(group.username or group.user_id) != bool(group.password):
        raise WrongSetting(f"[{section}] needs both username and password, or neither")
    fields = {name: group[name] for name in (*OF_USER, *OF_PROJECT) if group[name]}
    return replace(
        service_user,
        auth_url=_base(url) if url else service_user.auth_url,
        username=group.username or service_user.username,
        password=group.password or service_user.password,
        **fields,
    )


def _base(url: str) -> str:
    """Return the base URL of Keystone, without a path such as /v2.0/ec2tokens that the setting may
    have.
    """
    return url.rstrip("/").removesuffix("/ec2tokens").removesuffix("/v2.0")
