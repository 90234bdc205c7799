"""The persona walk: each policy rule, asked for by each kind of person.

What is expected is computed from the recorded defaults, not from the product's rules. A request
names what is not there, so whoever is let in gets another refusal and nothing changes.
"""

import json
import re
from typing import Any

from hearth.api.endpoint import Endpoint
from hearth.api.v1.routes import ROUTES
from tests.walk.ground import FACTS, Ground, Person, table
from tests.walk.signed import signed_action

RULES: dict[str, dict[str, Any]] = json.loads((FACTS / "policies.json").read_text())["rules"]
PERSONS = ("admin", "member", "reader", "nobody", "guest", "stranger")
NOTHING = "nothing-of-this-name"
NO_ROUTE = {"actions:action", "actions:snapshot", "stacks:update_no_change"}
OF_OTHERS = {("software_deployments:metadata", "guest")}  # of a server that is not the guest's
QUERIES = {
    "stacks:global_index": "stack_index",
    "software_configs:global_index": "software_config_index",
}


def may(rule: str, person: Person, *, stranger: bool) -> bool:
    """Whether the recorded default lets a person in, in the first project's path."""
    if stranger and "%(project_id)s" in RULES[rule]["default"]:
        return False
    return _holds(RULES[rule]["default"], person)


def _holds(check: str, person: Person) -> bool:
    words = re.sub(r"project_id:%\(project_id\)s", "True", check)
    words = words.replace("is_admin_project:True", "True")
    words = re.sub(r"role:(\w+)", lambda m: str(m[1] in person.roles), words)
    words = re.sub(r"rule:([\w:]+)", lambda m: str(_holds(RULES[m[1]]["default"], person)), words)
    words = {"": "True", "!": "False"}.get(words.strip(), words)
    assert set(re.findall(r"\w+", words)) <= {"True", "False", "and", "or", "not"}, words
    return bool(eval(words))


def _ask(ground: Ground, rule: str, person: str) -> list[int]:
    """The statuses of all that asks for a rule."""
    if rule.startswith("resource_types:"):
        name = rule.removeprefix("resource_types:").replace("*", "User")
        return [ground.ask("resource_schema", by=person, type_name=name).status]
    if rule.startswith("cloudformation:"):
        return [signed_action(ground, person, rule.partition(":")[2])]
    if rule.startswith("actions:"):
        (endpoint,) = (one for one in ROUTES if one.name == "action_stack")
        return [_call(ground, endpoint, person, {rule.partition(":")[2]: None})]
    if rule in QUERIES:
        return [ground.ask(QUERIES[rule], by=person, query="global_tenant=true").status]
    asked = [endpoint for endpoint in ROUTES if endpoint.rule == rule]
    assert asked, f"no operation asks for {rule}"
    return [_call(ground, endpoint, person) for endpoint in asked]


def _call(ground: Ground, endpoint: Endpoint, person: str, body: Any = None) -> int:
    path = dict.fromkeys(re.findall(r"{(\w+)}", endpoint.path), NOTHING)
    path["tenant_id"] = ground.people["member" if person == "stranger" else person].project_id
    return ground.send(endpoint, by=person, body=body, **path).status


def walk(ground: Ground) -> tuple[str, list[str]]:
    """The table, and what is wrong."""
    rows: list[tuple[str, ...]] = [("rule", *PERSONS)]
    wrong: list[str] = []
    for rule in sorted(name for name in RULES if ":" in name and name not in NO_ROUTE):
        cells = []
        for name in PERSONS:
            statuses = _ask(ground, rule, name)
            let_in = {status != 403 for status in statuses}
            stranger = name == "stranger" and not rule.startswith(("resource_types", "cloudform"))
            expected = may(rule, ground.people[name], stranger=stranger)
            if rule.startswith("resource_types:"):  # the schema of a type has a rule of its own
                expected &= may("stacks:resource_schema", ground.people[name], stranger=False)
            if rule in QUERIES:
                expected &= may(rule.replace("global_", ""), ground.people[name], stranger=False)
            expected &= (rule, name) not in OF_OTHERS
            cells.append("yes" if let_in == {True} else "no" if let_in == {False} else "partly")
            if let_in != {expected}:
                wrong.append(
                    f"{rule} by {name}: {statuses}, expected {'yes' if expected else 'no'}"
                )
            if any(status >= 500 and status != 503 for status in statuses):
                wrong.append(f"{rule} by {name}: {statuses}")
        rows.append((rule, *cells))
    return table(rows), wrong
