"""An OpenStack in one process: real HTTP services with real state, for any client.

Invariant: this package imports nothing else of Hearth and does not know its callers. Each handler
is a plain function that takes a call and returns a reply. It runs to its end on one thread, so the
state is always consistent. `server` contains the socket, the waiting and the faults. Changes that
happen later are rows in the agenda of `store`.
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
    """Return a public name, which is imported at first use: the keeper of sandbox servers imports
    this package, but needs none of the public names.
    """
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"hearth.devcloud.{_MODULES[name]}"), name)
