"""The sockets of a process."""

import socket

from msgspec import Struct, field


class Sockets(Struct, frozen=True):
    """The sockets on which a process listens.

    `main` serves all APIs, `cfn` only the CloudFormation-style API, `clusters` only the cluster
    API, and `monitoring` the port for operators.
    """

    main: list[socket.socket] = field(default_factory=list)
    cfn: list[socket.socket] = field(default_factory=list)
    clusters: list[socket.socket] = field(default_factory=list)
    monitoring: list[socket.socket] = field(default_factory=list)
