"""Sealing."""

import re

import pytest

from hearth.store.seal import (
    PLAIN_TEXTS,
    TEXT_MARK,
    Sealer,
    Unsealable,
    pepper_of,
    sealer_from_secret,
    sealer_of,
)

HERE = ("table.column", "id")


def test_a_sealed_value_opens_again_and_shows_nothing():
    sealer = sealer_from_secret("one")
    sealed = sealer.seal({"password": "s3cret"}, *HERE)
    assert b"s3cret" not in sealed
    assert sealer.unseal(sealed, *HERE) == {"password": "s3cret"}
    assert sealer.seal(1, *HERE) != sealer.seal(1, *HERE)


def test_keys_rotate_and_old_values_stay_readable():
    old = sealer_from_secret("one")
    sealed, mark = old.seal("x", *HERE), old.fingerprint("x")
    new = sealer_of(["two", "one"]).with_pepper(pepper_of("one"))
    assert new.unseal(sealed, *HERE) == "x"
    assert new.fingerprint("x") == mark
    with pytest.raises(Unsealable):
        old.unseal(new.seal("y", *HERE), *HERE)


def test_a_changed_value_does_not_open():
    sealer = sealer_from_secret("one")
    sealed = bytearray(sealer.seal("x", *HERE))
    sealed[-1] ^= 1
    with pytest.raises(Unsealable):
        sealer.unseal(bytes(sealed), *HERE)


def test_a_format_of_a_newer_release_is_named():
    sealer = sealer_from_secret("one")
    newer = b"\x7f" + sealer.seal("x", *HERE)[1:]
    with pytest.raises(Unsealable, match=r"table\.column has the format 7f.*newer release"):
        sealer.unseal(newer, *HERE)


def test_a_value_opens_at_its_place_only():
    sealer = sealer_from_secret("one")
    sealed, text = sealer.seal("x", *HERE), sealer.seal_text("x", *HERE)
    for elsewhere in [("table.column", "other"), ("table.other", "id"), ("table.column",)]:
        with pytest.raises(Unsealable, match=re.escape(elsewhere[0])):
            sealer.unseal(sealed, *elsewhere)
        with pytest.raises(Unsealable, match="moved"):
            sealer.unseal_text(text, *elsewhere)


def test_a_value_of_another_format_and_a_text_that_is_not_sealed_do_not_open():
    sealer = sealer_from_secret("one")
    other_format = b"\x01" + sealer.seal("x", *HERE)[1:]
    with pytest.raises(Unsealable, match="format 01"):
        sealer.unseal(other_format, *HERE)
    assert not sealer.is_newest(other_format)
    with pytest.raises(Unsealable, match="not encrypted"):
        sealer.unseal_text("as it was", *HERE)
    assert not sealer.is_newest_text("as it was")


@pytest.mark.parametrize(
    "text", ["", "state changed", "No valid host", "\x02", "\x02AAAA", "ü\x00☃"]
)
def test_a_sealed_text_opens_again(text: str):
    sealer = sealer_from_secret("one")
    stored = sealer.seal_text(text, *HERE)
    assert sealer.unseal_text(stored, *HERE) == text
    assert sealer.is_newest_text(stored)
    assert stored.isprintable() or stored.startswith(TEXT_MARK)
    if text not in PLAIN_TEXTS:
        assert text not in stored.removeprefix(TEXT_MARK)
        with pytest.raises(Unsealable):
            sealer.unseal_text(stored[:-4] + "!", *HERE)


def test_equality_needs_the_pepper():
    one, other = sealer_from_secret("one"), sealer_from_secret("two")
    assert one.fingerprint([1, "a"]) == one.fingerprint([1, "a"])
    assert one.fingerprint("a") != other.fingerprint("a")


def test_a_sealer_without_keys_is_refused():
    with pytest.raises(ValueError, match="at least one is needed"):
        Sealer({}, b"")
