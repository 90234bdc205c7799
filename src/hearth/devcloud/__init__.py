"""An embedded OpenStack: emulated HTTP services with state, in one process, for any client.

The package imports no other package of Hearth. Each request handler is a plain function that takes
a `Call` and returns a `Reply`; all handlers run on one thread and never wait, so the state is
always consistent. The module `server` does the networking and injects faults. State changes that
happen later, such as a server that becomes ACTIVE, are scheduled in `store`.
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
    """Import a public name on first use.

    The keeper process of sandbox servers imports this package but needs none of the public names.
    """
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"hearth.devcloud.{_MODULES[name]}"), name)
