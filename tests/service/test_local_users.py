"""Users in a state file: each belongs to one record, and keeps its key pair."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from hearth.cloud import CloudFault
from hearth.service.local_users import LocalUsers
from hearth.store.database import Store
from hearth.store.rows import StackRow

KEY, OTHER_KEY = "record", "other"
CALLS = {
    "drop": lambda users: users.drop(KEY, key=OTHER_KEY),
    "disable": lambda users: users.enable(KEY, key=OTHER_KEY, enabled=False),
    "make keys": lambda users: users.key_pair(KEY, key=OTHER_KEY),
}


def users(data: dict[str, str], *, reachable: bool = True) -> LocalUsers:
    """The users of a stack, one of whose records has this private data."""

    async def read(look: object) -> tuple[int, dict[str, str], object]:
        return 1, data, {}

    row = SimpleNamespace(project_id="p", user_project_id=None)
    noted = data.setdefault
    store = cast(Store, SimpleNamespace(read=read))
    return LocalUsers(
        store, cast(StackRow, row), lambda one: cast(None, noted("noted", one)), reachable=reachable
    )


@pytest.mark.parametrize("call", CALLS)
def test_the_user_of_another_record_is_refused(call: str):
    with pytest.raises(CloudFault) as refused:
        asyncio.run(CALLS[call](users({"user_id": KEY})))
    assert refused.value.status == 403


def test_a_key_pair_is_made_once():
    data: dict[str, str] = {}
    access, secret = asyncio.run(users(data).key_pair(KEY, key=KEY))
    assert asyncio.run(users(data).key_pairs(KEY)) == []
    data |= {"access_key": access, "secret_key": secret}
    assert asyncio.run(users(data).key_pair(KEY, key=KEY)) == (access, secret)
    assert asyncio.run(users(data).key_pairs(KEY)) == [access]


def test_a_user_is_made_only_where_somebody_can_send_its_requests():
    data: dict[str, str] = {}
    with pytest.raises(CloudFault, match="use --serve"):
        asyncio.run(users(data, reachable=False).make("name", "x", key=KEY))
    assert data == {}
    assert asyncio.run(users(data).make("name", "x", key=KEY)) == KEY
    assert data == {"noted": "p"}
