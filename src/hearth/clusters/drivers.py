"""The drivers: which servers and images each one supports, and which operations.

All drivers use the same templates; the image decides which programs start on a node. Source:
tests/facts/magnum/drivers.json; docs/spec/clusters.md, 4.7.
"""

from collections.abc import Iterable

from msgspec import Struct

KUBERNETES = "kubernetes"
SERVER = "vm"

Triple = tuple[str, str, str]
"""(server type, `os_distro` of the image, container orchestration engine)."""


def _servers(*distributions: str) -> tuple[Triple, ...]:
    return tuple((SERVER, name, KUBERNETES) for name in distributions)


class Driver(Struct, frozen=True):
    """A driver and the operations that it supports besides create, resize and delete.

    `provides` lists the server types and images that it supports. `master_resize` is true if the
    number of masters can change.
    """

    name: str
    provides: tuple[Triple, ...]
    upgrade: bool = True
    ca_rotation: bool = True
    credential_rotation: bool = True
    master_resize: bool = False


REPLACED = frozenset({"k8s_fedora_coreos_v1"})
"""Drivers of Magnum that Hearth does not have. The image decides in place of such a name, which
clients send and databases of Magnum contain.
"""

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
    """The drivers that are enabled in this process."""

    def __init__(
        self,
        drivers: Iterable[Driver] = BUILTIN,
        *,
        disabled: Iterable[str] = (),
        default: str = "",
    ) -> None:
        """Enable the given drivers except those in `disabled`.

        Raises ValueError if two drivers support the same image, or if `default` is not the name of
        an enabled driver.
        """
        off = frozenset(disabled)
        self._by_name = {driver.name: driver for driver in drivers if driver.name not in off}
        self._by_triple: dict[Triple, Driver] = {}
        for driver in self._by_name.values():
            for triple in driver.provides:
                former = self._by_triple.setdefault(triple, driver)
                if former is not driver:
                    raise ValueError(
                        f"drivers {former.name} and {driver.name} both support "
                        f"{', '.join(triple)}: disable one of them"
                    )
        if default and default not in self._by_name:
            raise ValueError(f"default driver {default} does not exist or is disabled")
        self._default = default

    def named(self, name: str) -> Driver | None:
        """Return the enabled driver with this name, or None."""
        return self._by_name.get(name)

    def serving(self, server_type: str, os_distro: str, coe: str) -> Driver | None:
        """Return the enabled driver that supports this kind of image, or None.

        `server_type` is "vm" or "bm", `os_distro` the property of the image, and `coe` the
        container orchestration engine.
        """
        return self._by_triple.get((server_type, os_distro, coe))

    def names(self) -> list[str]:
        """Return the names of all enabled drivers, sorted."""
        return sorted(self._by_name)

    def of_template(
        self, stored_name: str | None, server_type: str, os_distro: str | None, coe: str
    ) -> Driver | None:
        """Return the driver of an existing cluster template, or None if it is not enabled.

        `stored_name` is the name of its driver in the database; if it is None or empty, the image
        decides.
        """
        if stored_name and stored_name not in REPLACED:
            return self.named(stored_name)
        return self.serving(server_type, os_distro or "", coe)

    def chosen(
        self,
        requested: str | None,
        of_image: str | None,
        server_type: str,
        os_distro: str,
        coe: str,
    ) -> Driver | None:
        """Return the driver for a new cluster template, or None if there is none that is enabled.

        The first of these that is set decides: the name in the request (`requested`), the image's
        property `magnum_driver` (`of_image`), the default driver. If none is set, or only names of
        replaced drivers are, the server type and the image's distribution decide.
        """
        for name in (requested, of_image, self._default):
            if name and name not in REPLACED:
                return self.named(name)
        return self.serving(server_type, os_distro, coe)


def master_count_problem(count: int) -> str | None:
    """Return the error message for an invalid number of masters, or None if the number is valid."""
    if count >= 1 and count % 2 == 1:
        return None
    return f"Master count is {count}: expected an odd number, so that etcd has a majority."


def validate_master_count(count: int) -> bool:
    """Return whether a cluster can have this number of masters."""
    return master_count_problem(count) is None
