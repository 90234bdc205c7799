"""What a request asks for, before anything is stored."""

import pytest

from hearth.service.stack_request import StackRequest, revision_of

TEMPLATE = "heat_template_version: 2021-04-16\nparameters: {l: {type: comma_delimited_list}}\n"


@pytest.mark.parametrize(
    ("strategy", "value"), [("merge", ["a", "b"]), ("overwrite", "a"), (None, "a")]
)
def test_a_value_of_the_request_is_merged_where_a_file_says_so_and_wins_elsewhere(strategy, value):
    chosen = f"parameter_merge_strategies: {{l: {strategy}}}\n" if strategy else ""
    request = StackRequest(
        template=TEMPLATE,
        parameters={"l": "a"},
        files={"e.yaml": f"{chosen}parameters: {{l: b}}\n"},
        environment_files=("e.yaml",),
    )
    found = revision_of(request).environment["parameters"]["l"]
    assert (found.split(",") if isinstance(value, list) else found) == value
