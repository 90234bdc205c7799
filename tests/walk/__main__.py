"""`python -m tests.walk [routes|personas|strangers]`: walk over the API and print the tables.

With `--write` the exchanges of the routes become those of the API reference.
"""

import sys
import tempfile
from pathlib import Path

from tests.clients.dev import hearth_dev
from tests.walk import exchanges, personas, routes, strangers
from tests.walk.ground import prepare

WALKS = {"routes": routes.walk, "personas": personas.walk, "strangers": strangers.walk}


def main(names: list[str], *, write: bool = False) -> int:
    """The exit status: 1 if anything is not as it should be."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder, hearth_dev(Path(folder)) as dev:
        ground = prepare(dev)
        for name in names or WALKS:
            shown, wrong, *walked = WALKS[name](ground)
            print(f"{shown}\n\n{name}: {len(shown.splitlines()) - 1} rows, {len(wrong)} wrong")
            for words in wrong:
                print(f"  {words}")
            failed += len(wrong)
            if write and name == "routes":
                exchanges.write(*walked)
    return 1 if failed else 0


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--write"]
    sys.exit(main(names, write="--write" in sys.argv))
