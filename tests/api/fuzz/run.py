"""`python -m tests.api.fuzz.run [--count N] [--seed S]`: broken requests against a server."""

import argparse
import http.client
import json
import random
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from tests.api.fuzz.mutate import Sent, mutated, recorded
from tests.clients.dev import hearth_dev
from tests.walk.ground import SMALL, WORDS, Ground, prepare

STATES = {"CREATE", "UPDATE", "RESUME"}


def play(ground: Ground, count: int, seed: int) -> list[str]:
    """Send so many requests; what was wrong with the answers."""
    luck = random.Random(seed)
    member, stack = ground.people["member"], ground.create(f"played{seed}", template=SMALL)
    names = {
        **stack, "tenant_id": member.project_id, "stack_identity": stack["stack_name"],
        "resource_name": "one", "type_name": "OS::Heat::Value", "output_key": "none",
        "template_version": "heat_template_version.2021-04-16", "number": "1", "other": "1",
        "snapshot_id": "0" * 32, "event_id": "0" * 32, "config_id": "0" * 32,
        "deployment_id": "0" * 32, "server_id": "a-server",
    }  # fmt: skip
    base = [one for one in recorded(names) if one.method != "DELETE"]
    wrong = []
    for number in range(count):
        sent = mutated(luck.choice(base), luck)
        words = _judged(ground, sent, member.token)
        if words:
            wrong.append(f"{seed}/{number} {sent.method} {sent.path[:200]} ({sent.why}): {words}")
    return wrong


def _judged(ground: Ground, sent: Sent, token: str) -> str:
    place = urlsplit(ground.dev.url)
    link = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    try:
        link.putrequest(sent.method, _wire(sent.path), skip_accept_encoding=True)
        link.putheader("X-Auth-Token", token)
        for name, value in sent.headers:
            link.putheader(name, value.encode("latin-1", "replace"))
        if sent.body or sent.method in ("POST", "PUT", "PATCH"):
            link.putheader("Content-Length", str(len(sent.body)))
        link.endheaders(sent.body or None)
        reply = link.getresponse()
        text = reply.read().decode("utf-8", "replace")
    except (http.client.HTTPException, OSError) as error:
        return f"no answer: {error!r}"
    finally:
        link.close()
    if reply.status >= 500 and reply.status != 503:
        return f"{reply.status} {text[:300]}"
    if WORDS in text or WORDS in str(reply.headers):
        return f"tells a secret: {text[:300]}"
    if "evil" in str(reply.headers).lower() or "evil.example" in text:
        return f"believes a header: {reply.headers}"
    if reply.status >= 400 and sent.method != "HEAD" and _is_ours(reply):
        error = json.loads(text).get("error", {})
        if not error.get("message"):
            return f"{reply.status} without a message: {text[:200]}"
    return ""


def _is_ours(reply: http.client.HTTPResponse) -> bool:
    """Whether the answer is of the application; the server itself refuses what is no HTTP."""
    return reply.headers.get("x-openstack-request-id") is not None


def _wire(path: str) -> str:
    """A path with what no request line can carry quoted."""
    return "".join(c if "!" <= c <= "~" else "".join(f"%{b:02X}" for b in c.encode()) for c in path)


def main() -> int:
    """The exit status: 1 if an answer was wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, hearth_dev(Path(folder)) as dev:
        wrong = play(prepare(dev), wanted.count, wanted.seed)
    print(*wrong, f"{wanted.count} requests, {len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
