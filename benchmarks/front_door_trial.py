"""before/after side by side. usage: bench.py show|poll|all rounds NEWDIR"""

import asyncio, contextlib, os, statistics, sys, tempfile, time
from pathlib import Path
from urllib.parse import urlencode, urlsplit, quote

BASE = Path("/work/h/doorbase")
NEW = Path(sys.argv[3]) if len(sys.argv) > 3 else Path("/work/h/door")
sys.path[:0] = [str(BASE), str(BASE / "src"), str(BASE / "packages/hearth-devcloud/src")]
import uvloop
from benchmarks import polling, showing
from benchmarks.served import served, Stack
from benchmarks.several import several
from benchmarks.machine import cpu_s
from hearth.agent.agent import signature

polling.SERVERS = 200


@contextlib.contextmanager
def at(tree):
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{tree}/src:{tree}/packages/hearth-devcloud/src:{tree}"
    yield
    os.environ["PYTHONPATH"] = before or ""


class Keep(asyncio.Protocol):
    def __init__(self, request, ends, done):
        self.r, self.ends, self.done, self.n, self.buf, self.need = request, ends, done, 0, b"", 0

    def connection_made(self, t):
        self.t = t
        t.write(self.r)

    def data_received(self, data):
        self.buf += data
        head, sep, body = self.buf.partition(b"\r\n\r\n")
        if not sep:
            return
        if b" 200 " not in head[:15]:
            raise SystemExit(self.buf)
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < size:
            return
        self.buf = b""
        self.n += 1
        if time.perf_counter() < self.ends:
            self.t.write(self.r)
        else:
            self.t.close()
            self.done.set_result(self.n)


async def keep_load(url, token, seconds, connections):
    u = urlsplit(url)
    loop = asyncio.get_running_loop()
    req = f"GET {u.path} HTTP/1.1\r\nHost: {u.netloc}\r\nX-Auth-Token: {token}\r\n\r\n".encode()
    ends = time.perf_counter() + seconds
    dones = []
    for _ in range(connections):
        done = loop.create_future()
        dones.append(done)
        await loop.create_connection(lambda: Keep(req, ends, done), u.hostname, u.port)
    return sum(await asyncio.gather(*dones))


class Once(asyncio.Protocol):
    def __init__(self, request, done):
        self.r, self.done, self.buf = request, done, b""

    def connection_made(self, t):
        self.t = t
        t.write(self.r)

    def data_received(self, data):
        self.buf += data
        head, sep, body = self.buf.partition(b"\r\n\r\n")
        if not sep:
            return
        if b" 200 " not in head[:15]:
            raise SystemExit(self.buf)
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < size:
            return
        self.t.close()
        if not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, exc):
        if not self.done.done():
            self.done.set_exception(exc or EOFError())


async def once_load(netloc, request_of, seconds, rate=333):
    host, port = netloc.split(":")
    loop = asyncio.get_running_loop()
    start, n, waiting = time.perf_counter(), 0, []
    while (now := time.perf_counter()) < start + seconds:
        due = start + n / rate
        if due > now:
            await asyncio.sleep(due - now)
        done = loop.create_future()
        waiting.append(done)
        loop.create_task(loop.create_connection(lambda: Once(request_of(n), done), host, int(port)))
        await asyncio.sleep(0)
        n += 1
    await asyncio.gather(*waiting)
    return n


