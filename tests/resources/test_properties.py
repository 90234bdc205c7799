"""Properties that many types share are defined once, in resources/properties.py."""

import ast
from collections import Counter
from pathlib import Path

from hearth import resources

OFTEN = 5
HOME = Path(resources.__file__).parent


def repeated(sources: list[str]) -> list[str]:
    """Return the properties that the sources define in OFTEN places or more with the same call."""
    seen = Counter(
        f"{key.value}: {ast.unparse(value)}"
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(value, ast.Call)
    )
    return [one for one, count in seen.items() if count >= OFTEN and "Prop(" in one]


def test_no_property_is_written_out_again_and_again():
    found = repeated([path.read_text() for path in HOME.rglob("*.py")])
    assert not found, f"define them in {HOME / 'properties.py'}: {found}"


def test_a_repeated_property_is_found():
    source = "a = {'size': Prop(NUMBER, 'Gigabytes.')}"
    assert repeated([source] * OFTEN) == ["size: Prop(NUMBER, 'Gigabytes.')"]
    assert repeated([source] * (OFTEN - 1)) == []
