"""The reference of the cluster API: complete, and as the repository has it."""

from pathlib import Path

from hearth.api.clusters.reference import OBJECTS, page
from hearth.api.clusters.routes import ROUTES

PAGE = Path(__file__).parents[3] / "docs" / "cluster-api.md"


def test_the_page_is_what_the_command_prints():
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "hearth docs cluster-api >docs/cluster-api.md"
    )


def test_every_operation_and_every_body_is_described():
    text = page()
    for one in ROUTES:
        assert f"`{one.method} {one.path}`" in text
        assert one.text.endswith("."), one
    posts = {f"{one.method} {one.path}" for one in ROUTES if one.method == "POST"}
    assert {request for _, request, _ in OBJECTS} == posts


def test_each_attribute_that_a_request_may_set_has_a_meaning_and_values():
    lacking = [
        f"{name}: {field.name}"
        for name, _, declared in OBJECTS
        for field in declared.values()
        if not field.read_only and not field.unused
        if not (field.meaning and field.reader.form)
    ]
    assert lacking == [], "describe them in src/hearth/api/clusters/bodies.py"
