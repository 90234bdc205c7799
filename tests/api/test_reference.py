"""The API reference: of every operation, and as the repository has it."""

from pathlib import Path

import jsonschema
import pytest

from hearth.api.openapi import document, operation_id
from hearth.api.reference import page
from hearth.api.v1.routes import ROUTES
from tests.walk.exchanges import recorded

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_page_is_what_the_command_prints():
    command = "hearth docs api --exchanges tests/walk/exchanges.json >docs/api.md"
    assert PAGE.read_text(encoding="utf-8") == page(recorded()), command


def test_each_operation_has_a_name_of_its_own():
    names = [operation_id(endpoint) for endpoint in ROUTES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("endpoint", ROUTES, ids=operation_id)
def test_each_operation_has_an_exchange_that_is_as_the_contract_says(endpoint):
    kept = recorded().get(operation_id(endpoint))
    assert kept, (
        f"no exchange of {operation_id(endpoint)} is recorded: add it to "
        "tests/walk/routes.py, then run `python -m tests.walk routes --write`"
    )
    assert kept["success"]["status"] == endpoint.status
    assert 400 <= kept["refusal"]["status"] < 500
    assert set(kept["refusal"]["answer"]) == {"code", "title", "explanation", "error"}
    if endpoint.body is not None and "body" in kept["success"]:
        schema = {**endpoint.body, "components": document("")["components"]}
        jsonschema.Draft202012Validator(schema).validate(kept["success"]["body"])
