"""The image `debian`: a small Debian 12 with cloud-init."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

SUITE = "bookworm"
PACKAGES = (
    "ca-certificates",
    "cloud-init",
    "curl",
    "iproute2",
    "iputils-ping",
    "less",
    "procps",
    "vim-tiny",
)
UNPACKED_NOT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
UNPACKED_YET = ("/usr/share/doc/*/copyright",)
CONFIG = """\
# Servers of an embedded cloud: the network is there before the boot, and so is every disk.
datasource_list: [ConfigDrive, OpenStack]
datasource:
  OpenStack: {max_wait: 10, timeout: 5, retries: 1, apply_network_config: false}
network: {config: disabled}
disable_root: false
ssh_keys: {}
locale: C.UTF-8
grub_dpkg: {enabled: false}
growpart: {mode: "off"}
resize_rootfs: false
apt: {preserve_sources_list: true}
"""
ROOT_ALONE = "users: []\n"
"""Further cloud-init configuration for machines on which servers can only have the user root."""

_CONFIG_PATH = "etc/cloud/cloud.cfg.d/95_hearth.cfg"
_REMOVED = (
    "etc/hostname",
    "etc/hosts",
    "etc/resolv.conf",
    "etc/machine-id",
    "etc/apt/apt.conf.d/99mmdebstrap",
    "etc/dpkg/dpkg.cfg.d/99mmdebstrap",
    "usr/sbin/dhclient",  # nobody would answer it, and cloud-init would wait for that
)


def options() -> list[str]:
    """Return the mmdebstrap options that build this image."""
    return [
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        '--aptopt=APT::Install-Recommends "false"',
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in UNPACKED_NOT),
        *(f"--dpkgopt=path-include={pattern}" for pattern in UNPACKED_YET),
    ]


def finish(root: Path, set_owner: Callable[[Path], None], *, accounts: bool) -> None:
    """Adapt the files of a new tree to sandbox servers.

    `set_owner` makes the servers' root user the owner of a file. `accounts` is true if servers can
    have users other than root.
    """
    for name in _REMOVED:
        (root / name).unlink(missing_ok=True)
    path = root / _CONFIG_PATH
    path.write_text(CONFIG if accounts else CONFIG + ROOT_ALONE)
    set_owner(path)
    groups = root / "etc/group"
    if not accounts and groups.exists():  # cloud-init gives its log to adm, if there is one
        lines = groups.read_text().splitlines(keepends=True)
        groups.write_text("".join(line for line in lines if not line.startswith("adm:")))
