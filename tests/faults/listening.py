"""devcloud on another address than 127.0.0.1, and with this address in its catalogue:

python -m tests.faults.listening ADDRESS [OPTION OF hearth_devcloud…]
"""

import sys
from typing import Any
from unittest import mock

from aiohttp import web

from hearth_devcloud.__main__ import main


def listen_on(address: str) -> None:
    """Let this process listen on the address instead of 127.0.0.1, from now on."""
    site = web.TCPSite

    def there(runner: Any, _: str, port: int, **options: Any) -> web.TCPSite:
        return site(runner, address, port, **options)

    mock.patch.object(web, "TCPSite", there).start()


if __name__ == "__main__":
    listen_on(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
