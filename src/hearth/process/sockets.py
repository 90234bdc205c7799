"""The sockets of a process."""

import socket

from msgspec import Struct, field

from hearth.config.wrong import WrongSetting


class Sockets(Struct, frozen=True):
    """The sockets on which a process listens.

    `main` serves all APIs, `cfn` only the CloudFormation-style API, `clusters` only the cluster
    API, and `monitoring` the port for operators.
    """

    main: list[socket.socket] = field(default_factory=list)
    cfn: list[socket.socket] = field(default_factory=list)
    clusters: list[socket.socket] = field(default_factory=list)
    monitoring: list[socket.socket] = field(default_factory=list)


def listening(host: str, port: int, chosen_by: str = "--port") -> socket.socket:
    """Return a socket that listens at `host` and `port`. Raises WrongSetting if it cannot.

    `chosen_by` is the option or setting of the port, for the message.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle only if the protocol is given
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as problem:
        bound.close()
        message = f"port {port} on {host} cannot be used: {problem.strerror}"
        raise WrongSetting(f"{message}; choose another with {chosen_by}") from None
    bound.listen(2048)
    return bound
