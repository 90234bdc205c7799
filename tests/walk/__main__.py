"""`python -m tests.walk [NAME…]`: walk over the APIs and print the tables.

The names are routes, personas, strangers, credentials, secrets and clusters.
With `--write` the exchanges of the routes become those of the API reference.
"""

import sys
import tempfile
from pathlib import Path

from tests.clients.dev import hearth_dev
from tests.walk import clusters, credentials, exchanges, personas, routes, secrets, strangers
from tests.walk.ground import prepare

WALKS = {"routes": routes.walk, "personas": personas.walk, "strangers": strangers.walk,
         "credentials": credentials.walk, "secrets": secrets.walk}  # fmt: skip
CLUSTERS = "clusters"


def main(names: list[str], *, write: bool = False) -> int:
    """The exit status: 1 if anything is not as it should be."""
    failed = 0
    wanted = names or [*WALKS, CLUSTERS]
    if main_api := [name for name in wanted if name != CLUSTERS]:
        with tempfile.TemporaryDirectory() as folder, hearth_dev(Path(folder)) as dev:
            ground = prepare(dev)
            for name in main_api:
                shown, wrong, *walked = WALKS[name](ground)
                failed += _report(name, shown, wrong)
                if write and name == "routes":
                    exchanges.write(*walked)
    if CLUSTERS in wanted:
        with tempfile.TemporaryDirectory() as folder:
            failed += _report(CLUSTERS, *clusters.walk(Path(folder)))
    return 1 if failed else 0


def _report(name: str, shown: str, wrong: list[str]) -> int:
    """Print a walk; return how much is wrong."""
    print(f"{shown}\n\n{name}: {len(shown.splitlines()) - 1} rows, {len(wrong)} wrong")
    for words in wrong:
        print(f"  {words}")
    return len(wrong)


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--write"]
    sys.exit(main(names, write="--write" in sys.argv))
