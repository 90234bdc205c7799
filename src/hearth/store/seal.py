"""Encryption of user data before it is stored in a row.

An encrypted value is `format byte, length of the key id, key id, nonce (12 bytes), AES-GCM text`.
The key id names the key, so keys can be rotated while old rows stay readable. A value can only be
decrypted for the place for which it was encrypted: a column and the key of a row. So a person with
access to the database cannot give a stack the credential of another one. To compare encrypted
values, compare their `fingerprint`, a keyed hash.

In a text column an encrypted value is base64 with a prefix. Only `PLAIN_TEXTS`, which contain no
user data, have no prefix.
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
TEXT_MARK = "\x02"
PLAIN_TEXTS = frozenset({"", "state changed"})  # texts that reveal nothing
NONCE_BYTES = 12
KEY_CHARACTERS_MIN = 32  # of a configured key; a shorter one can be guessed

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder().decode


class Unsealable(Exception):
    """A value cannot be decrypted; the message gives the reason.

    No configured key fits, the value was changed or moved, or a newer release wrote it.
    """


class Sealer:
    """Encrypts with the newest key and decrypts with any key.

    `keys` maps a key id to 32 bytes; the last key encrypts. `pepper` is the key of the fingerprints
    and must never change.
    """

    def __init__(self, keys: Mapping[str, bytes], pepper: bytes) -> None:
        if not keys:
            raise ValueError("no encryption key is configured: at least one is needed")
        self._ciphers = {key_id.encode(): AESGCM(key) for key_id, key in keys.items()}
        newest = list(self._ciphers)[-1]
        self._prefix = FORMAT + bytes([len(newest)]) + newest
        self._encrypt = self._ciphers[newest].encrypt
        self._pepper = pepper

    def with_pepper(self, pepper: bytes) -> "Sealer":
        """Return a sealer with the same keys and another key for fingerprints."""
        sealer = copy.copy(self)
        sealer._pepper = pepper
        return sealer

    @staticmethod
    def key_id(sealed: bytes) -> str:
        """Return the id of the key that encrypted a value."""
        return sealed[2 : 2 + sealed[1]].decode()

    def is_newest(self, sealed: bytes) -> bool:
        """Return whether a value is encrypted with the newest key, in the current format."""
        return sealed.startswith(self._prefix)

    def seal(self, value: Any, column: str, *key: object) -> bytes:
        """Encrypt a JSON value for a column (`table.column`) of the row with this key."""
        return self.seal_bytes(_encode(value), column, *key)

    def unseal(self, sealed: bytes, column: str, *key: object) -> Any:
        """Decrypt a value for its column and row key. Raises Unsealable.

        It is also raised if the value was encrypted for another column or row.
        """
        return _decode(self.unseal_bytes(sealed, column, *key))

    def seal_text(self, text: str, column: str, *key: object) -> str:
        """Return a text as a text column stores it: encrypted, or unchanged if it is in
        `PLAIN_TEXTS`.
        """
        if text in PLAIN_TEXTS:
            return text
        sealed = self.seal_bytes(text.encode(), column, *key)
        return TEXT_MARK + binascii.b2a_base64(sealed, newline=False).decode()

    def unseal_text(self, sealed: str, column: str, *key: object) -> str:
        """Decrypt a text from a text column; one of `PLAIN_TEXTS` is returned as it is.

        Raises Unsealable.
        """
        if sealed in PLAIN_TEXTS:
            return sealed
        if not sealed.startswith(TEXT_MARK):
            raise Unsealable(f"the text of {column} is not encrypted: it was changed")
        return self.unseal_bytes(_of_text(sealed), column, *key).decode()

    def is_newest_text(self, text: str) -> bool:
        """Return whether a stored text needs no new encryption.

        It is encrypted with the newest key, or it is one of `PLAIN_TEXTS`.
        """
        if not text.startswith(TEXT_MARK):
            return text in PLAIN_TEXTS
        return self.is_newest(_of_text(text))

    def seal_bytes(self, plain: bytes, column: str, *key: object) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return self._prefix + nonce + self._encrypt(nonce, plain, _place(column, key))

    def unseal_bytes(self, sealed: bytes, column: str, *key: object) -> bytes:
        form, start = sealed[:1], 2 + sealed[1]
        if form != FORMAT:
            raise Unsealable(
                f"the encrypted value of {column} has the format {form.hex()}, which this release "
                "does not know: was it written by a newer release?"
            )
        cipher = self._ciphers.get(sealed[2:start])
        if cipher is None:
            raise Unsealable(
                f"no configured key has the id {sealed[2:start].decode(errors='replace')}: "
                "add the key that encrypted this value"
            )
        body = start + NONCE_BYTES
        try:
            return cipher.decrypt(sealed[start:body], sealed[body:], _place(column, key))
        except InvalidTag:
            raise Unsealable(
                f"the encrypted value of {column} was changed or moved, or another key encrypted it"
            ) from None

    def fingerprint(self, value: Any) -> str:
        """Return a keyed hash of a value, as 64 hexadecimal digits.

        Equal values have equal hashes. Without the key, nothing about the value can be found out.
        """
        return hmac.digest(self._pepper, _encode(value), "sha256").hex()


def sealer_of(secrets: Sequence[str]) -> Sealer:
    """Return a sealer with the configured keys: the first key encrypts, all keys decrypt.

    Fingerprints use a key derived from the first key until `keyring.unlock` reads theirs.
    """
    keys = {key_id_of(secret): _derive(secret, "seal") for secret in reversed(secrets)}
    return Sealer(keys, pepper_of(secrets[0]))


def sealer_from_secret(secret: str) -> Sealer:
    """Return a sealer with a single key."""
    return sealer_of([secret])


def key_id_of(secret: str) -> str:
    """Return the id of a key, which is stored with each value that the key encrypted."""
    return hashlib.sha256(secret.encode()).hexdigest()[:8]


def pepper_of(secret: str) -> bytes:
    """Return a key for fingerprints, derived from a configured key."""
    return _derive(secret, "fingerprint")


def keys_in(setting: str) -> tuple[str, ...]:
    """Return the keys in the value of the option `auth_encryption_key`: the first one encrypts, all
    of them decrypt.

    The keys are separated by commas. Heat has a single key, which may contain a comma. So the whole
    text also counts as a key. It is the only key if the part before the first comma is too short
    for a key.
    """
    parts = [part.strip() for part in setting.split(",") if part.strip()]
    several = len(parts) > 1 and len(parts[0]) >= KEY_CHARACTERS_MIN
    return (*parts, setting) if several else (setting,)


def _place(column: str, key: tuple[object, ...]) -> bytes:
    return "/".join((column, *map(str, key))).encode()


def _of_text(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text[len(TEXT_MARK) :], strict_mode=True)
    except ValueError:
        raise Unsealable("an encrypted text is not valid base64: it was changed") from None


def _derive(secret: str, purpose: str) -> bytes:
    return hmac.new(secret.encode(), f"hearth {purpose}".encode(), hashlib.sha256).digest()
