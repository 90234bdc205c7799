"""The engine's page tells the rules as they are."""

from pathlib import Path

from hearth.cli.docs_engine import BEGIN, END, engine_tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engine.md"


def test_the_tables_of_the_page_are_those_of_the_code():
    _, _, rest = PAGE.read_text().partition(f"{BEGIN}\n")
    told, _, _ = rest.partition(f"\n{END}")
    assert told == engine_tables(), "put the output of `hearth docs engine` into docs/engine.md"
