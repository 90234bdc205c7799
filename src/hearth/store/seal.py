"""Sealing: values of users are encrypted before they reach a row.

A sealed value is `format byte, length of the key id, key id, nonce (12 bytes), AES-GCM text`. The
key id tells which key opens it, so keys rotate while old rows stay readable. Equality of what is
sealed goes through `fingerprint`, a keyed hash.
"""

import copy
import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = b"\x01"
NONCE_BYTES = 12
KEY_CHARACTERS_MIN = 32  # of a configured key; a shorter one can be guessed

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder().decode


class Unsealable(Exception):
    """A sealed value that none of our keys opens, or that was tampered with."""


class Sealer:
    """Seals with the newest key, opens with any.

    `keys` maps a key id to 32 bytes; the last one given seals. `pepper` keys the fingerprints and
    must never change.
    """

    def __init__(self, keys: Mapping[str, bytes], pepper: bytes) -> None:
        if not keys:
            raise ValueError("at least one key is needed")
        self._ciphers = {key_id.encode(): AESGCM(key) for key_id, key in keys.items()}
        newest = list(self._ciphers)[-1]
        self._prefix = FORMAT + bytes([len(newest)]) + newest
        self._encrypt = self._ciphers[newest].encrypt
        self._pepper = pepper

    def with_pepper(self, pepper: bytes) -> "Sealer":
        """The same with another key of fingerprints."""
        other = copy.copy(self)
        other._pepper = pepper
        return other

    @staticmethod
    def key_id(sealed: bytes) -> str:
        """The id of the key that sealed a value."""
        return sealed[2 : 2 + sealed[1]].decode()

    def is_newest(self, sealed: bytes) -> bool:
        """Whether the newest key sealed a value."""
        return sealed.startswith(self._prefix)

    def seal(self, value: Any) -> bytes:
        """A JSON value, sealed."""
        return self.seal_bytes(_encode(value))

    def unseal(self, sealed: bytes) -> Any:
        """The JSON value. Raises `Unsealable`."""
        return _decode(self.unseal_bytes(sealed))

    def seal_bytes(self, plain: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return self._prefix + nonce + self._encrypt(nonce, plain, None)

    def unseal_bytes(self, sealed: bytes) -> bytes:
        start = 2 + sealed[1]
        cipher = self._ciphers.get(sealed[2:start]) if sealed[:1] == FORMAT else None
        if cipher is None:
            raise Unsealable(f"no key {sealed[2:start]!r}")
        body = start + NONCE_BYTES
        try:
            return cipher.decrypt(sealed[start:body], sealed[body:], None)
        except InvalidTag:
            raise Unsealable("the sealed value was changed, or its key is another one") from None

    def fingerprint(self, value: Any) -> str:
        """Equal for equal values, and tells nothing without the pepper (64 hex digits)."""
        return hmac.digest(self._pepper, _encode(value), "sha256").hex()


def sealer_of(secrets: Sequence[str]) -> Sealer:
    """A sealer from configured keys: the first seals, all open.

    Fingerprints follow from the first until the database tells their key (keyring.py).
    """
    keys = {key_id_of(one): _derive(one, "seal") for one in reversed(secrets)}
    return Sealer(keys, pepper_of(secrets[0]))


def sealer_from_secret(secret: str) -> Sealer:
    """A sealer from one key."""
    return sealer_of([secret])


def key_id_of(secret: str) -> str:
    """The id that stands before what the key sealed."""
    return hashlib.sha256(secret.encode()).hexdigest()[:8]


def pepper_of(secret: str) -> bytes:
    """The key of fingerprints that follows from a configured key."""
    return _derive(secret, "fingerprint")


def keys_in(setting: str) -> tuple[str, ...]:
    """The keys of the setting, separated by commas: the first seals, all open.

    Heat has one key, which may hold a comma: so the whole text is a key as well, and the only one
    where what stands before the comma is too short for one.
    """
    parts = [part.strip() for part in setting.split(",") if part.strip()]
    several = len(parts) > 1 and len(parts[0]) >= KEY_CHARACTERS_MIN
    return (*parts, setting) if several else (setting,)


def _derive(secret: str, purpose: str) -> bytes:
    return hmac.new(secret.encode(), f"hearth {purpose}".encode(), hashlib.sha256).digest()
