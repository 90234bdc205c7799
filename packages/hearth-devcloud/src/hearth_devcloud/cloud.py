"""The embedded cloud without its HTTP server: the services, their state and the fault rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from urllib.parse import parse_qs, unquote

from hearth_devcloud import (
    aodh,
    barbican,
    blazar,
    cinder,
    designate,
    glance,
    ironic,
    keystone,
    manila,
    mistral,
    neutron,
    nova,
    octavia,
    placement,
    seed,
    swift,
    trove,
    zaqar,
    zun,
)
from hearth_devcloud.caller import Caller
from hearth_devcloud.guest import simulated
from hearth_devcloud.http import READS, Call, Cloud, Forwards, Machines, Refusal, Reply, Service
from hearth_devcloud.keystone.tokens import authenticate
from hearth_devcloud.knobs import Knobs
from hearth_devcloud.notice import Notice
from hearth_devcloud.settings import Settings
from hearth_devcloud.store import Resource, Store

SERVICES: dict[str, Service] = {
    service.name: service
    for service in (
        keystone.SERVICE,
        nova.SERVICE,
        placement.SERVICE,
        neutron.SERVICE,
        cinder.SERVICE,
        glance.SERVICE,
        swift.SERVICE,
        octavia.SERVICE,
        designate.SERVICE,
        barbican.SERVICE,
        zaqar.SERVICE,
        aodh.SERVICE,
        mistral.SERVICE,
        manila.SERVICE,
        ironic.SERVICE,
        zun.SERVICE,
        trove.SERVICE,
        blazar.SERVICE,
    )
}
TRANSITIONS: dict[str, Callable[[Cloud, Resource], None]] = {
    **nova.TRANSITIONS,
    **neutron.TRANSITIONS,
    **cinder.TRANSITIONS,
    **glance.TRANSITIONS,
    **octavia.TRANSITIONS,
    **designate.TRANSITIONS,
    **barbican.TRANSITIONS,
    **zaqar.TRANSITIONS,
    **aodh.TRANSITIONS,
    **mistral.TRANSITIONS,
    **manila.TRANSITIONS,
    **ironic.TRANSITIONS,
    **zun.TRANSITIONS,
    **trove.TRANSITIONS,
    **blazar.TRANSITIONS,
    **simulated.TRANSITIONS,
}


class DevCloud:
    """An embedded cloud without networking: `handle` takes a call and returns the reply.

    `url` is the address under which clients reach it. It must be correct before the first call;
    `serve` sets it.
    """

    def __init__(self, settings: Settings | None = None, *, url: str = "http://127.0.0.1") -> None:
        self.settings = settings or Settings()
        self.store = Store(self.settings.seed)
        self.knobs = Knobs()
        self.snapshots: dict[str, bytes] = {}  # states to go back to, by id
        self.callers: dict[str, Caller] = {}
        self.downloads: dict[str, Future[bytes | None]] = {}  # imports of images, by image id
        self.outbox: list[Notice] = []  # notifications of alarms, which `server` sends
        self.machines: Machines | None = None
        self.kubernetes: Forwards | None = None
        self.url = url
        self.wake: Callable[[float], None] = lambda after_s: None  # set by the runner of jobs
        seed.sow(self)

    def move_to(self, url: str) -> None:
        """Set the address of the cloud, and the endpoints in the service catalogue."""
        self.url = url
        self.callers.clear()
        seed.plant_catalogue(self)

    def call(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        raw: bytes,
    ) -> Call | None:
        """Return a request as a Call; return None if its path names no service of the cloud.

        `target` is the path with the query.
        """
        path, _, raw_query = target.partition("?")
        if path.startswith("/v1/AUTH_"):  # clients build URLs of objects without a prefix
            path = f"/object-store{path}"
        prefix, _, local_path = path.lstrip("/").partition("/")
        if prefix not in SERVICES:
            return None
        path = "/" + local_path
        segments = [unquote(s) if "%" in s else s for s in local_path.split("/") if s]
        query = parse_qs(raw_query, keep_blank_values=True) if raw_query else {}
        return Call(self, prefix, method, path, segments, query, headers, raw, raw_query=raw_query)

    def request(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        """Carry out a call that one service of the cloud makes to another; return the reply."""
        call = self.call(method, target, headers, raw)
        assert call is not None, f"no service at {target}"
        return self.handle(call)

    def handle(self, call: Call) -> Reply:
        """Carry out all transitions whose time has come, then a call; return the reply."""
        store = self.store
        self.settle()
        service = SERVICES[call.service]
        store.made.clear()
        try:
            reply = self._dispatch(service, call)
        except Refusal as refusal:
            reply = service.refusal(call, refusal)
        if call.effects.invisible_s:
            for resource in store.made:
                resource.visible_from = store.time + call.effects.invisible_s
        if call.method not in ("GET", "HEAD"):
            store.changed = True
            if call.service == "identity" and call.segments[-1:] != ["tokens"]:
                self.callers.clear()
        reply.headers["X-Openstack-Request-Id"] = f"req-{store.new_id()}"
        if service.finish is not None:
            service.finish(call, reply)
        return reply

    def settle(self) -> None:
        """Carry out all scheduled transitions whose time has come."""
        self.store.settle(time.time(), self.carry_out)

    def carry_out(self, transition: str, resource: Resource) -> None:
        """Carry out the transition of this name on an object."""
        TRANSITIONS[transition](self, resource)

    def _dispatch(self, service: Service, call: Call) -> Reply:
        if not service.open(call):
            call.identity = authenticate(self, call.headers.get("X-Auth-Token"))
            caller = call.identity
            if caller is None or not caller.may_call(call.service, call.method, call.path):
                if service.unauthorized is not None:
                    return service.unauthorized(call)
                raise Refusal(401, "Unauthorized", "The request you have made requires a token")
        if service.prepare is not None:
            service.prepare(call)
        match = service.router.find(call.segments)
        if match is None:
            raise Refusal(404, service.unknown_type, "The resource could not be found.")
        methods, call.ids = match
        handler = methods.get(call.method)
        if handler is None and call.method == "HEAD":
            handler = methods.get("GET")
        if handler is None:
            raise Refusal(405, service.wrong_method_type, "The method is not allowed here")
        if service.refuse_reader is not None and call.method not in READS:
            by_reader = call.identity is not None and call.identity.only_reads
            if by_reader and (refused := service.refuse_reader(call)) is not None:
                raise refused
        return handler(call)
