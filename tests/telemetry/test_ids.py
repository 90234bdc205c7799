"""Ids that are drawn many at once."""

import os
import uuid

from hearth.telemetry.ids import IDS_AT_ONCE, new_id, random_digits


def test_each_id_is_a_random_uuid_and_none_comes_twice():
    ids = [new_id() for _ in range(3 * IDS_AT_ONCE)]
    assert len(set(ids)) == len(ids)
    for one in ids:
        parsed = uuid.UUID(one)
        assert (parsed.version, parsed.variant, str(parsed)) == (4, uuid.RFC_4122, one)


def test_a_forked_process_draws_its_own():
    random_digits()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, random_digits().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 64).decode()
    os.close(reading)
    os.close(writing)
    assert len(theirs) == 32
    assert theirs not in [random_digits() for _ in range(IDS_AT_ONCE)]
