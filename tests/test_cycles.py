"""No package's modules import each other in a cycle.

The graph has every import: at the top of a module, inside a function, and under `TYPE_CHECKING`. A
name that is only needed for a type still has to be understood before the module that names it. To
import a module also imports the packages that it is in, unless the importer is in them as well.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp
import pytest

Graph = Mapping[str, frozenset[str]]

ROOT = Path(__file__).resolve().parents[1]
ALONE = {"agent"}
"""Packages that import nothing of Hearth, and that nothing of Hearth imports."""
PACKAGES = sorted(f"hearth.{path.parent.name}" for path in ROOT.glob("src/hearth/*/__init__.py"))
OTHERS = ("hearth_devcloud", "tests.simulator")


@pytest.fixture(scope="module")
def imports() -> Graph:
    return imports_of("hearth", *{name.split(".")[0] for name in OTHERS})


@pytest.mark.parametrize("package", [*PACKAGES, *OTHERS])
def test_no_modules_import_each_other_in_a_cycle(imports: Graph, package: str) -> None:
    within = within_package(imports, package)
    assert within, f"there is no package {package}"
    knots = [" ".join(sorted(cycle)) for cycle in cycles(within)]
    assert not knots, "modules that import each other in a cycle:\n" + "\n".join(knots)


def test_only_the_index_of_the_resource_types_names_modules_in_strings() -> None:
    """An import by a string is an arrow that neither these tests nor the contracts see."""
    words = ("import_module", "__import__", "importlib.util")
    importing = {
        str(path.relative_to(ROOT))
        for folder in ("src/hearth", "packages/hearth-devcloud/src")
        for path in ROOT.glob(f"{folder}/**/*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    }
    assert importing == {"src/hearth/resources/registry.py"}


def test_every_package_has_a_row_among_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contracts["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = {name.split(".")[0] for row in layers for name in re.split(r"[ |:]+", row)}
    assert {f"hearth.{name}" for name in rows | ALONE} == set(PACKAGES)


def test_an_import_for_types_and_one_in_a_function_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "knotted"
    (package / "inner").mkdir(parents=True)
    for name, text in {
        "__init__": "",
        "types": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import caller\n",
        "caller": "def call():\n    from knotted.inner.deep import work\n    work()\n",
        "inner/__init__": "",
        "inner/deep": "from knotted.types import Any\n\ndef work(): pass\n",
        "user": "import knotted.types\n",
    }.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    graph = imports_of("knotted")
    knot = {"knotted.types", "knotted.caller", "knotted.inner.deep"}
    assert cycles(graph) == [knot]
    assert cycles(within_package(graph, "knotted.inner")) == []


def test_a_package_counts_that_runs_with_the_module_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tied" / "inner").mkdir(parents=True)
    for name, text in {
        "__init__": "",
        "base": "from tied.inner.leaf import LEAF\n",
        "inner/__init__": "from tied.base import LEAF\n",
        "inner/leaf": "LEAF = 1\n",
    }.items():
        (tmp_path / "tied" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert cycles(imports_of("tied")) == [{"tied.base", "tied.inner"}]


def imports_of(*packages: str) -> Graph:
    """Return the modules that each module of importable packages imports."""
    graph = grimp.build_graph(*packages, cache_dir=None)
    imported = {m: graph.find_modules_directly_imported_by(m) for m in graph.modules}
    return {
        m: frozenset(p for name in names for p in _run(m, name)) for m, names in imported.items()
    }


def _run(importer: str, module: str) -> Iterator[str]:
    """Yield a module and the packages around it that do not contain the importer."""
    while module and not f"{importer}.".startswith(f"{module}."):
        yield module
        module = module.rpartition(".")[0]


def within_package(graph: Graph, package: str) -> Graph:
    """Return the part of the graph that lies in a package."""
    names = {m for m in graph if m == package or m.startswith(f"{package}.")}
    return {m: graph[m] & names for m in names}


def cycles(graph: Graph) -> list[set[str]]:
    """Return the strongly connected components of two modules or more, the largest first."""
    order: list[str] = []
    seen: set[str] = set()
    for module in sorted(graph):
        order += _reach(graph, module, seen)
    importers: dict[str, set[str]] = {module: set() for module in graph}
    for module, imported in graph.items():
        for name in imported:
            importers[name].add(module)
    found: list[set[str]] = []
    seen = set()
    for module in reversed(order):
        component = set(_reach(importers, module, seen))
        if len(component) > 1:
            found.append(component)
    return sorted(found, key=len, reverse=True)


def _reach(graph: Mapping[str, frozenset[str] | set[str]], start: str, seen: set[str]) -> list[str]:
    """Return the modules behind `start` that are not in `seen`, the furthest first; mark them."""
    if start in seen:
        return []
    seen.add(start)
    order: list[str] = []
    stack: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(graph[start])))]
    while stack:
        module, rest = stack[-1]
        for name in rest:
            if name not in seen:
                seen.add(name)
                stack.append((name, iter(sorted(graph[name]))))
                break
        else:
            order.append(module)
            stack.pop()
    return order


if __name__ == "__main__":  # python -m tests.test_cycles hearth.store: the cycles of packages
    everything = imports_of("hearth", "hearth_devcloud", "tests")
    for argument in sys.argv[1:] or (*PACKAGES, *OTHERS):
        knots = cycles(within_package(everything, argument))
        print(f"{argument}: {len(knots)} cycles")
        for one in knots:
            print(f"  {len(one)} modules: {', '.join(sorted(one))}")
