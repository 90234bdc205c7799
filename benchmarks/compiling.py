"""Template text to a checked program."""

from collections.abc import Iterator

from benchmarks import templates
from benchmarks.figure import Figure, median_s
from hearth.resources.registry import default_catalog
from hearth.template import NOWHERE, Environment, Limits, Module, compile_template

LIMITS = Limits(max_resources_per_stack=-1, max_template_size=100_000_000)


def _compiled(text: str) -> Module:
    return compile_template(
        text, files={}, environment=Environment.parse({}), catalog=default_catalog(), limits=LIMITS
    )


def _checked(module: Module) -> None:
    program = module.specialise({}, stack_name="s", stack_id="i", project_id="p")
    assert not program.check_values(NOWHERE).problems


def compiling(quick: bool) -> Iterator[Figure]:
    """Compile and check, and check alone where the module is kept."""
    sizes = ((1000, 0.35, 0.02), (10_000, 3.5, 0.2))[: 1 if quick else 2]
    for count, budget, again in sizes:
        text = templates.wide(count)
        whole = median_s(lambda text=text: _checked(_compiled(text)), 5)
        yield Figure(f"compile and check {count}", whole, "s", budget)
        module = _compiled(text)
        cached = median_s(lambda module=module: _checked(module), 5)
        yield Figure(f"check {count} with a cached module", cached, "s", again)
