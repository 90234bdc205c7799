"""The ASGI applications of a process, and the HTTP servers that run them."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from hearth.store.database import prove_writable

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

    from hearth.api.auth import Tokens
    from hearth.process.wiring import RunningProcess

KEEP_ALIVE_S = 75  # well over the 5 s polling interval of clients
CONNECTIONS_MAX = 4096  # of one server
DESCRIPTORS_KEPT = 256  # for the database, the cloud and files
LAST_REQUESTS_S = 10  # for requests in progress when the process stops


CLUSTERS = "/container-infra"


def applications(running: "RunningProcess") -> "tuple[ASGIApp, ASGIApp, ASGIApp]":
    """Return the main application, the CloudFormation-style API and the cluster API.

    The last two are for ports of their own. The main application includes the cluster API below
    /container-infra.
    """
    from hearth.api.app import application
    from hearth.api.auth import GUEST_FACTOR
    from hearth.api.cfn.accepted_keys import AcceptedKeys
    from hearth.api.cfn.app import application as cfn_application
    from hearth.api.cfn.auth import Gate, KeystoneChecker
    from hearth.api.clusters.app import application as cluster_application
    from hearth.api.front.chain import fronted
    from hearth.api.front.health import Healthcheck
    from hearth.api.front.in_turn import Steps
    from hearth.api.front.rate import Rates
    from hearth.api.response_cache import ResponseCache
    from hearth.service.reading.describe_resource import secret_of_guest

    settings, token_pool = running.settings, running.token_pool
    service, auth_url = settings.service_user, settings.auth_url
    tokens = _tokens(running)
    credentials = settings.signers or (service,)
    role = settings.cloud.heat_stack_user_role
    signers = [
        KeystoneChecker(token_pool.cloud(credential), credential.auth_url, role)
        for credential in credentials
    ]
    services, front = running.services, running.front
    kept_s = GUEST_FACTOR * settings.token_checks.token_cache_time_s
    accepted = AcceptedKeys(partial(secret_of_guest, services), kept_s)
    gate = Gate(signers, tokens, auth_url, accepted)
    rates, responses = Rates(front), ResponseCache(services)
    clusters = cluster_application(services, tokens, auth_url, rates)
    cfn = cfn_application(services, gate, rates, responses)

    async def database() -> object:
        return await services.store.run(prove_writable)

    checked_clusters = Healthcheck(clusters, front, database)
    main = application(services, tokens, gate, auth_url, rates, responses)
    main_and_clusters = below(CLUSTERS, checked_clusters, main)
    steps = Steps(services.compute.usage)
    return (
        fronted(main_and_clusters, front, steps, database),
        fronted(cfn, front, steps, database),
        fronted(clusters, front, steps, database),
    )


def _tokens(running: "RunningProcess") -> "Tokens":
    """Return the object that checks the tokens of requests with the service user."""
    from hearth.api.auth import Tokens

    settings = running.settings
    return Tokens(
        running.token_pool.cloud(settings.service_user),
        settings.auth_url,
        settings.token_checks,
        guest_role=settings.cloud.heat_stack_user_role,
    )


def below(prefix: str, inner: "ASGIApp", fallback: "ASGIApp") -> "ASGIApp":
    """Return an application that sends requests below the path `prefix` to `inner`, else to
    `fallback`.
    """

    async def app(scope: "Scope", receive: "Receive", send: "Send") -> None:
        root = scope.get("root_path", "")
        path = scope.get("path", "").removeprefix(root)
        if scope["type"] == "http" and (path == prefix or path.startswith(f"{prefix}/")):
            await inner({**scope, "root_path": f"{root}{prefix}"}, receive, send)
        else:
            await fallback(scope, receive, send)

    return app


def connections_max() -> int:
    """Return the maximum number of connections of a server, which depends on the limit of open
    files.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    return min(CONNECTIONS_MAX, max(soft // 4, (soft - DESCRIPTORS_KEPT) // 2))


def server(app: "ASGIApp", *, by_proxy: bool = False) -> "uvicorn.Server":
    """Return an HTTP server for an application. It installs no signal handlers.

    If all clients come `by_proxy`, the connections of one address are not limited.
    """
    import uvicorn

    from hearth.process.http.doorman import Doorman
    from hearth.process.http.polled import PolledConnection

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    doorman = Doorman(connections_max(), by_proxy=by_proxy)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=LAST_REQUESTS_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        ws="none",
        proxy_headers=False,
        http=partial(PolledConnection, doorman),  # type: ignore[arg-type]
    )
    return Server(config)


async def started(server: "uvicorn.Server", sockets: list[socket.socket]) -> asyncio.Task[Any]:
    """Start an HTTP server, and return its task when it accepts connections."""
    task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(server.serve(sockets=sockets))
    while not server.started and not task.done():  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.005)
    return task
