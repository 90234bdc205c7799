"""The life cycle of a process: serve requests, run the engine, handle signals, shut down."""

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs
from sqlalchemy.exc import SQLAlchemyError

from hearth.bus.notification import BrokerMessage, Notifications, log_message
from hearth.cloud.pool import CloudPool
from hearth.conductor.conductor import Conductor
from hearth.engine.worker.engine import Engine
from hearth.model import collector
from hearth.process.http.served import applications, server, started
from hearth.process.memory import keep_small
from hearth.process.sockets import Sockets
from hearth.process.wiring import RunningProcess
from hearth.service.event_poster import EventPoster
from hearth.service.reading.drift_watch import DriftWatch, WatchSettings
from hearth.service.sender import Sender
from hearth.service.stack_clouds import StackClouds

if TYPE_CHECKING:
    from uvicorn import Server

log = logging.getLogger(__name__)

SENDING = "sending"
ASK_S = 10.0  # between two reads of the time, without heartbeats
POSTS_AT_ONCE = 16
DRIFT_CALLS_AT_ONCE = 8
TELL_S = 60.0

Publish = Callable[[BrokerMessage], Awaitable[None]]
Reload = Callable[[], Coroutine[Any, Any, None]]


class Seldom:
    """An error handler of the event loop that logs repeated errors of `accept` at most once a
    minute.
    """

    def __init__(self) -> None:
        self._told_at: dict[str, float] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an error; the signature is that of `loop.set_exception_handler`."""
        message = str(context.get("message", ""))
        if "accept" not in message:
            loop.default_exception_handler(context)
        elif loop.time() - self._told_at.get(message, float("-inf")) >= TELL_S:
            self._told_at[message] = loop.time()
            log.error("%s: %s", message, context.get("exception"))


async def until_stopped(
    running: RunningProcess,
    sockets: Sockets,
    *,
    work: bool,
    clusters: bool = False,
    ready: Callable[[], None],
    role: str = "all",
    reload: Reload | None = None,
) -> int:
    """Serve requests and work on stacks until SIGTERM or SIGINT; return the exit status.

    `running` are the parts of the process. `work` enables the engine, `clusters` the conductor; the
    APIs are those that have `sockets`. `ready` is called when the process serves requests. `role`
    is the name of the process's role in its metrics. SIGHUP calls `reload`. On a second SIGTERM,
    requests in progress are aborted. If a part of the process ends unexpectedly, the exit status is
    1.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(Seldom())
    servers: list[Any] = []

    def stopping() -> None:
        for http_server in servers:
            http_server.force_exit = stop.is_set()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping)
    if reload is not None:
        _on_hangup(reload)
    tasks = _begun(running, work=work)
    workers: list[Engine | Conductor] = [
        *([running.conductor] if clusters else []),
        *([running.engine] if work else []),
    ]
    running.pool.may_write = _fence(workers)
    if clusters:
        tasks.append(loop.create_task(running.conductor.run(), name="conductor"))
    for http_server, bound in _servers(running, sockets, role, work=work, stopping=stop.is_set):
        servers.append(http_server)
        tasks.append(await started(http_server, bound))
    collector.server()
    small = loop.create_task(keep_small(), name="memory")
    ready()
    stopped = loop.create_task(stop.wait())
    await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
    log.info("stopping")
    broken = [task for task in tasks if task.done()]
    for task in broken:
        log.error("a task of the process ended unexpectedly", exc_info=task.exception())
    await _wind_up(tasks, servers, workers)
    stopped.cancel()
    small.cancel()
    log.info("stopped")
    return 1 if broken else 0


def _begun(running: RunningProcess, *, work: bool) -> list[asyncio.Task[Any]]:
    """Start the engine, if `work` is true, and the tasks that send messages; return all tasks."""
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[Any]] = []
    if running.relay is not None:
        tasks.append(loop.create_task(running.relay.run(), name=SENDING))
    if not work:
        return [*tasks, loop.create_task(_keep_time(running), name=SENDING)]
    tasks.append(loop.create_task(running.engine.run()))
    tasks.append(loop.create_task(_post_events(running), name=SENDING))
    if running.settings.drift_check_interval_s:
        tasks.append(loop.create_task(_watch_drift(running), name=SENDING))
    if (to := running.settings.notifications) is not None:
        tasks.append(loop.create_task(_send(running, to), name=SENDING))
    return tasks


def _fence(workers: Sequence[Engine | Conductor]) -> Callable[[], Awaitable[bool]]:
    """Return the function that is asked before each write call to the cloud.

    It allows the call only if every worker may still write.
    """

    async def may_write() -> bool:
        return all([await worker.confirmed() for worker in workers])

    return may_write


