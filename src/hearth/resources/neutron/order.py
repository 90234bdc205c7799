"""Implicit dependencies between resources of the network service.

These dependencies exist without a reference in the template, such as a dependency of a port on the
subnets of its network.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from hearth.template.expr import Const, Expr, ListOf, MapOf
from hearth.template.specialise import references_in

SUBNET = "OS::Neutron::Subnet"
ROUTER = "OS::Neutron::Router"
INTERFACE = "OS::Neutron::RouterInterface"
ROUTES = frozenset(
    [
        ROUTER,
        INTERFACE,
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPCGatewayAttachment",
    ]
)
KEYS = ("network", "network_id")
Find = Callable[[Expr], Iterator[Expr]]

_links_by_program: WeakKeyDictionary[Any, "Links"] = WeakKeyDictionary()


def at(*path: str) -> Find:
    """Return a function that yields the expressions at a path of property names.

    A list on the path stands for each of its items.
    """

    def find(expr: Expr) -> Iterator[Expr]:
        exprs = [expr]
        for step in path:
            exprs = [inner for outer in exprs for inner in _step(outer, step)]
        yield from exprs

    return find


class Links(Struct, frozen=True):
    """Names of resources in a program: its subnets by network, and those of a type in ROUTES."""

    subnets: Mapping[str, Sequence[str]]
    routers: Sequence[str]


class Subnets(Struct, frozen=True):
    """A dependency on the subnets, in the same template, of the networks that some properties name.

    `paths` has the paths of these properties, such as "networks.network".
    """

    paths: Sequence[str]

    def names(self, definition: Any, program: Any) -> Iterable[str]:
        subnets = links(program).subnets
        if not subnets:
            return
        ends = (end for path in self.paths for end in at(*path.split("."))(definition.properties))
        networks = {word for end in ends for word in name(end)}
        for network in sorted(networks):
            for subnet in subnets.get(network, ()):
                if not reaches(program, subnet, definition.name):
                    yield subnet


class Routes(Struct, frozen=True):
    """A dependency on all resources in the template with a type in ROUTES, such as routers.

    A floating IP can be associated with a port only if a route exists.
    """

    def names(self, definition: Any, program: Any) -> Iterable[str]:
        for router in links(program).routers:
            if not reaches(program, router, definition.name):
                yield router


class Legs(Struct, frozen=True):
    """A dependency on the interfaces, in the same template, of the routers that a resource uses.

    `routers` contains the names of the properties that refer to these routers.
    """

    routers: Sequence[str]

    def names(self, definition: Any, program: Any) -> Iterable[str]:
        ends = (end for path in self.routers for end in at(path)(definition.properties))
        own_routers = {word for end in ends for word in name(end)}
        for router in links(program).routers:
            resource = program.resources[router]
            ends = (end for key in ("router", "router_id") for end in at(key)(resource.properties))
            is_shared = own_routers & {word for end in ends for word in name(end)}
            if is_shared and not reaches(program, router, definition.name):
                yield router


def links(program: Any) -> Links:
    """Return the links of a program; they are computed once per program."""
    program_links = _links_by_program.get(program)
    if program_links is None:
        by_network: dict[str, list[str]] = {}
        for subnet, definition in program.resources.items():
            if definition.type == SUBNET:
                ends = (end for key in KEYS for end in at(key)(definition.properties))
                for network in {word for end in ends for word in name(end)}:
                    by_network.setdefault(network, []).append(subnet)
        routers = [n for n, d in program.resources.items() if d.type in ROUTES]
        program_links = _links_by_program[program] = Links(by_network, routers)
    return program_links


def reaches(program: Any, start: str, goal: str) -> bool:
    """Return whether the resource `start` depends on `goal`, directly or indirectly."""
    visited, todo = {start}, [start]
    while todo:
        for required in program.requires.get(todo.pop(), ()):
            if required == goal:
                return True
            if required not in visited:
                visited.add(required)
                todo.append(required)
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


def name(expr: Expr) -> frozenset[str]:
    """Return the names of the resources that an expression refers to.

    For a constant, the only item is "=VALUE", so that two equal constants can be compared.
    """
    if isinstance(expr, Const):
        return frozenset({f"={expr.value}"}) if expr.value else frozenset()
    return frozenset(reference.resource for reference in references_in(expr))
