"""Sealing: values of users are encrypted before they reach a row.

A sealed value is `format byte, length of the key id, key id, nonce (12 bytes), AES-GCM text`. The
key id tells which key opens it, so keys rotate while old rows stay readable. It opens at the place
alone for which it was sealed, a column and the key of a row: who may write to the database cannot
give a stack the credential of another. Format 1, of earlier releases, knows no places; it still
opens, and `rekey` (keyring.py) brings it up to date. Equality of what is sealed goes through
`fingerprint`, a keyed hash.

In a column of texts a sealed value stands as base64 behind a mark; a text without the mark is an
older release's, or says what every stack says (`PLAIN_TEXTS`).
"""

import binascii
import copy
import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = b"\x02"
FORMAT_WITHOUT_PLACE = b"\x01"
TEXT_MARK = "\x02"
PLAIN_TEXTS = frozenset({"", "state changed"})  # words that tell nothing
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
        """Whether the newest key sealed a value, for its place."""
        return sealed.startswith(self._prefix)

    def seal(self, value: Any, column: str, *key: object) -> bytes:
        """A JSON value, sealed for a column (`table.column`) of the row with that key."""
        return self.seal_bytes(_encode(value), column, *key)

    def unseal(self, sealed: bytes, column: str, *key: object) -> Any:
        """The JSON value. Raises `Unsealable`, also where it was sealed for another place."""
        return _decode(self.unseal_bytes(sealed, column, *key))

    def seal_text(self, text: str, column: str, *key: object) -> str:
        """A text, sealed for a column of texts."""
        if text in PLAIN_TEXTS:
            return text
        sealed = self.seal_bytes(text.encode(), column, *key)
        return TEXT_MARK + binascii.b2a_base64(sealed, newline=False).decode()

    def unseal_text(self, stored: str, column: str, *key: object) -> str:
        """The text, which an older release may have stored as it is. Raises `Unsealable`."""
        if not stored.startswith(TEXT_MARK):
            return stored
        return self.unseal_bytes(_of_text(stored), column, *key).decode()

    def is_newest_text(self, stored: str) -> bool:
        """Whether nothing is to be done about a text when keys change."""
        if not stored.startswith(TEXT_MARK):
            return stored in PLAIN_TEXTS
        return self.is_newest(_of_text(stored))

    def seal_bytes(self, plain: bytes, column: str, *key: object) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return self._prefix + nonce + self._encrypt(nonce, plain, _place(column, key))

    def unseal_bytes(self, sealed: bytes, column: str, *key: object) -> bytes:
        form, start = sealed[:1], 2 + sealed[1]
        cipher = self._ciphers.get(sealed[2:start])
        if cipher is None or form not in (FORMAT, FORMAT_WITHOUT_PLACE):
            raise Unsealable(f"no key {sealed[2:start]!r}")
        body = start + NONCE_BYTES
        place = _place(column, key) if form == FORMAT else None
        try:
            return cipher.decrypt(sealed[start:body], sealed[body:], place)
        except InvalidTag:
            raise Unsealable(
                f"the sealed value of {column} was changed or moved, or its key is another one"
            ) from None

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


def _place(column: str, key: tuple[object, ...]) -> bytes:
    return "/".join((column, *map(str, key))).encode()


def _of_text(stored: str) -> bytes:
    try:
        return binascii.a2b_base64(stored[len(TEXT_MARK) :], strict_mode=True)
    except ValueError:
        raise Unsealable("the sealed text was changed") from None


def _derive(secret: str, purpose: str) -> bytes:
    return hmac.new(secret.encode(), f"hearth {purpose}".encode(), hashlib.sha256).digest()
