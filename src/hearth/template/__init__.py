"""A compiler: template text in, an immutable program out, cheap to run.

`load` creates nodes with their positions, `parse` one syntax tree for HOT and CFN, `bind` finds
types and nested templates, `compile` checks, `specialise` adds parameter values. All errors are
reported at once, as `Rejected`. The package does no I/O, and knows no clock and no cloud. Resource
types come from `TypeCatalog`, values of resources from `World`.
"""

from hearth.template.compile import compile_template, module_key, parameter_types
from hearth.template.environment import Environment
from hearth.template.errors import BelowError, EvaluationError
from hearth.template.evaluated import Evaluated
from hearth.template.limits import Limits
from hearth.template.load import Node, load
from hearth.template.members import asked
from hearth.template.output import Output
from hearth.template.parameters import ParameterValue
from hearth.template.program import Module, Program, ResourceDefinition
from hearth.template.types import TypeCatalog, TypeInfo
from hearth.template.walk import walk
from hearth.template.world import NOWHERE, Facade, NullWorld, World

__all__ = [
    "NOWHERE",
    "BelowError",
    "Environment",
    "Evaluated",
    "EvaluationError",
    "Facade",
    "Limits",
    "Module",
    "Node",
    "NullWorld",
    "Output",
    "ParameterValue",
    "Program",
    "ResourceDefinition",
    "TypeCatalog",
    "TypeInfo",
    "World",
    "asked",
    "compile_template",
    "load",
    "module_key",
    "parameter_types",
    "walk",
]
