"""The configuration that is derived for one run of a deployment.

Source: docs/spec/software-config.md, section 3.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.resources.base import ResourceContext
from hearth.resources.heat.signed_url import signed_url
from hearth.resources.heat.software_io import UNGROUPED

WITH_USER = frozenset({"CFN_SIGNAL", "HEAT_SIGNAL", "ZAQAR_SIGNAL"})
WITH_KEYS = frozenset({"CFN_SIGNAL"})
_OF_SOURCE = ("name", "description", "type", "default")
_SIGNAL_ID = "ID of signal to use for signaling output values"
_SIGNAL_VERB = "HTTP verb to use for signaling output values"


def derived(ctx: ResourceContext, source: Mapping[str, Any] | None, config: Any) -> Body:
    """Return the configuration that the server applies for the action of `ctx`, in API format.

    It is derived from `source`, the stored configuration. `config` is the text or map to apply.
    """
    source = source or {}
    return {
        "name": ctx.given("name") or source.get("name") or ctx.physical_name,
        "group": source.get("group") or UNGROUPED,
        "config": config,
        "inputs": [*_input_rows(ctx, source), *_standard_inputs(ctx)],
        "outputs": list(source.get("outputs") or ()),
        "options": dict(source.get("options") or {}),
    }


def input_values(ctx: ResourceContext, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the value of each input as {name: value}: declared inputs, and others from
    `input_values`.
    """
    return {entry["name"]: entry["value"] for entry in _input_rows(ctx, source or {})}


def replacing_inputs(source: Mapping[str, Any] | None) -> list[str]:
    """Return the names of the inputs declared with replace_on_change."""
    declared = (source or {}).get("inputs") or ()
    return [entry["name"] for entry in declared if entry.get("replace_on_change")]


def filled(config: Any, key: str, values: Mapping[str, Any], *, strict: bool) -> Any:
    """Return `config` with each map `{key: NAME}` replaced by the value of the input NAME.

    An input without a value is replaced by None or, if `strict` is true, raises CloudFault.
    """
    match config:
        case {**only} if len(only) == 1 and isinstance(name := only.get(key), str):
            if strict and name not in values:
                message = f"The Parameter ({name}) was not provided."
                raise CloudFault("orchestration", 400, "UserParameterMissing", message)
            return values.get(name)
        case Mapping():
            return {
                inner_key: filled(inner, key, values, strict=strict)
                for inner_key, inner in config.items()
            }
        case list():
            return [filled(inner, key, values, strict=strict) for inner in config]
        case _:
            return config


def _input_rows(ctx: ResourceContext, source: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield the declared inputs with their values, then the values for inputs that are not
    declared.
    """
    values = dict(ctx.given("input_values") or {})
    for declared in source.get("inputs") or ():
        name, default = declared["name"], declared.get("default")
        declaration = {key: declared[key] for key in _OF_SOURCE if declared.get(key) is not None}
        yield {**declaration, "value": values.pop(name, default)}
    for name, value in values.items():
        yield {"name": name, "type": "String", "value": value}


def _standard_inputs(ctx: ResourceContext) -> Iterable[dict[str, Any]]:
    """Yield the standard inputs, which describe the run and tell the server how to signal its
    results.
    """
    stack, transport = ctx.stack, ctx.given("signal_transport")
    yield _text("deploy_server_id", "ID of the server being deployed to", ctx.given("server"))
    yield _text("deploy_action", "Name of the current action being deployed", ctx.action.value)
    yield _text(
        "deploy_stack_id",
        "ID of the stack this deployment belongs to",
        f"{stack.name}/{stack.id}",
    )
    yield _text("deploy_resource_name", "Name of this deployment resource in the stack", ctx.name)
    yield _text(
        "deploy_signal_transport",
        "How the server should signal to heat with the deployment output values.",
        transport,
    )
    match transport:
        case "CFN_SIGNAL":
            url = signed_url(ctx, ctx.data["access_key"], ctx.data["secret_key"], "signal")
            yield _text("deploy_signal_id", _SIGNAL_ID, url)
            yield _text("deploy_signal_verb", _SIGNAL_VERB, "POST")
        case "TEMP_URL_SIGNAL":
            yield _text("deploy_signal_id", _SIGNAL_ID, ctx.data["signal_url"])
            yield _text("deploy_signal_verb", _SIGNAL_VERB, "PUT")
        case "HEAT_SIGNAL" | "ZAQAR_SIGNAL":
            yield from _credentials(ctx)
    if transport == "ZAQAR_SIGNAL":
        yield _text(
            "deploy_queue_id", "ID of queue to use for signaling output values", ctx.data["queue"]
        )


def _credentials(ctx: ResourceContext) -> Iterable[dict[str, Any]]:
    """Yield the standard inputs with the credentials of the deployment's own user."""
    stack, purpose = ctx.stack, "for API authentication"
    yield _text("deploy_auth_url", f"URL {purpose}", stack.identity_url)
    yield _text("deploy_username", f"Username {purpose}", ctx.physical_name)
    yield _text("deploy_user_id", f"User ID {purpose}", ctx.data["user_id"])
    yield _text("deploy_password", f"Password {purpose}", ctx.data["password"])
    project_id = stack.user_project_id or stack.project_id
    yield _text("deploy_project_id", f"ID of project {purpose}", project_id)
    if stack.region:
        yield _text("deploy_region_name", f"Region name {purpose}", stack.region)


def _text(name: str, description: str, value: Any) -> dict[str, Any]:
    return {"name": name, "type": "String", "description": description, "value": value}
