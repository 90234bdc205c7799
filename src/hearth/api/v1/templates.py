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
    ResourceTypeUnavailable,
    nearest,
    rejection,
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
    validation = await validate_template(
        services_of(request),
        caller,
        stack_request,
        show_nested=parse.flag(request, queries.NESTED),
        any_service=bool(codes),
    )
    return JSONResponse(validation)


async def type_list(request: Request) -> Response:
    """List the resource types that the caller may use and the cloud can serve."""
    status = parse.last(request, queries.SUPPORT_STATUS)
    if status is not None and status not in SupportStatus.__members__:
        choices = ", ".join(SupportStatus.__members__)
        raise rejection(Invalid, f"Invalid support status {status}: expected one of {choices}")
    pattern = parse.last(request, queries.TYPE_NAME)
    version = parse.last(request, queries.TYPE_VERSION)
    rtypes = []
    for rtype in await _types(request):
        if not _matches(pattern, rtype.name) or (status is None and rtype.support.hidden):
            continue
        if status is not None and rtype.support.status != status:
            continue
        if version is not None and rtype.support.version != version:
            continue
        rtypes.append(rtype)
    if parse.flag(request, queries.WITH_DESCRIPTION):
        body: list[object] = [
            {"resource_type": rtype.name, "description": _about(rtype)} for rtype in rtypes
        ]
    else:
        body = [rtype.name for rtype in rtypes]
    return JSONResponse({"resource_types": body})


async def _types(request: Request) -> list[ResourceType]:
    """Return the types that the policy allows and that the cloud can serve, sorted by name."""
    services, caller = services_of(request), caller_of(request)
    catalog = services.programs.catalog
    names = sorted({*catalog.names(), *retired_types()})
    lacking = await unavailable_to(services, caller, names)
    usable = [name for name in names if not name.startswith("<") and name not in lacking]
    candidates = map(catalog.find, usable)
    return [
        rtype
        for rtype in candidates
        if isinstance(rtype, ResourceType) and services.policy.allows_type(rtype.name, caller)
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


def _about(rtype: ResourceType) -> str:
    return " ".join((rtype.__doc__ or "").split())


async def _type(request: Request) -> ResourceType:
    """Return the resource type in the path. Raises Rejected if it is unknown, hidden or not
    allowed, or if the cloud cannot serve it.
    """
    name = request.path_params["type_name"]
    services = services_of(request)
    services.policy.demand_types([name], caller_of(request))
    catalog = services.programs.catalog
    rtype = catalog.find(name)
    if not isinstance(rtype, ResourceType):
        like = nearest(name, catalog.names())
        message = f"{name}; did you mean {like}?" if like else name
        raise rejection(EntityNotFound, "Resource Type", message)
    if rtype.support.hidden:
        raise rejection(NotSupported, f"The schema of {name} is hidden.")
    for reason in (await unavailable_to(services, caller_of(request), [name])).values():
        raise rejection(ResourceTypeUnavailable, f"{name}: {reason}")
    return rtype


async def type_show(request: Request) -> Response:
    """Show the properties and attributes of a resource type."""
    rtype = await _type(request)
    support = rtype.support
    return JSONResponse(
        {
            "resource_type": rtype.name,
            "description": _about(rtype),
            "properties": _visible(rtype.properties),
            "attributes": _visible(rtype.attributes),
            "support_status": _support(support),
        }
    )


async def type_template(request: Request) -> Response:
    """Generate a template for a resource type: a parameter for each property, an output for
    each attribute.
    """
    rtype = await _type(request)
    match (parse.last(request, queries.TEMPLATE_TYPE) or "cfn").lower():
        case "cfn":
            return JSONResponse(made.cfn(rtype))
        case "hot":
            return JSONResponse(made.hot(rtype))
        case other:
            raise parse.bad(f"Template type is not supported: {other}; expected hot or cfn")


def _visible(declared: Mapping[str, Prop] | Mapping[str, Attr]) -> dict[str, object]:
    """Return the declarations as JSON, without hidden ones, which exist only for old templates."""
    return {
        name: as_json(declaration)
        for name, declaration in declared.items()
        if declaration.support is None or not declaration.support.hidden
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
    functions = describe.functions(
        version, conditions=parse.flag(request, queries.WITH_CONDITION_FUNC)
    )
    if functions is None:
        raise rejection(NotFound, f"Template version {version} not found")
    return JSONResponse({"template_functions": functions})
