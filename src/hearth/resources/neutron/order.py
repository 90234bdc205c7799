"""What must come first although no property refers to it: subnets, and routes to the outside."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hearth.template.expr import Const, Expr, ListOf, MapOf
from hearth.template.specialise import references_in

SUBNET = "OS::Neutron::Subnet"
ROUTER = "OS::Neutron::Router"
INTERFACE = "OS::Neutron::RouterInterface"
Find = Callable[[Expr], Iterator[Expr]]


def at(*path: str) -> Find:
    """Finds what stands at a path of the properties, in every item of lists."""

    def find(expr: Expr) -> Iterator[Expr]:
        found = [expr]
        for step in path:
            found = [inner for one in found for inner in _step(one, step)]
        yield from found

    return find


def subnets(definition: Any, program: Any, *networks: Find) -> Iterable[str]:
    """Subnets of the template on the networks that the definition uses."""
    wanted = [_name(one) for find in networks for one in find(definition.properties)]
    for name, other in program.resources.items():
        if other.type != SUBNET:
            continue
        for key in ("network", "network_id"):
            on = frozenset(word for one in at(key)(other.properties) for word in _name(one))
            if any(on & words for words in wanted) and not reaches(program, name, definition.name):
                yield name


def routes(name: str, program: Any) -> Iterable[str]:
    """Routers and their interfaces: an address can point inwards only when they are there."""
    for other, definition in program.resources.items():
        if definition.type in {ROUTER, INTERFACE} and not reaches(program, other, name):
            yield other


def reaches(program: Any, start: str, goal: str) -> bool:
    """Whether `start` requires `goal`, directly or not."""
    seen, todo = {start}, [start]
    while todo:
        for one in program.requires.get(todo.pop(), ()):
            if one == goal:
                return True
            if one not in seen:
                seen.add(one)
                todo.append(one)
    return False


def _step(expr: Expr, step: str) -> Iterator[Expr]:
    match expr:
        case MapOf(entries=entries):
            if step in entries:
                yield from _items(entries[step])
        case Const(value=dict() as known):
            if step in known:
                yield from _items(Const(known[step]))


def _items(expr: Expr) -> Iterator[Expr]:
    match expr:
        case ListOf(items=items):
            yield from items
        case Const(value=list() as items):
            yield from (Const(item) for item in items)
        case _:
            yield expr


def _name(expr: Expr) -> frozenset[str]:
    """What an expression names: resources as they are, a known text with an equals sign."""
    if isinstance(expr, Const):
        return frozenset({f"={expr.value}"}) if expr.value else frozenset()
    return frozenset(one.resource for one in references_in(expr))