def signed(netloc, guest):
    s = guest.section
    p = {
        "Action": "DescribeStackResource",
        "StackName": s["stack_name"],
        "LogicalResourceId": s["path"].partition(".")[0],
        "AWSAccessKeyId": s["access_key_id"],
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
        "Version": "2010-05-15",
        "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    p["Signature"] = signature("GET", f"http://{netloc}/cfn/v1/", p, s["secret_access_key"])
    return f"GET /cfn/v1/?{urlencode(p)} HTTP/1.1\r\nHost: {netloc}\r\nAccept-Encoding: identity\r\n\r\n".encode()


def tokened(netloc, guest, client):
    s = guest.section
    if not guest.token:
        guest.token = polling.token_of(s)
    path = f"/v1/{s['project_id']}/stacks/{quote(s['stack_id'])}/resources/{s['resource_name']}/metadata"
    return f"GET {path} HTTP/1.1\r\nHost: {netloc}\r\nAccept-Encoding: identity\r\nX-Auth-Token: {guest.token}\r\nContent-Type: application/json\r\n\r\n".encode()


def cost(pid, load):
    before = cpu_s(pid)
    n = uvloop.run(load())
    return (cpu_s(pid) - before) / n * 1000


def table(what, sides, rounds):
    found = {k: [] for k in sides}
    for k, f in sides.items():
        f(0.5)
    for r in range(rounds):
        order = list(sides) if r % 2 == 0 else list(sides)[::-1]
        for k in order:
            found[k].append(sides[k](1.0))
    med = {k: statistics.median(v) for k, v in found.items()}
    low = {k: min(v) for k, v in found.items()}
    ratios = [b / a for a, b in zip(found["before"], found["after"])]
    print(
        f"{what}: "
        + ", ".join(f"{k} median {med[k]:.4f} min {low[k]:.4f} ms" for k in sides)
        + f"; after/before: of medians {med['after'] / med['before']:.3f}, of mins {low['after'] / low['before']:.3f}, median of pairs {statistics.median(ratios):.3f}",
        flush=True,
    )


def empty(all_of):
    import subprocess

    p = subprocess.Popen([sys.executable, "-c", polling.EMPTY], stdout=subprocess.PIPE, text=True)
    all_of.callback(p.terminate)
    return p.pid, int(p.stdout.readline())


def shows(rounds):
    with contextlib.ExitStack() as all_of:
        sides = {}

        def add(name, tree):
            d = all_of.enter_context(tempfile.TemporaryDirectory())
            with at(tree):
                here = all_of.enter_context(several(Path(d), "PostgreSQL", 1))
            stack = Stack(here.client, "shown", showing.TEMPLATE)
            stack.create()
            return f"{here.client.url}{stack.path}", here.client.token, here.api.pid

        both = {"before": add("before", BASE), "after": add("after", NEW)}
        ep, eport = empty(all_of)
        for connections in (8, 1):
            s = {
                k: (lambda sec, v=v: cost(v[2], lambda: keep_load(v[0], v[1], sec, connections)))
                for k, v in both.items()
            }
            s["empty"] = lambda sec: cost(
                ep, lambda: keep_load(f"http://127.0.0.1:{eport}/", "", sec, connections)
            )
            table(f"show, {connections} connections", s, rounds)


def polls(rounds):
    with contextlib.ExitStack() as all_of:
        ep, eport = empty(all_of)
        for transport, kind in (("POLL_SERVER_CFN", "cfn"), ("POLL_SERVER_HEAT", "heat")):
            with contextlib.ExitStack() as inner:
                sides = {}
                for name, tree in (("before", BASE), ("after", NEW)):
                    d = inner.enter_context(tempfile.TemporaryDirectory())
                    with at(tree):
                        here = inner.enter_context(served(Path(d)))
                    guests = polling._guests(here, transport, kind)
                    for g in (*guests, *guests):
                        (polling._by_signature if kind == "cfn" else polling._by_token)(here, g)
                    netloc = urlsplit(here.client.url).netloc
                    if kind == "cfn":
                        of = lambda n, netloc=netloc, guests=guests: signed(
                            netloc, guests[n % len(guests)]
                        )
                    else:
                        of = lambda n, netloc=netloc, guests=guests, here=here: tokened(
                            netloc, guests[n % len(guests)], here.client
                        )
                    sides[name] = lambda sec, pid=here.hearth.pid, netloc=netloc, of=of: cost(
                        pid, lambda: once_load(netloc, of, sec)
                    )
                one = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
                sides["empty"] = lambda sec: cost(
                    ep, lambda: once_load(f"127.0.0.1:{eport}", lambda n: one, sec)
                )
                table(f"poll {transport}", sides, rounds)


if __name__ == "__main__":
    rounds = int(sys.argv[2])
    if sys.argv[1] in ("show", "all"):
        shows(rounds)
    if sys.argv[1] in ("poll", "all"):
        polls(rounds)
