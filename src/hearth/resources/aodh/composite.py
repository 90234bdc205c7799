"""OS::Aodh::CompositeAlarm: several rules combined with "and" or "or"."""

from hearth.cloud.contract import Body
from hearth.resources.aodh.base import COMMON, Alarm
from hearth.schema import LIST, MAP, STRING, AllowedValues, Length, Prop, Support


class CompositeAlarm(Alarm):
    """Several threshold rules combined with "and" or "or"."""

    type_name = "OS::Aodh::CompositeAlarm"
    support = Support(version="8.0.0")
    properties = {
        **COMMON,
        "composite_rule": Prop(
            MAP,
            "The rules, and the operator that combines them.",
            required=True,
            update_allowed=True,
            schema={
                "operator": Prop(
                    STRING,
                    "or: one rule must be met; and: all must be met.",
                    required=True,
                    update_allowed=True,
                    constraints=(AllowedValues(["or", "and"]),),
                ),
                "rules": Prop(
                    LIST,
                    "Rules in the format of the service, each with its type, or nested rules in "
                    "{and: […]} and {or: […]}.",
                    required=True,
                    update_allowed=True,
                    constraints=(Length(min=2),),
                ),
            },
        ),
    }
    alarm_type = "composite"
    unobserved = {"composite_rule": "the service adds fields to the rules"}

    def rule(self, fields: Body) -> Body:
        composite = fields["composite_rule"]
        return {composite["operator"]: composite["rules"]}
