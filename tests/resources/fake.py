"""A `ResourceContext` for types that need no cloud."""

from hearth.model.span import Span
from hearth.model.state import Action
from hearth.resources.base import ResourceContext, StackFacts
from hearth.resources.registry import builtin_types
from hearth.schema import Findings, coerce_all


def context_of(type_name, properties, **more):
    """A resource of that type, before its create."""
    kind = builtin_types()[type_name]
    found = Findings()
    values = coerce_all(kind.properties, properties, Span(), found)
    assert found.problems == []
    facts = StackFacts(
        "stack-id",
        "web",
        "project",
        user_project_id="users",
        heat_url="http://heat:8004/v1/project",
        cfn_url="http://cfn:8000/v1",
        identity_url="http://keystone:5000/v3",
    )
    given = {
        "action": Action.CREATE,
        "physical_id": None,
        "physical_name": "web-thing-abc",
        "key": "key",
        "secret": lambda: "seed",
        "kind": kind,
        "cloud": None,
        **more,
    }
    return ResourceContext("record", "thing", type_name, facts, properties=values, **given)
