"""The drivers: the servers and images that each driver serves, and the operations that it supports.

All drivers use one family of templates; the image decides what the program of a node starts.
Source: facts/magnum/drivers.json; spec/clusters.md, 4.7.
"""

from collections.abc import Iterable
from dataclasses import dataclass

KUBERNETES = "kubernetes"
SERVER = "vm"

Triple = tuple[str, str, str]
"""Server type, `os_distro` of the image, container orchestration engine."""


def _servers(*distributions: str) -> tuple[Triple, ...]:
    return tuple((SERVER, name, KUBERNETES) for name in distributions)


@dataclass(frozen=True)
class Driver:
    """A driver. The flags are the operations that it supports in addition to create, resize and
    delete.
    """

    name: str
    provides: tuple[Triple, ...]
    upgrade: bool = True
    ca_rotation: bool = True
    credential_rotation: bool = True
    master_resize: bool = False


BUILTIN = (
    Driver("k8s_debian_v1", _servers("debian")),
    Driver("k8s_sandbox_v1", _servers("sandbox")),
    Driver(
        "k8s_simulated_v1",
        _servers("cirros", "fedora", "fedora-coreos", "flatcar", "rockylinux"),
    ),
    Driver("k8s_ubuntu_v1", _servers("ubuntu")),
)


class Drivers:
    """The drivers that a process offers."""

    def __init__(
        self,
        drivers: Iterable[Driver] = BUILTIN,
        *,
        disabled: Iterable[str] = (),
        default: str = "",
    ) -> None:
        """Raise ValueError if two drivers serve the same images, or the default is unknown."""
        off = frozenset(disabled)
        self._by_name = {driver.name: driver for driver in drivers if driver.name not in off}
        self._by_triple: dict[Triple, Driver] = {}
        for driver in self._by_name.values():
            for triple in driver.provides:
                other = self._by_triple.setdefault(triple, driver)
                if other is not driver:
                    raise ValueError(
                        f"drivers {other.name} and {driver.name} both serve {', '.join(triple)}: "
                        "disable one of them"
                    )
        if default and default not in self._by_name:
            raise ValueError(f"default driver {default} does not exist or is disabled")
        self._default = default

    def named(self, name: str) -> Driver | None:
        """Return a driver by its name."""
        return self._by_name.get(name)

    def serving(self, server_type: str, os_distro: str, coe: str) -> Driver | None:
        """Return the driver for an image."""
        return self._by_triple.get((server_type, os_distro, coe))

    def names(self) -> list[str]:
        """Return the names of all drivers, sorted."""
        return sorted(self._by_name)

    def of_template(
        self, stored: str | None, server_type: str, os_distro: str | None, coe: str
    ) -> Driver | None:
        """Return the driver of an existing template: by its stored name, else by its image."""
        return self.named(stored) if stored else self.serving(server_type, os_distro or "", coe)

    def chosen(
        self, asked: str | None, of_image: str | None, server_type: str, os_distro: str, coe: str
    ) -> Driver | None:
        """Return the driver of a new template.

        The first of these decides: the name in the request (`asked`), property `magnum_driver` of
        the image (`of_image`), the default driver, the image's distribution.
        """
        for name in (asked, of_image, self._default):
            if name:
                return self.named(name)
        return self.serving(server_type, os_distro, coe)


def master_count_problem(count: int) -> str | None:
    """Return why a control plane cannot have this size, or None: etcd needs an odd number."""
    if count >= 1 and count % 2 == 1:
        return None
    return f"Master count is {count}: expected an odd number, so that etcd has a majority."


def validate_master_count(count: int) -> bool:
    """Return whether a control plane can have this size."""
    return master_count_problem(count) is None
