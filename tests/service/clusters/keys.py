"""RSA keys of clusters for tests: to make the keys of a cluster takes longer than most tests."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from hearth.service.clusters import x509

MADE_MAX = 48  # more than one test asks for: no key comes twice in it

_made: list[Any] = []
_given = 0
_lock = threading.Lock()


def _private_key(public_exponent: int, key_size: int) -> Any:
    """Return a new key, or again the one that was given the longest time ago."""
    global _given
    if key_size != 2048:
        return rsa.generate_private_key(public_exponent, key_size)
    with _lock:
        if len(_made) < MADE_MAX:
            _made.append(rsa.generate_private_key(public_exponent, key_size))
        key = _made[_given % MADE_MAX]
        _given += 1
        return key


@pytest.fixture(autouse=True)
def known_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters get keys of earlier tests."""
    instead = {**vars(rsa), "generate_private_key": _private_key}
    monkeypatch.setattr(x509, "rsa", SimpleNamespace(**instead))
