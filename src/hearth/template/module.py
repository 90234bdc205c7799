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
"""How many resources are put into a program for the price of compiling one."""


@dataclass(frozen=True, eq=False)
class Binding:
    """What the type of a resource leads to; all problems count where the resource is enabled.

    `problems` are those of the resource, `inside` those of the child template, told from within.
    """

    type_info: TypeInfo | None
    child: Module | None = None
    entry: TemplateEntry | None = None
    problems: tuple[Problem, ...] = ()
    inside: tuple[Problem, ...] = ()


@dataclass(frozen=True, eq=False)
class Module:
    """A template that is understood, bound and checked, before any parameter value."""

    syntax: Syntax
    files: Mapping[str, str]
    environment: Environment
    catalog: TypeCatalog
    limits: Limits
    bindings: Mapping[str, Binding]
    members: Mapping[str, Binding] = field(default_factory=dict)  # of a draft: what groups are of
    depth: int = 0
    problems: tuple[Problem, ...] = ()  # of a draft; a module that is put to use has none
    closed: dict[str, Core] = field(default_factory=dict)  # what no parameter changes
    open: set[str] = field(default_factory=set)  # names of resources that one may change
    nested: dict[str, Module] = field(default_factory=dict)  # of groups, by content

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: as it is now, whatever else is done with it meanwhile."""
        return {**vars(self), "closed": dict(self.closed), "open": set(self.open), "nested": {}}

    @cached_property
    def impersonal(self) -> bool:
        """Whether stacks that differ in name and id only have equal programs."""
        uses = Uses()
        uses.add(self.syntax.root)
        pseudo = pseudo_parameters(self.syntax, Stack("", "", ""))
        return not uses.computed & {"get_param", "Ref"} and pseudo.keys().isdisjoint(
            uses.parameters
        )

    @cached_property
    def types(self) -> frozenset[str]:
        """The resource types that it names, and those that its child templates name."""
        found: set[str] = set()
        for binding in (*self.bindings.values(), *self.members.values()):
            if binding.type_info is not None:
                found.add(binding.type_info.name)
            if binding.child is not None:
                found |= binding.child.types
        return frozenset(found)

    @property
    def description(self) -> Any:
        """As `stack show` has it."""
        text = self.syntax.description
        return "No description" if text is None else text

    @property
    def version(self) -> str:
        """The version of the language."""
        return self.syntax.grammar.value

    def attribute_names(self, resource: str) -> list[str]:
        """The attributes of a resource, as far as its type declares them."""
        binding = self.bindings.get(resource)
        type_info = binding.type_info if binding is not None else None
        return [name for name in type_info.attributes if name != "show"] if type_info else []

    def within(self, resource: str) -> Within | None:
        """How paths into the attributes of a resource are walked, where its type has a way."""
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
        """The program for these parameter values. Raises Rejected.

        Values from the environment's `parameter_defaults` are added; those of its `parameters`
        are not, for the caller has laid them together already. Unless `strict`, parameters may be
        missing: what asks for them fails then. Unless `check`, values need not be allowed ones, and
        a condition that nothing uses may ask for one that is missing.
        """
        from hearth.template.specialise import Specialiser

        stack = Stack(stack_name, stack_id, project_id)
        with collector_paused(), spending() as budget:
            budget.widen(len(self.syntax.resources))
            budget.compiled(len(self.syntax.resources) // CHEAPER)
            return Specialiser(self, stack, facade, strict, check).run(parameters)
