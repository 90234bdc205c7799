"""A fixed part of the table of odd answers of clouds; `make odd-clouds`: all of it."""

from collections.abc import Iterator, Mapping
from multiprocessing import Pool

import pytest

from tests.odd_clouds.run import Row, examine_at
from tests.odd_clouds.scenarios import scenarios

pytestmark = pytest.mark.slow

AT_ONCE = 6
FIXED = (
    "poll of a create: 403 page, create of a server",
    "poll of a create: 302 to a login, create of a net",
    "poll of a create: page 500, create of a volume",
    "poll of a create: page 408, create of a load balancer",
    "read of a check: 200 with {}, check of a server",
    "poll of a delete: 400 page, delete of a volume",
    "create: 403 page, create of a net",
    "create, carried out: page 408, create of a volume",
    "create, carried out: no id, create of a net",
    "create, carried out: a foreign id, create of a volume",
    "update, carried out: wrong Content-Encoding, update of a volume",
    "each delete: 404 of an ingress, delete of a volume",
    "each delete: 403 page, delete of a net",
    "lookup: 200 with {}, create of a server",
    "search: 200 with null, create of a load balancer",
    "each search: page 502, create of a net",
    "search: next leads to itself, create of a load balancer",
    "create: 429, Retry-After 'inf', create of a net",
    "poll: 429, Retry-After 'nan', create of a volume",
    "renewal: page 502, create of a server",
    "delete, the trust is refused with 404, delete of a volume",
    "first token: half of the JSON, create of a net",
    "first token: 403 page, update of a volume",
    "catalogue of a delete: no catalogue entry, delete of a volume",
    "each read of a check: another object, check of a volume",
    "refusal of a create: half a surrogate pair, create of a net",
    "attributes: half a surrogate pair, create of a volume",
)


@pytest.fixture(scope="module")
def rows() -> Iterator[Mapping[str, Row]]:
    """All of them, several at once."""
    numbers = {one.name: number for number, one in enumerate(scenarios(0, everything=True))}
    with Pool(AT_ONCE) as pool:
        found = pool.map(examine_at, [(0, True, numbers[name]) for name in FIXED], chunksize=1)
        yield dict(zip(FIXED, found, strict=True))


@pytest.mark.parametrize("name", FIXED)
def test_an_odd_answer_costs_no_object_and_no_reason(rows: Mapping[str, Row], name: str) -> None:
    assert rows[name].struck
    assert rows[name].wrong == []
