"""Sealing."""

import pytest

from hearth.store.seal import Sealer, Unsealable, pepper_of, sealer_from_secret, sealer_of


def test_a_sealed_value_opens_again_and_shows_nothing():
    sealer = sealer_from_secret("one")
    sealed = sealer.seal({"password": "s3cret"})
    assert b"s3cret" not in sealed
    assert sealer.unseal(sealed) == {"password": "s3cret"}
    assert sealer.seal(1) != sealer.seal(1)


def test_keys_rotate_and_old_values_stay_readable():
    old = sealer_from_secret("one")
    sealed, mark = old.seal("x"), old.fingerprint("x")
    new = sealer_of(["two", "one"]).with_pepper(pepper_of("one"))
    assert new.unseal(sealed) == "x"
    assert new.fingerprint("x") == mark
    with pytest.raises(Unsealable):
        old.unseal(new.seal("y"))


def test_a_changed_value_does_not_open():
    sealer = sealer_from_secret("one")
    sealed = bytearray(sealer.seal("x"))
    sealed[-1] ^= 1
    with pytest.raises(Unsealable):
        sealer.unseal(bytes(sealed))


def test_equality_needs_the_pepper():
    one, other = sealer_from_secret("one"), sealer_from_secret("two")
    assert one.fingerprint([1, "a"]) == one.fingerprint([1, "a"])
    assert one.fingerprint("a") != other.fingerprint("a")


def test_a_sealer_without_keys_is_refused():
    with pytest.raises(ValueError, match="at least one key"):
        Sealer({}, b"")
