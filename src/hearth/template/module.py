"""A compiled template: depends on content only, can be cached and shared by equal stacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hearth.model.problem import Problem
from hearth.template.budget import spending
from hearth.template.environment import Environment, TemplateEntry
from hearth.template.limits import Limits
from hearth.template.load import collector_paused
from hearth.template.parse import Syntax
from hearth.template.types import Facade, TypeCatalog, TypeInfo, Within
from hearth.template.uses import Uses
from hearth.template.values import Stack, pseudo_parameters

if TYPE_CHECKING:
    from hearth.template.core import Core
    from hearth.template.program import Program


CHEAPER = 4
"""The number of resources whose specialisation costs as much as compiling one."""


@dataclass(frozen=True, eq=False)
class Binding:
    """The resolved type of a resource; its problems count if the resource is enabled.

    `problems` are those of the resource, `inside` those of the nested template, with its own paths.
    """

    type_info: TypeInfo | None
    child: Module | None = None
    entry: TemplateEntry | None = None
    problems: tuple[Problem, ...] = ()
    inside: tuple[Problem, ...] = ()


@dataclass(frozen=True, eq=False)
class Module:
    """A template that is parsed, bound and checked, without parameter values."""

    syntax: Syntax
    files: Mapping[str, str]
    environment: Environment
    catalog: TypeCatalog
    limits: Limits
    bindings: Mapping[str, Binding]
    members: Mapping[str, Binding] = field(
        default_factory=dict
    )  # of a draft: types of group members
    depth: int = 0
    problems: tuple[Problem, ...] = ()  # of a draft; a usable module has none
    closed: dict[str, Core] = field(default_factory=dict)  # parts that no parameter changes
    open: set[str] = field(default_factory=set)  # names of resources that one may change
    nested: dict[str, Module] = field(default_factory=dict)  # of groups, by content

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process: a copy, because other threads may change it."""
        return {**vars(self), "closed": dict(self.closed), "open": set(self.open), "nested": {}}

    @cached_property
    def impersonal(self) -> bool:
        """Whether stacks that differ only in name and id have equal programs."""
        uses = Uses()
        uses.add(self.syntax.root)
        pseudo = pseudo_parameters(self.syntax, Stack("", "", ""))
        return not uses.computed & {"get_param", "Ref"} and pseudo.keys().isdisjoint(
            uses.parameters
        )

    @cached_property
    def types(self) -> frozenset[str]:
        """The resource types of the template and of its nested templates."""
        found: set[str] = set()
        for binding in (*self.bindings.values(), *self.members.values()):
            if binding.type_info is not None:
                found.add(binding.type_info.name)
            if binding.child is not None:
                found |= binding.child.types
        return frozenset(found)

    @property
    def description(self) -> Any:
        """The description, as in `stack show`."""
        text = self.syntax.description
        return "No description" if text is None else text

    @property
    def version(self) -> str:
        """The version of the language."""
        return self.syntax.grammar.value

    def attribute_names(self, resource: str) -> list[str]:
        """Return the attributes of a resource, as far as its type declares them."""
        binding = self.bindings.get(resource)
        type_info = binding.type_info if binding is not None else None
        return [name for name in type_info.attributes if name != "show"] if type_info else []

    def within(self, resource: str) -> Within | None:
        """Return the function that follows paths into attributes, or None without one."""
        return getattr(self.bindings[resource].type_info, "within", None)

    def specialise(
        self,
        parameters: Mapping[str, Any],
        *,
        stack_name: str,
        stack_id: str = "",
        project_id: str = "",
        facade: Facade | None = None,
        strict: bool = True,
        check: bool = True,
    ) -> Program:
        """Return the program for these parameter values. Raises Rejected.

        The environment's `parameter_defaults` are added; its `parameters` are not, because the
        caller has merged them already. Without `strict`, parameters may be missing: evaluations
        that need them fail. Without `check`, values need not be allowed ones, and an unused
        condition may need a missing parameter.
        """
        from hearth.template.specialise import Specialiser

        stack = Stack(stack_name, stack_id, project_id)
        with collector_paused(), spending() as budget:
            budget.widen(len(self.syntax.resources))
            budget.compiled(len(self.syntax.resources) // CHEAPER)
            return Specialiser(self, stack, facade, strict, check).run(parameters)
