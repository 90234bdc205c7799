"""Functions that read parameters, resources, files and mappings.

Source: docs/spec/hot.md, section 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from hearth.model.problem import InvalidTemplateReference
from hearth.model.unknown import UNKNOWN, Unknown
from hearth.model.value import ValueKind
from hearth.template.errors import EvaluationError
from hearth.template.function import Function, Reads, Refers, named, register
from hearth.template.scope import Evaluable, Scope
from hearth.template.walk import walk


def get_param(args: Any, scope: Scope) -> Any:
    """Return the value of a parameter, or the part of it at a path; empty text if there is no such
    part.

    `args` is the name of the parameter, or the list [name, step of the path, …].
    """
    if isinstance(args, list):
        if not args:
            raise EvaluationError("expected the name of a parameter")
        name, path = args[0], args[1:]
    else:
        name, path = args, []
    if not isinstance(name, str):
        raise EvaluationError(f"the name of a parameter must be a string, not {name!r}")
    value = scope.parameter(name)
    for step in path:
        if isinstance(value, Unknown):
            return Unknown(value.until)
        value = _param_step(value, step)
        if value is _NOTHING:
            return ""
    return value


class _Nothing:
    pass


_NOTHING = _Nothing()


def _param_step(value: Any, step: Any) -> Any:
    if isinstance(value, Mapping):
        return value.get(step if isinstance(step, str) else str(step), _NOTHING)
    if isinstance(value, list | str) and isinstance(step, int | str):
        try:
            return value[int(step)]
        except (ValueError, IndexError):
            return _NOTHING
    return _NOTHING


def get_resource(args: Any, scope: Scope) -> Any:
    """Return the reference id of the resource named `args`."""
    if not isinstance(args, str):
        raise EvaluationError(f"the name of a resource must be a string, not {args!r}")
    if args not in scope.resources:
        raise EvaluationError(f'there is no resource "{args}"')
    return scope.reference(args)


def _check_name(args: Any) -> str | None:
    return "expected the name of a resource" if isinstance(args, list | dict) else None


def _attribute_args(args: Any, scope: Scope) -> tuple[str, list[Any]]:
    parts = list(args) if isinstance(args, str | list) else []
    if not parts or not isinstance(parts[0], str):
        raise EvaluationError("expected the name of a resource and an attribute")
    if parts[0] not in scope.resources:
        raise EvaluationError(f'there is no resource "{parts[0]}"')
    return parts[0], parts[1:]


def get_attr(args: Any, scope: Scope) -> Any:
    """Return an attribute of a resource, or the part of it at a path.

    `args` is the list [resource, attribute, step of the path, …]. Without an attribute, return a
    map of all attributes.
    """
    if isinstance(args, list):
        for part in args:
            if isinstance(part, Unknown):
                return part
    name, path = _attribute_args(args, scope)
    if not path:
        return {
            attribute: scope.attribute(name, attribute, ())
            for attribute in scope.attribute_names(name)
        }
    return scope.attribute(name, attribute_name(path[0]), tuple(path[1:]))


def attribute_name(name: Any) -> str:
    """Return the name of an attribute as text; a member of a group may be given as a number."""
    if isinstance(name, int):
        return str(name)
    if not isinstance(name, str):
        raise EvaluationError(f"the name of an attribute must be a string, not {name!r}")
    return name


def get_attr_then_select(args: Any, scope: Scope) -> Any:
    """Return an attribute, or the part of it at a path, as the oldest template versions do.

    `args` is the list [resource, attribute, step of the path, …]. These versions read the whole
    attribute from the resource and then follow the path in its value.
    """
    if isinstance(args, list):
        for part in args:
            if isinstance(part, Unknown):
                return part
    name, path = _attribute_args(args, scope)
    value = scope.attribute(name, attribute_name(path[0]), ())
    return walk(value, path[1:])


def _check_attribute(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) < 2:
        return "expected a list with a resource, an attribute and steps into it"
    return None


def _check_attributes(args: Any) -> str | None:
    if isinstance(args, str) and args:
        return None
    if not isinstance(args, list) or not args:
        return "expected a list with a resource, an attribute and steps into it"
    return None


def _check_get_att(args: Any) -> str | None:
    if not isinstance(args, list) or len(args) != 2:
        return "expected a list with a resource and an attribute"
    return None


def get_file(args: Any, scope: Scope) -> str:
    """Return the text of the file named `args` in the request."""
    if not isinstance(args, str):
        raise EvaluationError(f"the name of a file must be a string, not {args!r}")
    if args not in scope.files:
        raise EvaluationError(f'there is no file "{args}" in the request', steps=())
    return scope.files[args]


def _facade(attributes: Mapping[str, str]) -> tuple[Any, Any]:
    def check(args: Any) -> str | None:
        if isinstance(args, str) and args in attributes:
            return None
        return f"expected one of {', '.join(attributes)}"

    def apply(args: Any, scope: Scope) -> Any:
        if scope.facade is None:
            raise EvaluationError("this stack is not a nested stack, so it has no parent resource")
        return getattr(scope.facade, attributes[args])

    return apply, check


def _facade_kinds(args: Any) -> frozenset[ValueKind]:
    policy = isinstance(args, str) and args.lower().startswith("deletion")
    return frozenset({ValueKind.STRING if policy else ValueKind.MAP})


def ref(args: Any, scope: Scope) -> Any:
    """Return the reference id of the resource named `args`; if there is none, the value of the
    parameter with this name.
    """
    if isinstance(args, str) and args in scope.resources:
        return scope.reference(args)
    return scope.parameter(args)


def _ref_as(args: Evaluable, scope: Scope) -> Function | None:
    value = getattr(args, "value", None)
    if not isinstance(value, str):
        return None
    if value in scope.resources:
        return named("get_resource")
    is_parameter = value in scope.parameters or value in scope.missing
    return named("get_param") if is_parameter else named("get_resource")


def param_ref(args: Any, scope: Scope) -> Any:
    """Return the value of the parameter named `args`, for `Ref` in a condition, which cannot refer
    to resources.
    """
    if isinstance(args, str) and args not in scope.parameters and args not in scope.missing:
        problem = partial(InvalidTemplateReference, name=str(args))
        raise EvaluationError(f'there is no parameter "{args}"', problem=problem)
    return scope.parameter(args)


def find_in_map(args: Any, scope: Scope) -> Any:
    """Return a value in the section Mappings; `args` is the list [mapping, key, inner key]."""
    value: Any = scope.mappings
    for step in args:
        if not isinstance(value, Mapping) or not isinstance(step, str) or step not in value:
            raise EvaluationError(f'there is no "{step}" in the mapping')
        value = value[step]
    return value


def _check_three(args: Any) -> str | None:
    message = "expected a list with a mapping, a key and a key inside it"
    return None if isinstance(args, list) and len(args) == 3 else message


def availability_zones(args: Any, scope: Scope) -> Any:
    """Return the names of all availability zones, or Unknown if the world cannot list them."""
    zones = getattr(scope.world, "availability_zones", None)
    return zones() if zones is not None else UNKNOWN


register(Function("get_param", get_param, reads=Reads.PARAMETERS))
register(
    Function("get_resource", get_resource, _check_name, reads=Reads.WORLD, refers=Refers.RESOURCE)
)
register(
    Function(
        "get_attr",
        get_attr,
        _check_attributes,
        reads=Reads.WORLD,
        refers=Refers.ATTRIBUTE,
        strict=False,
    )
)
register(
    Function(
        "get_attr.path",
        get_attr,
        _check_attribute,
        reads=Reads.WORLD,
        refers=Refers.ATTRIBUTE,
        strict=False,
    )
)
register(
    Function(
        "get_attr.select",
        get_attr_then_select,
        _check_attribute,
        reads=Reads.WORLD,
        refers=Refers.ATTRIBUTE,
        strict=False,
    )
)
register(
    Function(
        "Fn::GetAtt",
        get_attr,
        _check_get_att,
        reads=Reads.WORLD,
        refers=Refers.ATTRIBUTE,
        strict=False,
    )
)
register(Function("get_file", get_file, gives=ValueKind.STRING))
_apply, _check = _facade({word: word for word in ("metadata", "deletion_policy", "update_policy")})
register(Function("resource_facade", _apply, _check, reads=Reads.WORLD, gives=_facade_kinds))
_apply, _check = _facade(
    {
        "Metadata": "metadata",
        "DeletionPolicy": "deletion_policy",
        "UpdatePolicy": "update_policy",
    }
)
register(Function("Fn::ResourceFacade", _apply, _check, reads=Reads.WORLD, gives=_facade_kinds))
register(Function("Ref", ref, reads=Reads.PARAMETERS, refers=Refers.RESOURCE, rewrite=_ref_as))
register(Function("Ref.parameter", param_ref, reads=Reads.PARAMETERS))
register(Function("Fn::FindInMap", find_in_map, _check_three))
register(
    Function(
        "Fn::GetAZs", availability_zones, reads=Reads.WORLD, strict=False, gives=ValueKind.LIST
    )
)
