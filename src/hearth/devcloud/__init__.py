"""An OpenStack in one process: real HTTP services with real state, for any client.

Invariant: this package imports nothing else of Hearth and does not know its callers. Each handler
is a plain function from a call to a reply and runs to its end on one thread, so state is always
consistent. Waiting, faults and the socket are in `server`. Later changes are rows in the agenda of
`store`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hearth.devcloud.cloud import DevCloud
    from hearth.devcloud.server import Running, serve
    from hearth.devcloud.settings import Settings

__all__ = ["DevCloud", "Running", "Settings", "serve"]

_MODULES = {"DevCloud": "cloud", "Running": "server", "Settings": "settings", "serve": "server"}


def __getattr__(name: str) -> Any:
    """Return a public name, imported at first use: the keeper of sandbox servers needs none of
    them.
    """
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"hearth.devcloud.{_MODULES[name]}"), name)
