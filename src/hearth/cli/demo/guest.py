"""Acts as a server of the demo: carries out the request that its user data would send."""

import base64
import email
import shlex
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from msgspec import Struct

from hearth.cli.demo.client import Client
from hearth.cli.demo.dev_server import DemoFailed

SEES_USER_DATA = "2.3"  # the microversion that shows user data to administrators
TIMEOUT_S = 10


class Signal(Struct, frozen=True):
    """A signal request that a script would send with curl."""

    url: str
    headers: dict[str, str]
    data: str

    def send(self) -> None:
        """Send the signal as curl would. Raises DemoFailed if it is not accepted."""
        request = Request(  # noqa: S310 - the address comes from the stack itself
            self.url, self.data.encode(), self.headers, method="POST"
        )
        try:
            with urlopen(request, timeout=TIMEOUT_S) as reply:  # noqa: S310
                reply.read()
        except URLError as problem:
            raise DemoFailed(f"the signal was not accepted: {problem}") from None


def read_script(admin: Client, server_id: str) -> str:
    """Return the script in the user data of a server. Raises DemoFailed if there is none.

    `admin` sends the requests, because only administrators see the user data of all servers.
    """
    path = f"/servers/{server_id}"
    server: dict[str, Any] = admin.call("compute", "GET", path, microversion=SEES_USER_DATA)
    user_data = server["server"].get("OS-EXT-SRV-ATTR:user_data")
    if not user_data:
        raise DemoFailed(f"server {server_id} has no user data")
    return script_in(base64.b64decode(user_data).decode())


def script_in(user_data: str) -> str:
    """Return the user's script in multipart user data. Raises DemoFailed if there is none."""
    for part in email.message_from_string(user_data).walk():
        if part.get_filename() == "cfn-userdata":
            payload = part.get_payload(decode=True)
            assert isinstance(payload, bytes)
            return payload.decode()
    raise DemoFailed("the user data has no part with the user's script")


def signal_in(script: str) -> Signal:
    """Return the signal that the first curl command in a script sends.

    Raises DemoFailed if the script does not call curl.
    """
    for line in script.splitlines():
        argv = shlex.split(line, comments=True)
        if argv[:1] == ["curl"]:
            return _parsed(argv)
    raise DemoFailed("the script does not call curl")


def _parsed(argv: list[str]) -> Signal:
    headers, data, url = {}, "", ""
    arguments = iter(argv[1:])
    for word in arguments:
        match word:
            case "-H":
                name, _, value = next(arguments).partition(":")
                headers[name] = value.strip()
            case "--data-binary":
                data = next(arguments)
            case "-X":
                next(arguments)
            case _ if word.startswith("http"):
                url = word
    return Signal(url, headers, data)
