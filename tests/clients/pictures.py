"""Draws the pictures of terminals in the documentation from what the commands really print.

python -m tests.clients.pictures [FOLDER]
"""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.clients.dev import HEARTH, Dev, hearth_dev
from tests.clients.pages import DOCS

WIDTH = 84
CONTROL = re.compile(r"\x1b\[(\?25[lh]|2K|1A)|\r")
DRAWN_OVER = ("IN_PROGRESS", "\N{BOX DRAWINGS LIGHT UP AND RIGHT}", " of ",
              "\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT}")  # fmt: skip
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture loads nothing
TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  flavor: {type: string, default: m1.tiny}
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
  server:
    type: OS::Nova::Server
    depends_on: subnet
    properties:
      image: cirros
      flavor: {get_param: flavor}
      networks: [{network: {get_resource: net}}]
  volume: {type: OS::Cinder::Volume, properties: {size: 1}}
outputs:
  address: {value: {get_attr: [server, first_address]}}
"""
COMMANDS = (
    ("apply", "web.yaml", "--yes"),
    ("plan", "web.yaml", "--parameter", "flavor=m1.small"),
    ("graph", "web"),
)


def drawn(dev: Dev, folder: Path) -> str:
    """The picture of a terminal in which the commands have run, as SVG."""
    (folder / "web.yaml").write_text(TEMPLATE)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for command in COMMANDS:
        console.print(f"[bold]$ hearth {' '.join(command)}")
        done = subprocess.run(
            ["script", "-qec", " ".join([*HEARTH, *command]), "/dev/null"],
            cwd=folder, capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, **dev.environment, "OS_CLOUD": "hearth", "COLUMNS": str(WIDTH)},
        )  # fmt: skip
        console.print(Text.from_ansi(settled(done.stdout)))
    return FONT.sub("", console.export_svg(title="hearth"))


def settled(printed: str) -> str:
    """What remains on a terminal: without the lines that a live display has drawn over."""
    found = []
    for line in printed.replace("\r\n", "\n").split("\n"):
        words = CONTROL.sub("", line)
        if not any(mark in words for mark in DRAWN_OVER) and (words or not CONTROL.search(line)):
            found.append(words)
    return "\n".join(found).strip()


def main() -> int:
    """Write the pictures to the folder of the documentation, or to the one that is given."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "pictures"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (home := Path(folder) / "home").mkdir()
        with hearth_dev(Path(folder) / "dev") as dev:
            (target / "apply.svg").write_text(drawn(dev, home))
    return 0


if __name__ == "__main__":
    sys.exit(main())
