"""Troubleshooting quotes messages that the product has."""

import re
from pathlib import Path

import pytest

from tests.docs.messages import is_said

PAGE = Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"
QUOTED = [
    message
    for row in re.findall(r"^\| (.*?) \|", PAGE.read_text(), re.MULTILINE)
    for message in re.findall(r"`([^`]*\w \w[^`]*)`", row)
]


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_a_message_of_the_product(message: str):
    assert is_said(message)


def test_the_page_quotes_messages():
    assert len(QUOTED) > 40
    assert not is_said("no such message stands anywhere")
