"""The rows of the table of faults: what happens, how, and in which world."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tests.conftest import SERVERS
from tests.faults import faults as f
from tests.faults import own_faults as own
from tests.faults.broker import Broker
from tests.faults.network import EDGES, Namespace, Network
from tests.faults.postgresql import Server
from tests.faults.world import Site, World

TAKE_OVER_S = 18.0  # a lease, and a look
PARTITION_S = 40.0

WRITES = {"method": "POST"}
SERVERS_MADE = {"service": "compute", "method": "POST", "path_regex": "/servers$"}
READS = {"method": "GET"}
FIRST_READS = {"method": "GET", "first": True}
KEYSTONE = {"service": "identity"}
SOME_TOKENS = {"service": "network", "times": 3}
GARBAGE = '{"networks": [{"id": "4711", "na'
ROUTER = "default backend - 404"
BOTH = frozenset(SERVERS)
POSTGRESQL = frozenset({"postgresql"})


class Fault(NamedTuple):
    """A row before it has run: `means` says how the fault is made.

    `needs_broker`: a machine must have RabbitMQ for it. `site` is what the world stands on.
    """

    means: str
    happens: Callable[[World], AbstractContextManager[None]]
    databases: frozenset[str] = BOTH
    needs_broker: bool = False
    site: Site = Site.PLAIN

    def lacks(self, kind: str) -> str:
        """Return what this machine lacks to do it with this kind of database, or an empty text."""
        if kind not in self.databases:
            return f"another database than {kind}"
        if (self.needs_broker or self.site is Site.CLUSTER) and not Broker.is_here():
            return "a RabbitMQ server"
        if self.site is Site.REPLICATED and not Server.is_here():
            return "root, network namespaces, setpriv and the programs of PostgreSQL"
        if self.site is Site.NAMESPACES and not Network.is_here():
            return "root, iproute2 and network namespaces"
        return ""

    def is_possible(self, kind: str) -> bool:
        """Return whether this machine can do it with this kind of database."""
        return not self.lacks(kind)


def _cloud(means: str, match: Mapping[str, Any], **effect: Any) -> Fault:
    return Fault(means, lambda w: f.in_cloud(w, effect, match=match))


def _partition(who: Callable[[World], Namespace], *edges: str, needs_broker: bool = False) -> Fault:
    return Fault(
        "netns, ip neigh", lambda w: own.partitioned(w, who, edges, PARTITION_S),
        needs_broker=needs_broker, site=Site.NAMESPACES,
    )  # fmt: skip


def _replicated(means: str, happens: Callable[[World], AbstractContextManager[None]]) -> Fault:
    return Fault(means, happens, POSTGRESQL, site=Site.REPLICATED)


def _cluster(means: str, happens: Callable[[World], AbstractContextManager[None]]) -> Fault:
    return Fault(means, happens, site=Site.CLUSTER)


ROWS: dict[str, Fault] = {
    "an engine dies": Fault("SIGKILL", lambda w: f.killed(w, w.engines[:1])),
    "an engine dies and stays away": Fault(
        "SIGKILL", lambda w: f.killed(w, w.engines[:1], away_s=TAKE_OVER_S)
    ),
    "two engines die": Fault("SIGKILL", lambda w: f.killed(w, w.engines[:2])),
    "all engines die": Fault("SIGKILL", lambda w: f.killed(w, w.engines)),
    "the API process dies": Fault("SIGKILL", lambda w: f.killed(w, w.apis[:1])),
    "everything dies": Fault("SIGKILL", lambda w: f.killed(w, [*w.apis, *w.engines])),
    "an engine stands still for 5 s": Fault("SIGSTOP", lambda w: f.stopped(w, w.engines[:1], 5.0)),
    "an engine stands still for 60 s": Fault(
        "SIGSTOP", lambda w: f.stopped(w, w.engines[:1], 60.0)
    ),
    "all engines stand still for 20 s": Fault("SIGSTOP", lambda w: f.stopped(w, w.engines, 20.0)),
    "the API process stands still for 10 s": Fault(
        "SIGSTOP", lambda w: f.stopped(w, w.apis[:1], 10.0)
    ),
    "engines are replaced one by one": Fault("SIGTERM", f.replaced),
    "an engine has no more memory": Fault("RLIMIT_AS", f.memory_limited),
    "the clock of an engine is an hour ahead": Fault(
        "time.time", lambda w: f.clock_wrong(w, f.HOUR_S)
    ),
    "the clock of an engine is an hour late": Fault(
        "time.time", lambda w: f.clock_wrong(w, -f.HOUR_S)
    ),
    "database connections are cut": Fault("terminate, KILL", f.cut_often),
    "the database refuses connections": Fault("ALTER DATABASE, KILL", f.no_connections),
    "the database is read-only": Fault("read_only", f.read_only, POSTGRESQL),
    "a table is locked": Fault("LOCK TABLE", f.locked),
    "all rows of stacks and engines are locked": Fault("SELECT FOR UPDATE", f.rows_locked),
    "transactions deadlock": Fault("SELECT FOR UPDATE", f.deadlocks),
    "answers of COMMITs are lost": Fault("a proxy", f.answers_lost),
    "an engine and the database are separated for 8 s": Fault(
        "a proxy", lambda w: f.route_lost(w, 8.0)
    ),
    "an engine and the database are separated for 40 s": Fault(
        "a proxy", lambda w: f.route_lost(w, 40.0)
    ),
    "the broker dies": Fault("SIGKILL", lambda w: f.broker_dies(w, f.FAULT_S), needs_broker=True),
    "the broker stands still for 20 s": Fault(
        "SIGSTOP", lambda w: f.broker_stopped(w, 20.0), needs_broker=True
    ),
    "writes are answered with 503": _cloud("status 503", WRITES, status=503),
    "writes are answered with 429": _cloud(
        "status 429, Retry-After", WRITES, status=429, retry_after=1
    ),
    "writes are carried out and answered with 504": _cloud(
        "status 504 after", WRITES, status=504, after=True
    ),
    "writes are carried out and answered with 500": _cloud(
        "status 500 after", SERVERS_MADE, status=500, after=True
    ),
    "writes are carried out and not answered": _cloud(
        "connection closed", SERVERS_MADE, withhold=0.5
    ),
    "connections to the cloud are cut": _cloud("drop", READS, drop=True),
    "each read is answered with 502 once": _cloud("status 502", FIRST_READS, status=502),
    "each read is answered with 500 once": _cloud("status 500", FIRST_READS, status=500),
    "a router answers each read with 404 once": _cloud(
        "status 404", FIRST_READS, status=404, body=ROUTER
    ),
    "a router answers writes with 404": _cloud("status 404", WRITES, status=404, body=ROUTER),
    "the cloud is slow": _cloud("latency 2 s", {}, latency_s=2.0),
    "the cloud answers garbage": _cloud("half an answer", READS, garble=GARBAGE),
    "Keystone is answered with 503": _cloud("status 503", KEYSTONE, status=503),
    "Keystone answers with 500": _cloud("status 500", KEYSTONE, status=500),
    "tokens are refused": _cloud("status 401", SOME_TOKENS, status=401),
    "wake-ups come for nothing": Fault("NOTIFY, publish", own.flooded, needs_broker=True),
    "the database server is restarted": _replicated("SIGQUIT", own.restarted),
    "the disk of the database is full": _replicated("a tmpfs", own.disk_full),
    "the database fails over to its replica": _replicated("SIGKILL, pg_promote", own.failed_over),
    "the machine of the database vanishes, its replica takes over": _replicated(
        "netns, ip neigh, pg_promote", own.vanished
    ),
    "the replica of the database stands still for 20 s": _replicated(
        "SIGSTOP", lambda w: own.replica_stopped(w, 20.0)
    ),
    "one of three brokers dies": _cluster("SIGKILL", lambda w: own.brokers_die(w, 1)),
    "two of three brokers die": _cluster("SIGKILL", lambda w: own.brokers_die(w, 2)),
    "a broker is cut off from the other two for 30 s": _cluster(
        "SIGSTOP", lambda w: own.broker_cut_off(w, 30.0)
    ),
    "the queues are deleted": _cluster("rabbitmqctl", own.queues_deleted),
    "an engine and the database are partitioned for 40 s": _partition(own.engine, "database"),
    "an engine and the cloud are partitioned for 40 s": _partition(own.engine, "cloud"),
    "an engine and the broker are partitioned for 40 s": _partition(
        own.engine, "broker", needs_broker=True
    ),
    "an engine and everything else are partitioned for 40 s": _partition(own.engine, *EDGES),
    "the API process and everything else are partitioned for 40 s": _partition(
        own.api_process, *EDGES
    ),
}
