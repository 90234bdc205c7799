"""Sealing: values of users are encrypted before they reach a row.

A sealed value is `format byte, length of the key id, key id, nonce (12 bytes), AES-GCM text`. The
key id tells which key opens it, so keys rotate while old rows stay readable. Equality of what is
sealed goes through `fingerprint`, a keyed hash.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = b"\x01"
NONCE_BYTES = 12

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


def sealer_from_secret(secret: str, older: Mapping[str, str] | None = None) -> Sealer:
    """A sealer from the configured secret; `older` are secrets whose rows must stay readable."""
    keys = {key_id: _derive(text, "seal") for key_id, text in (older or {}).items()}
    newest = hashlib.sha256(secret.encode()).hexdigest()[:8]
    keys[newest] = _derive(secret, "seal")
    first = next(iter((older or {}).values()), secret)
    return Sealer(keys, _derive(first, "fingerprint"))


def _derive(secret: str, purpose: str) -> bytes:
    return hmac.new(secret.encode(), f"hearth {purpose}".encode(), hashlib.sha256).digest()
