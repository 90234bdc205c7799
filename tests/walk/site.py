"""A `hearth serve` whose APIs have ports of their own, with a policy file.

Only administrators may see hidden values there.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from hearth.process.http.served import CLUSTERS
from tests.clients.dev import Dev
from tests.crash.processes import Cloud, Hearth, free_port
from tests.walk.ground import Ground, prepare

POLICY = '{"stacks:show_hidden_values": "role:admin"}'
CFN = "/cfn"


@dataclass(frozen=True)
class Site:
    """People and stacks there; `apart` are the addresses of the APIs with ports of their own, by
    the path of the same API at the main address."""

    ground: Ground
    apart: dict[str, str]


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Site]:
    with contextlib.ExitStack() as ends:
        port = free_port()
        cloud = Cloud(orchestration_url=f"http://127.0.0.1:{port}/v1/$(project_id)s")
        ends.callback(cloud.close)
        hearth = Hearth(folder, cloud, port=port)
        apart = {prefix: free_port() for prefix in (CFN, CLUSTERS)}
        (folder / "policy.json").write_text(POLICY)
        hearth.configure("oslo_policy", policy_file=str(folder / "policy.json"))
        hearth.configure("heat_api_cfn", bind_port=str(apart[CFN]))
        hearth.configure("hearth", clusters="true")
        hearth.configure("api", host="127.0.0.1", port=str(apart[CLUSTERS]))
        ends.callback(hearth.kill)
        hearth.start()
        dev = cast(Dev, SimpleNamespace(url=hearth.url, auth_url=cloud.auth_url))
        urls = {prefix: f"http://127.0.0.1:{port}" for prefix, port in apart.items()}
        yield Site(prepare(dev), urls)
        hearth.close()
