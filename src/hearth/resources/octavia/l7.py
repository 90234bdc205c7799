"""OS::Octavia::L7Policy and OS::Octavia::L7Rule: what a listener does with matching requests."""

from hearth.resources.octavia.base import OctaviaResource, lbaas
from hearth.resources.properties import ADMIN_STATE_UP, NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    BOOLEAN,
    LIST,
    NUMBER,
    STRING,
    AllowedValues,
    Attr,
    OnlyFor,
    Prop,
    Range,
    RequiredFor,
    Resolve,
    Support,
)

TARGETS = {"REDIRECT_TO_POOL": "redirect_pool", "REDIRECT_TO_URL": "redirect_url"}
KEYED = ("HEADER", "COOKIE")


class L7Policy(OctaviaResource):
    """An action of a listener for requests that match all rules of the policy."""

    type_name = "OS::Octavia::L7Policy"
    support = Support(version="10.0.0")
    properties = {
        "action": Prop(
            STRING,
            "Action for matching requests.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["REJECT", "REDIRECT_TO_POOL", "REDIRECT_TO_URL"]),),
        ),
        "admin_state_up": ADMIN_STATE_UP,
        "description": OPTIONAL_DESCRIPTION,
        "listener": Prop(
            STRING, "The listener, by name or id.", required=True, constraint="octavia.listener"
        ),
        "name": NAME,
        "position": Prop(
            NUMBER,
            "Its position among the policies of the listener, from 1; the first match applies.",
            update_allowed=True,
            constraints=(Range(min=1),),
        ),
        "redirect_pool": Prop(
            STRING,
            "Pool that receives matching requests, by name or id.",
            update_allowed=True,
            constraint="octavia.pool",
        ),
        "redirect_url": Prop(STRING, "URL to which clients are redirected.", update_allowed=True),
    }
    attributes = {
        "rules": Attr(LIST, "Its rules."),
    }
    translation = (
        Resolve(("listener",), "octavia.listener"),
        Resolve(("redirect_pool",), "octavia.pool"),
    )
    collection = lbaas("l7policies", "l7policy")
    renamed = {"listener": "listener_id", "redirect_pool": "redirect_pool_id"}
    relations = (
        RequiredFor("redirect_pool", "action", "REDIRECT_TO_POOL"),
        RequiredFor("redirect_url", "action", "REDIRECT_TO_URL"),
        OnlyFor("redirect_pool", "action", "REDIRECT_TO_POOL"),
        OnlyFor("redirect_url", "action", "REDIRECT_TO_URL"),
    )


class L7Rule(OctaviaResource):
    """A condition on requests, which belongs to a policy."""

    type_name = "OS::Octavia::L7Rule"
    support = Support(version="10.0.0")
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "compare_type": Prop(
            STRING,
            "How the value is compared.",
            required=True,
            update_allowed=True,
            constraints=(
                AllowedValues(["REGEX", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "EQUAL_TO"]),
            ),
        ),
        "invert": Prop(
            BOOLEAN,
            "true: the result of the comparison is inverted.",
            default=False,
            update_allowed=True,
        ),
        "key": Prop(STRING, "Name of the header or cookie.", update_allowed=True),
        "l7policy": Prop(
            STRING, "The policy, by name or id.", required=True, constraint="octavia.l7policy"
        ),
        "type": Prop(
            STRING,
            "Part of the request to compare.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["HOST_NAME", "PATH", "FILE_TYPE", "HEADER", "COOKIE"]),),
        ),
        "value": Prop(STRING, "Value to compare with.", required=True, update_allowed=True),
    }
    translation = (Resolve(("l7policy",), "octavia.l7policy"),)
    collection = lbaas("l7policies/{l7policy}/rules", "rule")
    not_sent = frozenset({"l7policy"})
    relations = (RequiredFor("key", "type", "HEADER", "COOKIE"),)
