"""No function and no class of the engine grows beyond what is read in one sitting."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hearth"
SOURCES = (SOURCE, ROOT / "packages")
LINES_MAX = 60  # of a function
NAMES_MAX = 30  # public methods and attributes of a class of the engine
MIGRATIONS = SOURCE / "store" / "migrations"


def test_functions_have_at_most_sixty_lines():
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {lines} lines"
        for source in SOURCES
        for path, node in parsed(source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LINES_MAX
        and MIGRATIONS not in path.parents
    ]
    assert long == []


def test_classes_of_the_engine_have_at_most_thirty_public_names():
    wide = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}: {', '.join(sorted(names))}"
        for path, node in parsed(SOURCE / "engine")
        if isinstance(node, ast.ClassDef) and len(names := public_names(node)) > NAMES_MAX
    ]
    assert wide == []


def test_attributes_that_a_method_sets_count():
    (cls,) = ast.parse(
        "class A:\n  b: int\n  def c(self):\n    self.d, self._e = 1, 2\n  def _f(self): ..."
    ).body
    assert isinstance(cls, ast.ClassDef)
    assert public_names(cls) == {"b", "c", "d"}


def parsed(folder: Path) -> Iterator[tuple[Path, ast.AST]]:
    """Yield every node of every module below a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            yield path, node


def public_names(cls: ast.ClassDef) -> set[str]:
    """Return the public methods and attributes that a class defines itself."""
    names: set[str] = set()
    for node in cls.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    for inner in ast.walk(cls):
        match inner:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                names.add(inner.attr)
    return {name for name in names if not name.startswith("_")}
