"""Each function of Horizon's `heat_dashboard.api.heat`, called as its panels call it.

    .dashboard-venv/bin/python tests/dashboard/calls.py < who.json

`who.json` has, for "member" and "admin": token, name, catalog, region. Prints JSON: the module's
functions, and what each call came to. Runs with the packages of the dashboard only.
"""

import inspect
import json
import sys
import time
import types

import django
import horizon.defaults
import openstack_auth.defaults
import openstack_dashboard.defaults
from django.conf import settings

DEFAULTS = (horizon.defaults, openstack_auth.defaults, openstack_dashboard.defaults)
settings.configure(**{
    **{key: value for one in DEFAULTS for key, value in vars(one).items() if key.isupper()},
    "API_RESULT_PAGE_SIZE": 2,
    "HORIZON_CONFIG": {"exceptions": {"unauthorized": (), "not_found": (), "recoverable": ()}},
    "INSTALLED_APPS": ["django.contrib.contenttypes", "django.contrib.auth"],
    "SECRET_KEY": "of nothing",
})  # fmt: skip
django.setup()

from heat_dashboard.api import heat  # noqa: E402 - needs the settings

DEADLINE_S = 60
TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "resources": {
        "word": {"type": "OS::Heat::RandomString", "metadata": {"colour": "blue"}},
        "value": {"type": "OS::Heat::Value", "properties": {"value": "one"}},
    },
}
CHANGED = {**TEMPLATE, "description": "changed"}
called = {}


def request_of(who):
    """What Horizon gives its functions: the user and the page's settings."""
    user = types.SimpleNamespace(
        token=types.SimpleNamespace(id=who["token"]),
        username=who["name"],
        service_catalog=who["catalog"],
        services_region=who["region"],
    )
    return types.SimpleNamespace(user=user, session={}, COOKIES={})


def call(name, *arguments, **named):
    """Call a function of the module; what it gives."""
    found = getattr(heat, name)(*arguments, **named)
    called[name] = plain(found)
    return found


def plain(found):
    """The same in a form that JSON knows."""
    if isinstance(found, list | tuple | types.GeneratorType):
        return [plain(one) for one in found]
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    if found is None or isinstance(found, str | int | float | bool):
        return found
    return plain(found.to_dict()) if hasattr(found, "to_dict") else type(found).__name__


def settle(request, stack_id, state):
    """Wait until the stack is in a state."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        stack = heat.stack_get(request, stack_id)
        if stack.stack_status == state:
            return stack
        if stack.stack_status.endswith("_FAILED"):
            sys.exit(f"{state}: {stack.stack_status}: {stack.stack_status_reason}")
        time.sleep(0.1)
    sys.exit(f"not within {DEADLINE_S} s: {state}")


def play(member, admin):
    """A user's visit to the panels of stacks."""
    call("format_parameters", {"a": "b"})
    call("heatclient", member)
    call("template_version_list", member)
    call("template_function_list", member, "heat_template_version.2021-04-16")
    call("resource_types_list", member, filters={"name": ".*RandomString"})
    call("resource_type_get", member, "OS::Heat::RandomString")
    call("service_list", admin)
    call("get_template_files", template_data=json.dumps(TEMPLATE))
    call("template_validate", member, template=TEMPLATE)
    fields = {"timeout_mins": 60, "disable_rollback": True, "parameters": {}, "template": TEMPLATE}
    call("stack_preview", member, stack_name="seen", **fields)
    for name in ("first", "second", "third"):
        made = call("stack_create", member, "password", stack_name=name, **fields)
    stack_id = made["stack"]["id"]
    settle(member, stack_id, "CREATE_COMPLETE")
    page, more, _ = call("stacks_list", member, paginate=True)
    rest, _, before = heat.stacks_list(member, marker=page[-1].id, paginate=True)
    called["pages"] = [len(page), more, len(rest), before]
    called["filtered"] = plain(
        heat.stacks_list(member, filters={"name": "first", "status": "Create Complete"})
    )
    stack = call("stack_get", member, stack_id)
    path = f"{stack.stack_name}/{stack.id}"  # as panels name it
    call("template_get", member, stack_id)
    call("resources_list", member, stack.stack_name)
    call("resource_get", member, stack_id, "word")
    call("resource_metadata_get", member, stack_id, "word")
    call("events_list", member, stack.stack_name, paginate=True)
    call("stack_update", member, stack_id, "password", **{**fields, "template": CHANGED})
    settle(member, stack_id, "UPDATE_COMPLETE")
    for verb in ("check", "suspend", "resume"):
        call(f"action_{verb}", member, stack_id)
        settle(member, stack_id, f"{verb.upper()}_COMPLETE")
    taken = call("snapshot_create", member, stack_id)["id"]
    settle(member, stack_id, "SNAPSHOT_COMPLETE")
    call("snapshot_list", member, stack_id)
    call("snapshot_show", member, stack_id, taken)
    call("snapshot_delete", member, stack_id, taken)
    call("stack_delete", member, path)
    settle(member, stack_id, "DELETE_COMPLETE")


def functions():
    """The public functions that the module itself defines."""
    return sorted(
        name
        for name, found in vars(heat).items()
        if not name.startswith("_") and callable(found)
        and getattr(inspect.unwrap(found), "__module__", None) == heat.__name__
    )  # fmt: skip


if __name__ == "__main__":
    given = json.load(sys.stdin)
    play(request_of(given["member"]), request_of(given["admin"]))
    json.dump({"functions": functions(), "called": called}, sys.stdout)
