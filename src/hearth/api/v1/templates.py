"""Handlers of the routes for validation, resource types, and versions and functions of the
language.
"""

import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.v1 import parse, queries
from hearth.api.v1 import type_template as made
from hearth.api.v1.context import caller_of, services_of
from hearth.model.problem import (
    EntityNotFound,
    Invalid,
    NotFound,
    NotSupported,
    Rejected,
    ResourceTypeUnavailable,
    nearest,
)
from hearth.resources.base import ResourceType
from hearth.resources.registry import retired_types
from hearth.schema.describe import as_json
from hearth.schema.prop import Attr, Prop, SupportStatus
from hearth.service.stacks.types_used import unavailable_to
from hearth.service.stacks.validate import findings
from hearth.service.stacks.validate import validate as validate_template
from hearth.template import describe

UNAVAILABLE = "99001"
"""The code of the error that the cloud has no service for a type; clients can ignore it."""


async def validate(request: Request) -> Response:
    """Validate a template. Values of parameters may be missing. All errors are of the same type.

    With `show_findings` the response has the findings of `hearth lint` and nothing else.
    """
    caller = caller_of(request)
    stack_request = await parse.stack_request_of(request, await parse.body(request))
    codes = list(filter(None, (parse.last(request, queries.IGNORE_ERRORS) or "").split(",")))
    for code in codes:
        if code != UNAVAILABLE:
            raise parse.bad(f"Invalid codes in ignore_errors: {code}")
    if parse.flag(request, queries.SHOW_FINDINGS):
        return JSONResponse(
            {"Findings": await findings(services_of(request), caller, stack_request)}
        )
    found = await validate_template(
        services_of(request),
        caller,
        stack_request,
        show_nested=parse.flag(request, queries.NESTED),
        any_service=bool(codes),
    )
    return JSONResponse(found)


async def type_list(request: Request) -> Response:
    """List the resource types that the caller may use and the cloud can serve."""
    status = parse.last(request, queries.SUPPORT_STATUS)
    if status is not None and status not in SupportStatus.__members__:
        known = ", ".join(SupportStatus.__members__)
        raise Rejected([Invalid(None, f"Invalid support status {status}: expected one of {known}")])
    pattern = parse.last(request, queries.TYPE_NAME)
    version = parse.last(request, queries.TYPE_VERSION)
    found = []
    for kind in await _types(request):
        if not _matches(pattern, kind.name) or (status is None and kind.support.hidden):
            continue
        if status is not None and kind.support.status != status:
            continue
        if version is not None and kind.support.version != version:
            continue
        found.append(kind)
    if parse.flag(request, queries.WITH_DESCRIPTION):
        body: list[object] = [
            {"resource_type": kind.name, "description": _about(kind)} for kind in found
        ]
    else:
        body = [kind.name for kind in found]
    return JSONResponse({"resource_types": body})


async def _types(request: Request) -> list[ResourceType]:
    """Return the types that the policy allows and that the cloud can serve, sorted by name."""
    services, caller = services_of(request), caller_of(request)
    catalog = services.programs.catalog
    names = sorted({*catalog.names(), *retired_types()})
    lacking = await unavailable_to(services, caller, names)
    usable = [name for name in names if not name.startswith("<") and name not in lacking]
    found = map(catalog.find, usable)
    return [
        kind
        for kind in found
        if isinstance(kind, ResourceType) and services.policy.allows_type(kind.name, caller)
    ]


def _matches(pattern: str | None, name: str) -> bool:
    """Return whether a name begins as the regular expression describes; a malformed one matches
    nothing.
    """
    if not pattern:
        return True
    try:
        return re.match(pattern, name) is not None
    except re.error:
        return False


def _about(kind: ResourceType) -> str:
    return " ".join((kind.__doc__ or "").split())


async def _type(request: Request) -> ResourceType:
    """Return the resource type in the path. Raises Rejected if it is unknown, hidden or not
    allowed, or if the cloud cannot serve it.
    """
    name = request.path_params["type_name"]
    services = services_of(request)
    services.policy.demand_types([name], caller_of(request))
    catalog = services.programs.catalog
    kind = catalog.find(name)
    if not isinstance(kind, ResourceType):
        like = nearest(name, catalog.names())
        words = f"{name}; did you mean {like}?" if like else name
        raise Rejected([EntityNotFound(None, "Resource Type", words)])
    if kind.support.hidden:
        raise Rejected([NotSupported(None, f"The schema of {name} is hidden.")])
    for why in (await unavailable_to(services, caller_of(request), [name])).values():
        raise Rejected([ResourceTypeUnavailable(None, f"{name}: {why}")])
    return kind


async def type_show(request: Request) -> Response:
    """Show the properties and attributes of a resource type."""
    kind = await _type(request)
    support = kind.support
    return JSONResponse(
        {
            "resource_type": kind.name,
            "description": _about(kind),
            "properties": _visible(kind.properties),
            "attributes": _visible(kind.attributes),
            "support_status": _support(support),
        }
    )


async def type_template(request: Request) -> Response:
    """Generate a template for a resource type: a parameter for each property, an output for
    each attribute.
    """
    kind = await _type(request)
    match (parse.last(request, queries.TEMPLATE_TYPE) or "cfn").lower():
        case "cfn":
            return JSONResponse(made.cfn(kind))
        case "hot":
            return JSONResponse(made.hot(kind))
        case other:
            raise parse.bad(f"Template type is not supported: {other}; expected hot or cfn")


def _visible(declared: Mapping[str, Prop] | Mapping[str, Attr]) -> dict[str, object]:
    """Return the declarations as JSON, without hidden ones, which exist only for old templates."""
    return {
        name: as_json(one)
        for name, one in declared.items()
        if one.support is None or not one.support.hidden
    }


def _support(support: object) -> dict[str, object] | None:
    if support is None:
        return None
    return {
        "status": str(getattr(support, "status", "")),
        "message": getattr(support, "message", None),
        "version": getattr(support, "version", None),
        "previous_status": _support(getattr(support, "previous", None)),
    }


async def versions(request: Request) -> Response:
    """List the versions of the template language."""
    return JSONResponse({"template_versions": describe.versions()})


async def functions(request: Request) -> Response:
    """List the functions of a version of the template language."""
    version = request.path_params["template_version"]
    found = describe.functions(version, conditions=parse.flag(request, queries.WITH_CONDITION_FUNC))
    if found is None:
        raise Rejected([NotFound(None, f"Template version {version} not found")])
    return JSONResponse({"template_functions": found})
