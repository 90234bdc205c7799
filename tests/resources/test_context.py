"""What types may do with the context of a resource."""

import ast
from pathlib import Path

import hearth.resources

OF_THE_ENGINE = {"action", "data", "metadata", "physical_id"}


def test_no_type_sets_what_the_engine_stores_of_a_result():
    """A call that failed is repeated with the same context, so what it set would be lost."""
    folder = Path(hearth.resources.__file__).parent
    found = [
        f"{path.relative_to(folder)}:{node.lineno}: {ast.unparse(target)}"
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute)
        if isinstance(target.value, ast.Name)
        if target.value.id == "ctx" and target.attr in OF_THE_ENGINE
    ]
    assert found == []
