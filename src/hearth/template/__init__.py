"""The template compiler: it turns template text into an immutable program that is cheap to
evaluate.

`load` creates nodes with their positions. `parse` creates one kind of syntax tree for HOT and CFN.
`compile` finds the resource types and nested templates, and checks the result, the module.
`specialise` adds parameter values, which makes it a program. Errors are raised as `Rejected`; each
of these steps reports all errors that it can find. The package does no I/O and uses no clock.
Resource types come from a `TypeCatalog`, and values of resources from a `World`.
"""

from hearth.template.compile import compile_template, module_key, parameter_types
from hearth.template.environment import Environment
from hearth.template.errors import BelowError, EvaluationError
from hearth.template.evaluated import Evaluated
from hearth.template.limits import Limits
from hearth.template.load import Node, load
from hearth.template.members import full_attribute
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
    "compile_template",
    "full_attribute",
    "load",
    "module_key",
    "parameter_types",
    "walk",
]
