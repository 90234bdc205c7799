"""No value of any field of a body is an internal error."""

import contextlib
import itertools

import pytest

from hearth.api.v1 import parse
from hearth.model.problem import Rejected

FIELDS = (
    "template", "template_url", "parameters", "environment", "environment_files", "files",
    "files_container", "timeout_mins", "disable_rollback", "tags", "clear_parameters", "converge",
)  # fmt: skip
VALUES = (
    None, True, False, 0, 7, -1, 1.5, float("inf"), "", "text", "\0", [], [1], [None], ["a"], [[]],
    [{}], {}, {"a": 1}, {"a": None}, {"a": []}, {"a": {}}, {1: 2},
)  # fmt: skip
BAD = {"clear_parameters": [True, 7, -1, 1.5, {"a": 1}]}


@pytest.mark.parametrize("field", FIELDS)
def test_each_value_is_taken_or_refused(field: str):
    for value, existing in itertools.product(VALUES, (False, True)):
        body = {"template": "heat_template_version: 2021-04-16", field: value}
        with contextlib.suppress(Rejected):  # and nothing else
            parse.stack_request(body, existing=existing)


@pytest.mark.parametrize(("field", "value"), [(f, v) for f, some in BAD.items() for v in some])
def test_what_is_no_list_of_names_is_refused(field: str, value: object):
    with pytest.raises(Rejected, match=field):
        parse.stack_request({"template": "heat_template_version: 2021-04-16", field: value})


@pytest.mark.parametrize(("count", "taken"), [(256, True), (257, False)])
def test_a_stack_has_only_so_many_tags(count: int, taken: bool):
    body = {
        "template": "heat_template_version: 2021-04-16",
        "tags": [f"t{n}" for n in range(count)],
    }
    if taken:
        assert len(parse.stack_request(body).tags or ()) == count
    else:
        with pytest.raises(Rejected, match="at most 256 tags"):
            parse.stack_request(body)
