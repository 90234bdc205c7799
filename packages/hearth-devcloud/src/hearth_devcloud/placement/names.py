"""The API of the resource classes and traits that Placement knows."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.microversion import Since
from hearth_devcloud.placement.base import admin_only, bad, known_arguments, missing
from hearth_devcloud.placement.inventory import DISABLED, TRAITS

_CLASSES = (
    "VCPU",
    "MEMORY_MB",
    "DISK_GB",
    "PCI_DEVICE",
    "SRIOV_NET_VF",
    "NUMA_SOCKET",
    "NUMA_CORE",
    "NUMA_THREAD",
    "NUMA_MEMORY_MB",
    "IPV4_ADDRESS",
    "VGPU",
    "VGPU_DISPLAY_HEAD",
    "NET_BW_EGR_KILOBIT_PER_SEC",
    "NET_BW_IGR_KILOBIT_PER_SEC",
    "PCPU",
    "MEM_ENCRYPTION_CONTEXT",
    "FPGA",
    "PGPU",
    "NET_PACKET_RATE_KILOPACKET_PER_SEC",
    "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC",
    "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC",
)
_UNUSED = ("COMPUTE_TRUSTED_CERTS", "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD")
_TRAITS = tuple(sorted((*TRAITS, DISABLED, *_UNUSED)))


def _class(name: str) -> Body:
    links = [{"rel": "self", "href": f"/placement/resource_classes/{name}"}]
    return {"name": name, "links": links}


def classes(call: Call) -> Reply:
    """Handle GET of the resource classes."""
    admin_only(call, "resource_classes:list")
    return Reply(200, {"resource_classes": [_class(name) for name in _CLASSES]})


def show_class(call: Call) -> Reply:
    """Handle GET of a resource class."""
    admin_only(call, "resource_classes:show")
    if call.ids[0] not in _CLASSES:
        raise missing(f"No such resource class {call.ids[0]}.")
    return Reply(200, _class(call.ids[0]))


def traits(call: Call) -> Reply:
    """Handle GET of the traits; `associated=true` selects those that a provider has."""
    admin_only(call, "traits:list")
    known_arguments(call, {"name": 6, "associated": 6})
    names, pattern = list(_TRAITS), call.argument("name")
    if (call.argument("associated") or "false").lower() == "true":
        names = list(TRAITS)
    if pattern is not None:
        operator, _, value = pattern.partition(":")
        match operator:
            case "in":
                names = [name for name in names if name in value.split(",")]
            case "startswith":
                names = [name for name in names if name.startswith(value)]
            case _:
                raise bad("Badly formatted name parameter. Expected in: or startswith:")
    return Reply(200, {"traits": names})


def show_trait(call: Call) -> Reply:
    """Handle GET of a trait; reply with status 204 if it exists."""
    admin_only(call, "traits:show")
    if call.ids[0] not in _TRAITS:
        raise missing(f"No such trait(s): {call.ids[0]}.")
    return Reply(204)


ROUTES: list[Route] = [
    ("GET", "/resource_classes", Since((1, 2), classes)),
    ("GET", "/resource_classes/{}", Since((1, 2), show_class)),
    ("GET", "/traits", Since((1, 6), traits)),
    ("GET", "/traits/{}", Since((1, 6), show_trait)),
]
