"""The sockets of a process."""

import socket
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sockets:
    """The sockets on which a process listens: for all APIs, only for the CloudFormation API, only
    for that of clusters, and for operators.
    """

    main: list[socket.socket] = field(default_factory=list)
    cfn: list[socket.socket] = field(default_factory=list)
    clusters: list[socket.socket] = field(default_factory=list)
    monitoring: list[socket.socket] = field(default_factory=list)
