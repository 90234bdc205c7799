"""`hearth apply`, `plan` and `destroy` from process start to exit, beside Terraform if it is there.

The limits are 1/20, 1/2 and 1/20 of what Terraform 1.11 needs for as many resources without a
provider; without Terraform, of what it needed on a machine of this kind.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import templates
from benchmarks.figure import Figure
from benchmarks.served import HEARTH, PASSWORD, Served, served

RUNS = 3
COUNT = 1000
KNOWN_S = {"apply": 17.0, "plan": 1.5, "destroy": 24.0}  # Terraform 1.11, 1,000 resources
FASTER = {"apply": 20, "plan": 2, "destroy": 20}
SERVERS = 500
SLOWER_MAX = 1.1  # an apply beside the service
DRIFT_CALLS_MAX = 40
CLOUDS = """\
clouds:
  bench:
    auth: {{auth_url: {auth_url}, username: demo, password: {password}, project_name: demo,
           user_domain_name: Default, project_domain_name: Default}}
    region_name: RegionOne
"""


def commanding(quick: bool) -> Iterator[Figure]:
    """Values without a cloud, then servers on the cloud in a box, by the service as well."""
    tool = shutil.which("terraform") or shutil.which("tofu")
    beside, own = _beside(tool) if tool else (KNOWN_S, _commands(templates.wide(COUNT)))
    for verb, seconds in own.items():
        note = f"{beside[verb] / seconds:.1f} times as fast as Terraform: {beside[verb]:.2f} s"
        limit = beside[verb] / FASTER[verb]
        yield Figure(f"hearth {verb}, {COUNT} resources", seconds, "s", limit, note)
    shapes = {"a chain of 200": templates.chain(200)}
    if not quick:
        shapes["5000 resources"] = templates.wide(5000)
    for name, text in shapes.items():
        for verb, seconds in _commands(text).items():
            yield Figure(f"hearth {verb}, {name}", seconds, "s")
    if not quick:
        yield from _servers()


def _run(folder: Path, *arguments: str, cloud: Mapping[str, str] | None = None) -> float:
    """Seconds of a command; a plan with changes is no error."""
    start = time.perf_counter()
    done = subprocess.run(
        [str(HEARTH), *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env=_environment(cloud or {}),
    )  # fmt: skip
    took = time.perf_counter() - start
    assert done.returncode in (0, 2), done.stderr
    return took


def _environment(cloud: Mapping[str, str]) -> dict[str, str]:
    without = ("OS_CLOUD", "PYTHONDONTWRITEBYTECODE")
    return {**{k: v for k, v in os.environ.items() if k not in without}, **cloud}


def _apply(folder: Path, template: str, cloud: Mapping[str, str]) -> tuple[float, float]:
    """Seconds of an apply, from process start to exit and from its plan to the end of the stack."""
    times = {}
    start = time.perf_counter()
    with subprocess.Popen(
        [str(HEARTH), "apply", template, "--yes", "--json"], cwd=folder, text=True,
        stdout=subprocess.PIPE, env=_environment(cloud),
    ) as running:  # fmt: skip
        assert running.stdout is not None
        for line in running.stdout:
            times[json.loads(line)["type"]] = time.perf_counter()
    took = time.perf_counter() - start
    assert running.returncode == 0
    return took, times["end"] - times["plan"]


def _beside(tool: str) -> tuple[dict[str, float], dict[str, float]]:
    """The medians of Terraform and of Hearth, in turns, as a machine is not always as fast."""
    theirs, ours = [], []
    for _ in range(RUNS):
        theirs.append(_terraform(tool, COUNT))
        ours.append(_commands(templates.wide(COUNT)))
    return _medians(theirs), _medians(ours)


def _medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {verb: statistics.median(one[verb] for one in runs) for verb in KNOWN_S}


def _commands(text: str) -> dict[str, float]:
    """The median of each command's seconds."""
    runs = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t.yaml").write_text(text)
        for _ in range(RUNS):
            apply = _run(folder, "apply", "t.yaml", "--yes")
            plan = _run(folder, "plan", "t.yaml")
            destroy = _run(folder, "destroy", "t", "--yes")
            runs.append({"apply": apply, "plan": plan, "destroy": destroy})
    return _medians(runs)


def _terraform(tool: str, count: int) -> dict[str, float]:
    """Seconds of Terraform for as many resources."""
    lines = [f'resource "terraform_data" "r{i}" {{\n  input = "{i}"\n}}\n' for i in range(count)]
    spent = {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.tf").write_text("".join(lines))
        for verb in ("init", "apply", "plan", "destroy"):
            sure = ["-auto-approve"] if verb in ("apply", "destroy") else []
            start = time.perf_counter()
            subprocess.run([tool, verb, "-input=false", *sure], cwd=folder, capture_output=True,
                           check=True)  # fmt: skip
            spent[verb] = time.perf_counter() - start
    return spent


def _servers() -> Iterator[Figure]:
    """The same servers by the service and by a command."""
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as both:
        folder = Path(name)
        both.stack("network", templates.network()).create()
        text = templates.servers(SERVERS)
        by_service = both.stack("by-service", text).create()
        auth_url = f"{both.cloud_url}/identity/v3"
        (folder / "clouds.yaml").write_text(CLOUDS.format(auth_url=auth_url, password=PASSWORD))
        (folder / "s.yaml").write_text(text)
        cloud = {"OS_CLIENT_CONFIG_FILE": str(folder / "clouds.yaml"), "OS_CLOUD": "bench"}
        took, made = _apply(folder, "s.yaml", cloud)
        yield Figure(f"hearth apply, {SERVERS} servers, with start and plan", took, "s")
        most, note = by_service * SLOWER_MAX, f"the service: {by_service:.2f} s"
        yield Figure(f"hearth apply, {SERVERS} servers, after the plan", made, "s", most, note)
        yield _drift(both, folder, cloud)


def _drift(both: Served, folder: Path, cloud: Mapping[str, str]) -> Figure:
    both.mark()
    took = _run(folder, "drift", "s", cloud=cloud)
    calls = [one for one in both.ledger()["calls"] if "/identity" not in one["path"]]
    name = f"hearth drift, {SERVERS} servers: calls"
    return Figure(name, len(calls), "", DRIFT_CALLS_MAX, f"{took:.2f} s")
