"""python-heatclient's own functional tests, unmodified, against a running Hearth.

They live in the environment of `make tempest`; the commands that they run are those beside pytest.
"""

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import heatclient
import pytest

from tests.clients.dev import Dev
from tests.conftest import lacking
from tests.selection import part_of
from tests.tempest.run import VENV

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
TEMPLATES = Path(heatclient.__file__).parent / "tests" / "functional" / "templates"
SUITE_S = 400
PARTS = 16


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def template_url() -> Iterator[str]:
    """Where the tests' own template is served."""
    handler = partial(Quiet, directory=str(TEMPLATES))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/heat_minimal_hot.yaml"
        server.shutdown()
        thread.join()


def test_each_of_heatclients_functional_tests_passes(dev: Dev, template_url: str):
    if not (VENV / ".installed").exists():
        lacking("the environment of make tempest")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("OS_")},
        "OS_USERNAME": "demo", "OS_PASSWORD": "secret", "OS_AUTH_URL": dev.auth_url,
        "OS_PROJECT_NAME": "demo", "OS_TENANT_NAME": "demo", "OS_REGION_NAME": "RegionOne",
        "OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_ID": "default",
        "OS_IDENTITY_API_VERSION": "3",
        "OS_HEATCLIENT_EXEC_DIR": str(Path(sys.executable).parent), "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    environment.pop("PYTHONPATH", None)
    parts = part_of(range(PARTS), PARTS)
    numbers = map(str, (PARTS, *parts))
    done = subprocess.run(
        [VENV / "bin" / "python", HERE / "functional.py", template_url, *numbers],
        env=environment, capture_output=True, text=True, timeout=SUITE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told) >= 38 * len(parts) // PARTS
    assert {name: words for name, words in told.items() if words is not None} == {}
