"""The parent of the worker processes, which forks them after it has loaded all code.

`hearth.engine.programs.compute.pool` starts it with a control socket. A message on this socket is
either a file descriptor, which is the job socket of a new worker process, or the id of a process to
kill. When the control socket is closed, the parent kills its children and ends.
"""

import os
import select
import signal
import socket
import sys

from hearth.config.type_settings import TypeSettings
from hearth.engine.programs.compute.job import carry_out
from hearth.engine.programs.compute.wire import pack, send
from hearth.model import collector

MESSAGE_MAX = 32
COMMON = (
    "OS::Nova::Server", "OS::Nova::KeyPair", "OS::Cinder::Volume", "OS::Cinder::VolumeAttachment",
    "OS::Neutron::Net", "OS::Neutron::Subnet", "OS::Neutron::Port", "OS::Neutron::Router",
    "OS::Neutron::RouterInterface", "OS::Neutron::FloatingIP", "OS::Neutron::SecurityGroup",
    "OS::Heat::Value", "OS::Heat::ResourceGroup", "OS::Heat::AutoScalingGroup",
    "OS::Heat::WaitCondition", "OS::Heat::WaitConditionHandle", "OS::Heat::RandomString",
    "OS::Heat::SoftwareConfig", "OS::Heat::SoftwareDeployment",
)  # fmt: skip
"""Resource types that most templates use. They are loaded before the first fork."""


def main(number: int, types: TypeSettings) -> None:
    """Serve the control socket, whose file descriptor is `number`, until it is closed.

    `types` are the operator's settings for resource types.
    """
    control = socket.socket(fileno=number)
    prepare(types)
    collector.parent()
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)  # for the group; it ends with its parent
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: set[int] = set()
    try:
        while True:
            ready, _, _ = select.select([control.fileno(), woken], [], [])
            if woken in ready:
                os.read(woken, 4096)
                _reap(running)
            if control.fileno() in ready and not _heard(control, running, (woken, wakes)):
                return
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)


def prepare(types: TypeSettings) -> None:
    """Import the code that jobs need, so that forked processes do not have to.

    `types` are the operator's settings for resource types.
    """
    import yaql.standard_library  # noqa: F401

    from hearth.process.installed import use_installed
    from hearth.resources.heat import template_resource  # noqa: F401
    from hearth.resources.registry import share
    from hearth.service.reading import revisions  # noqa: F401
    from hearth.service.stacks import validate  # noqa: F401
    from hearth.template.functions.query import _library

    use_installed()
    catalog = share(types.catalog())
    for name in COMMON:
        catalog.find(name)
    _library()


def _heard(control: socket.socket, running: set[int], ours: tuple[int, int]) -> bool:
    """Handle one message from the control socket; return false if the socket is closed.

    `running` has the ids of the child processes. `ours` are file descriptors to close in a child
    process.
    """
    message, handles, _, _ = socket.recv_fds(control, MESSAGE_MAX, 1)
    if not message:
        return False
    if not handles:
        pid = int(message)
        if pid in running:  # only this process reaps, so the id is still valid
            os.kill(pid, signal.SIGKILL)
        return True
    with socket.socket(fileno=handles[0]) as sock:
        pid = os.fork()
        if pid == 0:
            _child(control, sock, ours)
        running.add(pid)
    return True


def _child(control: socket.socket, sock: socket.socket, ours: tuple[int, int]) -> None:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        for end in ours:
            os.close(end)
        send(sock, pack(os.getpid()))
        carry_out(sock)
        status = 0
    finally:
        os._exit(status)


def _reap(running: set[int]) -> None:
    while running:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        running.discard(pid)


if __name__ == "__main__":
    has_types = len(sys.argv) > 2
    main(int(sys.argv[-1]), TypeSettings.of_text(sys.argv[1]) if has_types else TypeSettings())
