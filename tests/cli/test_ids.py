"""Ids that are drawn many at once."""

import uuid

from hearth.cli.ids import IDS_AT_ONCE, new_id


def test_each_id_is_a_random_uuid_and_none_comes_twice():
    ids = [new_id() for _ in range(3 * IDS_AT_ONCE)]
    assert len(set(ids)) == len(ids)
    for one in ids:
        parsed = uuid.UUID(one)
        assert (parsed.version, parsed.variant, str(parsed)) == (4, uuid.RFC_4122, one)
