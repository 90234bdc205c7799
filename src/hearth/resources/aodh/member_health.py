"""OS::Aodh::LBMemberHealthAlarm: an alarm on pool members in error."""

from hearth.resources.aodh.base import COMMON, Alarm
from hearth.schema import STRING, Prop, Resolve, Support


class LBMemberHealthAlarm(Alarm):
    """An alarm that is raised while members of a load balancer's pool are in error."""

    type_name = "OS::Aodh::LBMemberHealthAlarm"
    support = Support(version="13.0.0")
    properties = {
        **COMMON,
        "autoscaling_group_id": Prop(
            STRING, "Id of the group of the members.", required=True, update_allowed=True
        ),
        "pool": Prop(STRING, "The pool, by name or id.", required=True, update_allowed=True),
        "stack": Prop(STRING, "Id of the stack that the group is in.", required=True),
    }
    translation = (Resolve(("pool",), "octavia.pool"),)
    renamed = {"pool": "pool_id", "stack": "stack_id"}
    alarm_type = "loadbalancer_member_health"
