"""The options of an operation are words in the row, and fields everywhere else."""

import pytest

from hearth.store.rows import Options, options_of
from hearth.store.tables import stack


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(), None),
        (Options(converge=True), "converge"),
        (Options(abandon=True), "abandon"),
        (Options(converge=True, further=True), "converge further"),
    ],
)
def test_options_are_words_in_the_row(options, words):
    assert options.words == words
    assert options_of(words) == options


def test_the_words_fit_into_the_column():
    length = stack.c.options.type.length
    # an update converges and goes on; only a delete abandons
    assert len(Options(converge=True, further=True).words or "") <= length


def test_a_word_of_a_newer_version_is_left_out():
    assert options_of("converge hurry") == Options(converge=True)