def _servers(
    running: RunningProcess,
    sockets: Sockets,
    role: str,
    *,
    work: bool,
    stopping: Callable[[], bool],
) -> list[tuple["Server", list[socket.socket]]]:
    """Return (server, sockets) for each application that has sockets."""
    servers: list[tuple[Server, list[socket.socket]]] = []
    bound_to = (sockets.main, sockets.cfn, sockets.clusters)
    if any(bound_to):
        pairs = zip(applications(running), bound_to, strict=True)
        by_proxy = running.front.settings.enable_proxy_headers_parsing
        servers += [(server(app, by_proxy=by_proxy), bound) for app, bound in pairs if bound]
    if sockets.monitoring:
        from hearth.process.monitoring import monitoring

        app = monitoring(running, role, work=work, stopping=stopping)
        servers.append((server(app), sockets.monitoring))
    return servers


def _on_hangup(reload: Reload) -> None:
    """Call `reload` at SIGHUP, one call at a time; a signal during a call causes another call."""
    loop, again = asyncio.get_running_loop(), asyncio.Event()

    async def reloading() -> None:
        while True:
            await again.wait()
            again.clear()
            try:
                await reload()
            except Exception:  # after any error the next signal is handled, too
                log.exception("the settings could not be reloaded because of an internal error")

    task = loop.create_task(reloading(), name="reloading")
    loop.add_signal_handler(signal.SIGHUP, lambda: again.set() if not task.done() else None)


async def _keep_time(running: RunningProcess) -> None:
    """Read the database's time regularly, in a process without an engine."""
    while True:
        await asyncio.sleep(ASK_S)
        try:
            await running.clock.ask(running.services.store)
        except SQLAlchemyError as problem:
            log.warning(
                "the time of the database cannot be read: %s", str(problem).partition("\n")[0]
            )


async def _wind_up(
    tasks: Sequence[asyncio.Task[Any]],
    servers: Sequence[Any],
    workers: Sequence[Engine | Conductor],
) -> None:
    """Stop accepting requests, release the stacks and cluster tasks of the workers, and wait until
    all asyncio tasks have ended.
    """
    for http_server in servers:
        http_server.should_exit = True
    for worker in workers:
        await _taken_leave(worker)
    for task in tasks:
        if task.get_name() == SENDING:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _taken_leave(worker: Engine | Conductor) -> None:
    try:
        await worker.stop()
    except SQLAlchemyError as problem:
        message = str(problem).partition("\n")[0]
        log.warning("the work could not be released; its leases will expire: %s", message)


async def _send(running: RunningProcess, to: Notifications) -> None:
    """Send notifications until cancelled."""
    services = running.services

    async def send(publish: Publish, failures: type[Exception]) -> None:
        sender = Sender(services.store, services.programs, running.engine.id, to, publish, failures)
        services.bus.listen(sender.wake)
        await sender.run()

    async def only_log(message: BrokerMessage) -> None:
        log_message(message)

    if not to.transport_url:
        await send(only_log, OSError)
        return
    from hearth.bus.rabbit import NotSent, Publisher

    async with Publisher(to) as publisher:

        async def publish(message: BrokerMessage) -> None:
            await publisher.publish(message)
            if to.logged:
                log_message(message)

        await send(publish, NotSent)


async def _post_events(running: RunningProcess) -> None:
    """Post events to the event sinks of stacks until cancelled, over separate connections."""
    services = running.services
    config = structs.replace(running.pool.config, in_flight=POSTS_AT_ONCE, auth_threads=2)
    pool = CloudPool(config, running.observer)
    pool.may_write = running.engine.confirmed
    poster = EventPoster(services.store, StackClouds(pool), running.engine.id, services.clock)
    services.bus.listen(poster.wake)
    try:
        await poster.run()
    finally:
        await pool.aclose()


async def _watch_drift(running: RunningProcess) -> None:
    """Check stacks for drift until cancelled, over separate connections without write calls."""
    engine, services = running.engine, running.services
    config = structs.replace(running.pool.config, in_flight=DRIFT_CALLS_AT_ONCE, auth_threads=1)
    pool = CloudPool(config, running.observer)
    pool.may_write = _never
    watching = structs.replace(services, clouds=StackClouds(pool))
    watched = WatchSettings(
        running.settings.drift_check_interval_s,
        engine.id,
        lambda: any(not worker.waits for worker in engine.workers.values()),
    )
    try:
        await DriftWatch(watching, watched).run()
    finally:
        await pool.aclose()


async def _never() -> bool:
    return False
