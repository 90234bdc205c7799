"""What an editor waits for: answers of `hearth lsp` about 5,000 lines, right after an edit."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.editor import Client
from benchmarks.figure import Figure, p95

LINES = 5000
BUDGET_S = 0.05
QUIET_S = 0.31
"""Seconds without an edit after which the server has begun to judge."""

CHILD = (
    "heat_template_version: 2018-08-31\nparameters:\n  size: {type: number}\n"
    "outputs:\n  address: {value: 1}\n"
)
SERVER = """\
  s{i}:
    type: OS::Nova::Server
    depends_on: [s{before}]
    properties:
      name: {{get_param: p{p}}}
      flavor: m1.small
      image: cirros
      networks:
        - network: {{get_resource: net}}
          fixed_ip: {{get_attr: [s{before}, first_address]}}
      user_data_format: RAW
      user_data:
        str_replace:
          template: |
            #!/bin/sh
            echo NAME
          params:
            NAME: {{get_param: p{p}}}
"""


def template() -> str:
    """A template of so many lines: parameters, servers that read each other, outputs."""
    head = ["heat_template_version: 2018-08-31\n", "parameters:\n"]
    head += [f"  p{i}:\n    type: string\n    default: x\n" for i in range(200)]
    body = ["resources:\n", "  net: {type: OS::Neutron::Net}\n"]
    body.append("  child: {type: child.yaml, properties: {size: 1}}\n")
    body.append("  s0: {type: OS::Nova::Server, properties: {flavor: m1.small}}\n")
    tail = ["outputs:\n"]
    tail += [f"  o{i}:\n    value: {{get_attr: [s{i}, addresses]}}\n" for i in range(50)]
    lines = sum(text.count("\n") for text in (*head, *body, *tail))
    each = SERVER.count("\n")
    count = (LINES - lines) // each
    body += [SERVER.format(i=i, before=i - 1, p=i % 200) for i in range(1, count + 1)]
    return "".join((*head, *body, *tail))


class Desk:
    """One editor with the template open, and another one that is only there to be judged."""

    def __init__(self, folder: Path, client: Client) -> None:
        self.client = client
        self.text = template()
        self.lines = self.text.splitlines()
        self.uri = (folder / "main.yaml").as_uri()
        self.other = (folder / "other.yaml").as_uri()
        self.versions = {self.uri: 1, self.other: 1}
        (folder / "child.yaml").write_text(CHILD)
        client.open(self.uri, self.text)
        client.diagnostics(self.uri, 1)

    def place(self, words: str, turn: int, plus: int = 0) -> tuple[int, int]:
        """Line and column behind some words: another one of all there are each turn."""
        found = [number for number, line in enumerate(self.lines) if words in line]
        line = found[turn * 37 % len(found)]
        return line, self.lines[line].index(words) + len(words) + plus

    def edit(self, turn: int) -> None:
        """Type a letter into the name of an image somewhere."""
        line, column = self.place("image: ", turn)
        at = {"line": line, "character": column}
        self.versions[self.uri] += 1
        change = {"range": {"start": at, "end": at}, "text": "x"}
        self.client.change(self.uri, self.versions[self.uri], change)

    def judge_other(self) -> int:
        """Let the server judge as many lines elsewhere; the version to wait for."""
        self.versions[self.other] += 1
        version = self.versions[self.other]
        self.client.change(self.other, version, {"text": self.text + "#" * version})
        time.sleep(QUIET_S)
        return version

    def questions(self) -> dict[str, Callable[[int], Any]]:
        """What is asked, by name; each gets the number of the turn."""
        ask, uri = self.client.at, self.uri

        def about(feature: str, words: str, plus: int = 0, **more: Any) -> Callable[[int], Any]:
            return lambda turn: ask(feature, uri, *self.place(words, turn, plus), **more)

        declared = {"includeDeclaration": True}
        document = {"textDocument": {"uri": uri}}
        return {
            "completion of a type": about("completion", "    type: OS::"),
            "completion of a property": about("completion", "      ima"),
            "completion of a resource's name": about("completion", "[s", -1),
            "completion of an attribute": about("completion", ", first_a"),
            "hover": about("hover", "      fla"),
            "definition": about("definition", "{get_param: "),
            "references": about("references", "{get_resource: ", context=declared),
            "rename": about("rename", "{get_param: ", newName="another"),
            "symbols": lambda turn: self.client.ask("textDocument/documentSymbol", document),
        }


def editing(quick: bool) -> Iterator[Figure]:
    """Each question many times, then each while something else is judged."""
    times = 20 if quick else 100
    with tempfile.TemporaryDirectory() as folder, Client(Path(folder)) as client:
        desk = Desk(Path(folder), client)
        for name, question in desk.questions().items():
            yield _figure(name, "", [_asked_s(desk, question, turn) for turn in range(times)])
        client.open(desk.other, desk.text)
        client.diagnostics(desk.other, 1)
        for name, question in desk.questions().items():
            yield _figure(name, " while judging", _asked_while_judging_s(desk, question, times))
        judged = [_judged_s(desk) for _ in range(5)]
    yield Figure(f"{LINES} lines, from an edit to what is wrong", statistics.median(judged), "s")


def _figure(name: str, when: str, taken: list[float]) -> Figure:
    note = f"median {statistics.median(taken) * 1000:.1f} ms, {len(taken)} times"
    return Figure(f"{name}, {LINES} lines{when}, 95th", p95(taken), "s", BUDGET_S, note)


def _asked_s(desk: Desk, question: Callable[[int], Any], turn: int) -> float:
    """Seconds from an edit to the answer."""
    start = time.perf_counter()
    desk.edit(turn)
    answer = question(turn)
    taken = time.perf_counter() - start
    assert answer, "the server has nothing to say"
    return taken


def _judged_s(desk: Desk) -> float:
    """Seconds from an edit until it is told what is wrong, the time without edits among them."""
    start = time.perf_counter()
    version = desk.judge_other()
    desk.client.diagnostics(desk.other, version)
    return time.perf_counter() - start


def _asked_while_judging_s(desk: Desk, question: Callable[[int], Any], times: int) -> list[float]:
    """The same, counting only what was answered before the judge was."""
    taken: list[float] = []
    turn = 0
    while len(taken) < times:
        version = desk.judge_other()
        while not desk.client.kept("textDocument/publishDiagnostics", desk.other):
            one = _asked_s(desk, question, turn)
            turn += 1
            if not desk.client.kept("textDocument/publishDiagnostics", desk.other):
                taken.append(one)
        desk.client.diagnostics(desk.other, version)
    return taken[:times]
