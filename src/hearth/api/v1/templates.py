"""The template service: validation, resource types, versions and functions of the language."""

import re

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import hearth
from hearth.api.v1 import parse
from hearth.api.v1 import type_template as made
from hearth.api.v1.context import house_of, member_of
from hearth.model.problem import EntityNotFound, NotSupported, Rejected, nearest
from hearth.resources.base import ResourceType
from hearth.schema.describe import as_json
from hearth.schema.prop import SupportStatus
from hearth.service.problems import NotFound
from hearth.service.validate import findings
from hearth.service.validate import validate as validate_template
from hearth.template import describe


async def validate(request: Request) -> Response:
    """POST /validate. An extension: with `show_findings`, all that lint finds, and nothing else."""
    caller = member_of(request)
    wanted = parse.wanted(await parse.body(request))
    codes = request.query_params.get("ignore_errors", "")
    for code in filter(None, codes.split(",")):
        if code != "99001":
            raise parse.bad(f"Invalid codes in ignore_errors: {code}")
    if parse.flag(request, "show_findings"):
        return JSONResponse({"Findings": await findings(house_of(request), wanted)})
    found = await validate_template(
        house_of(request), caller, wanted, show_nested=parse.flag(request, "show_nested")
    )
    return JSONResponse(found)


async def type_list(request: Request) -> Response:
    """GET /resource_types."""
    member_of(request)
    status = request.query_params.get("support_status")
    if status is not None and status not in SupportStatus.__members__:
        raise parse.bad(f"Invalid support status {status}")
    pattern, version = request.query_params.get("name"), request.query_params.get("version")
    found = []
    for kind in _types(request):
        if not _matches(pattern, kind.name) or (status is None and kind.support.hidden):
            continue
        if status is not None and kind.support.status != status:
            continue
        if version is not None and kind.support.version != version:
            continue
        found.append(kind)
    if parse.flag(request, "with_description"):
        body: list[object] = [
            {"resource_type": kind.name, "description": _about(kind)} for kind in found
        ]
    else:
        body = [kind.name for kind in found]
    return JSONResponse({"resource_types": body})


def _types(request: Request) -> list[ResourceType]:
    catalog = house_of(request).programs.catalog
    found = (catalog.find(name) for name in catalog.names() if not name.startswith("<"))
    return [kind for kind in found if isinstance(kind, ResourceType)]


def _matches(pattern: str | None, name: str) -> bool:
    if not pattern:
        return True
    try:
        return re.match(pattern, name) is not None
    except re.error:
        return False


def _about(kind: ResourceType) -> str:
    return " ".join((kind.__doc__ or "").split())


def _type(request: Request) -> ResourceType:
    name = request.path_params["type_name"]
    catalog = house_of(request).programs.catalog
    kind = catalog.find(name)
    if not isinstance(kind, ResourceType):
        like = nearest(name, catalog.names())
        words = f"{name}; did you mean {like}?" if like else name
        raise Rejected([EntityNotFound(None, "Resource Type", words)])
    if kind.support.hidden:
        raise Rejected([NotSupported(None, f"The schema of {name} is hidden.")])
    return kind


async def type_show(request: Request) -> Response:
    """GET /resource_types/{type}."""
    member_of(request)
    kind = _type(request)
    support = kind.support
    return JSONResponse(
        {
            "resource_type": kind.name,
            "description": _about(kind),
            "properties": {name: as_json(prop) for name, prop in kind.properties.items()},
            "attributes": {name: as_json(attr) for name, attr in kind.attributes.items()},
            "support_status": _support(support),
        }
    )


async def type_template(request: Request) -> Response:
    """GET /resource_types/{type}/template: a template with all that the type has."""
    member_of(request)
    kind = _type(request)
    match request.query_params.get("template_type", "cfn").lower():
        case "cfn":
            return JSONResponse(made.cfn(kind))
        case "hot":
            return JSONResponse(made.hot(kind))
        case other:
            raise parse.bad(f"Template type is not supported: {other}; hot and cfn are")


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
    """GET /template_versions."""
    member_of(request)
    return JSONResponse({"template_versions": describe.versions()})


async def functions(request: Request) -> Response:
    """GET /template_versions/{v}/functions."""
    member_of(request)
    version = request.path_params["version"]
    found = describe.functions(version, conditions=parse.flag(request, "with_condition_func"))
    if found is None:
        raise Rejected([NotFound(None, f"Template version {version} not found")])
    return JSONResponse({"template_functions": found})


async def build_info(request: Request) -> Response:
    """GET /build_info."""
    member_of(request)
    about = {"revision": f"hearth-{hearth.__version__}"}
    return JSONResponse({"api": about, "engine": about})
