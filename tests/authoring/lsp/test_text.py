import pytest

from hearth.authoring.lsp.text import Text, Units

EMOJI = "a: '😀é|x'\r\nb: 1\n"


@pytest.mark.parametrize(
    ("units", "column"), [(Units.UTF16, 7), (Units.UTF32, 6), (Units.UTF8, 10)]
)
def test_columns_are_counted_in_the_units_of_the_editor(units, column):
    text = Text(EMOJI)
    offset = EMOJI.index("|")

    assert text.position(offset, units) == (0, column)
    assert text.offset(0, column, units) == offset


def test_a_column_inside_a_pair_of_surrogates_is_that_before_it():
    text = Text("😀x")

    assert text.offset(0, 1) == 0
    assert text.offset(0, 2) == 1


def test_places_that_are_not_there_are_the_nearest_that_are():
    text = Text("ab\ncd")

    assert text.offset(0, 99) == 2
    assert text.offset(99, 0) == 5
    assert text.offset(-1, 5) == 0
    assert Text("").offset(3, 3) == 0


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_line_end_of_the_protocol_ends_a_line(end):
    text = Text(f"ab{end}cd")

    assert text.position(2 + len(end)) == (1, 0)
    assert text.offset(0, 9) == 2
    assert text.line(0) == "ab"


def test_other_signs_do_not_end_a_line_for_the_editor_but_do_for_the_compiler():
    source = "# one\u2028b: 1\x0c\nc: 2\n"
    text = Text(source)

    assert text.position(source.index("c")) == (1, 0)
    assert text.offset_of_mark(2, 1) == source.index("b")
    assert text.offset_of_mark(3, 1) == source.index("c")


def test_marks_outside_of_the_text_are_taken_to_its_ends():
    text = Text("ab\ncd")

    assert text.offset_of_mark(0, 0) == 0
    assert text.offset_of_mark(1, 50) == 2
    assert text.offset_of_mark(9, 1) == 5


def test_a_change_replaces_what_is_between_two_offsets():
    assert Text("abcd").changed(1, 3, "XYZ").source == "aXYZd"
    assert Text("abcd").changed(3, 1, "X").source == "abcXd"
