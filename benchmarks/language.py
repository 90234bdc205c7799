"""The template language: text to program, the check before any value, values, and `hearth lint`."""

import os
import statistics
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import templates
from benchmarks.figure import Figure, median_s
from benchmarks.served import HEARTH
from hearth.authoring.types import author_catalog
from hearth.resources.registry import default_catalog
from hearth.template import Environment, Limits, Module, Node, Program, compile_template, load
from hearth.template.check import examine
from hearth.template.compile import draft_template

LIMITS = Limits(max_resources_per_stack=-1, max_template_size=100_000_000)
SMALL = templates.referring(10)


def language(quick: bool) -> Iterator[Figure]:
    """Templates with cross references: each step by itself."""
    sizes = (100, 1000, 10_000)[: 2 if quick else 3]
    budgets = {1000: 0.35, 10_000: 3.5}
    for count in sizes:
        text = templates.referring(count)
        runs = 3 if count > 1000 else 7
        loaded = median_s(lambda text=text: load(text, limits=LIMITS), runs)
        yield Figure(f"load {count} with references", loaded, "s")
        whole = median_s(lambda text=text: _program(_module(text)), runs)
        yield Figure(f"load, check, specialise {count}", whole, "s", budgets.get(count))
        drafted = _draft(load(text, limits=LIMITS))
        examined = median_s(lambda drafted=drafted: examine(drafted), runs)
        yield Figure(f"examine {count} before any value", examined, "s")
    yield Figure("properties of a resource: median", _evaluation_us(), "us", 50)
    for count in sizes[1:]:
        yield Figure(f"memory per resource, module of {count}", _bytes_each(count) / 1024, "KiB")
    yield Figure("hearth lint of 10 resources, from process start", _lint_s(), "s", 0.25)


def _module(text: str) -> Module:
    return compile_template(
        text, files={}, environment=Environment(), catalog=default_catalog(), limits=LIMITS
    )


def _draft(root: Node) -> Module:
    return draft_template(
        root, files={}, parsed={}, environment=Environment(), catalog=author_catalog(), file="t"
    )


def _program(module: Module) -> Program:
    return module.specialise({}, stack_name="s", stack_id="i", project_id="p")


class _Made:
    """A world in which every resource is there."""

    facade = None

    def reference(self, name: str) -> Any:
        return name

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        return f"{name} {attribute}"


def _evaluation_us() -> float:
    program, world = _program(_module(templates.referring(1000))), _Made()
    taken = []
    for _ in range(5):
        for name, definition in program.resources.items():
            if name.startswith("v"):  # those that read others, so that nothing is kept
                start = time.perf_counter()
                definition.evaluate(world)
                taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1e6


def _bytes_each(count: int) -> float:
    text = templates.referring(count)
    tracemalloc.start()
    try:
        kept = _program(_module(text))
        return tracemalloc.get_traced_memory()[0] / len(kept.resources)
    finally:
        tracemalloc.stop()


def _lint_s() -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.yaml")
        path.write_text(SMALL)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder

        def run() -> None:
            subprocess.run([HEARTH, "lint", path], capture_output=True, check=True, env=environment)

        run()
        return median_s(run, 9)
