"""Two Keystones for the same tests: the embedded one, and a real one where it is installed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcloud.running import Served
from tests.keystone import guide, real
from tests.keystone.identity import Identity
from tests.keystone.site import Site, hearth_serve


@contextlib.contextmanager
def embedded() -> Iterator[Identity]:
    with Served() as running:
        identity = Identity(f"{running.url}/identity/v3")
        guide.follow(identity)
        yield identity


@contextlib.contextmanager
def installed(folder: Path) -> Iterator[Identity]:
    real.installed()
    real.copied(folder)

    with real.running(folder) as url:
        identity = Identity(f"{url}/v3")
        guide.register(identity, "identity", "keystone", identity.url)
        guide.follow(identity)
        yield identity


@pytest.fixture(scope="session")
def keystones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Identity]]:
    """By kind; each is started by the first test that asks for it."""
    with contextlib.ExitStack() as stack:

        class Started(dict[str, Identity]):
            def __missing__(self, kind: str) -> Identity:
                folder = tmp_path_factory.mktemp("keystone")
                made = embedded() if kind == "embedded" else installed(folder)
                self[kind] = stack.enter_context(made)
                return self[kind]

        yield Started()


@pytest.fixture(scope="module", params=["embedded", "real"])
def identity(request: pytest.FixtureRequest, keystones: dict[str, Identity]) -> Identity:
    return keystones[request.param]


@pytest.fixture(scope="module")
def site(identity: Identity, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with hearth_serve(identity, tmp_path_factory.mktemp("hearth")) as running:
        yield running
