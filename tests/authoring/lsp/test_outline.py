from hearth.authoring.lsp.outline import outline
from tests.authoring.lsp.desk import HOT, document

TEXT = HOT + (
    "parameters:\n  size:\n    type: number\n\n"
    "resources:\n  web:\n    type: OS::Nova::Server\n    properties: {}\n\n  lone\n  b: \n"
    "outputs: {o: {value: 1}}\n"
)


def test_an_outline_has_sections_and_their_entries():
    found = [
        (line.name, [(one.name, one.detail) for one in line.lines])
        for line in outline(document(TEXT))
    ]

    assert found == [
        ("heat_template_version", []),
        ("parameters", [("size", "number")]),
        ("resources", [("web", "OS::Nova::Server"), ("b", "")]),
        ("outputs", [("o", "")]),
    ]


def test_a_name_is_inside_of_its_line_and_a_line_inside_of_its_section():
    for line in outline(document(TEXT)):
        assert line.start <= line.name_start < line.name_end <= line.end
        assert TEXT[line.name_start : line.name_end] == line.name
        for one in line.lines:
            assert line.start <= one.start <= one.name_start < one.name_end <= one.end <= line.end
            assert TEXT[one.name_start : one.name_end] == one.name
            assert TEXT[one.end - 1].strip()


def test_a_text_that_is_nothing_of_ours_has_no_outline():
    assert outline(document("a:\n  b: 1\n")) == []
