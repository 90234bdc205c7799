"""What the store imports: the modules of other databases take megabytes in each process."""

import subprocess
import sys

CODE = """
import pkgutil, sys
import hearth.store
for module in pkgutil.iter_modules(hearth.store.__path__):
    if module.name not in ("migrate", "migrations"):
        __import__(f"hearth.store.{module.name}")
print(*sorted(name for name in sys.modules if name.startswith("sqlalchemy.dialects.")))
"""


def test_no_database_is_imported_before_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
