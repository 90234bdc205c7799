"""OS::Aodh::PrometheusAlarm: an alarm on the result of a Prometheus query."""

from hearth.resources.aodh.base import COMMON, THRESHOLD, Alarm
from hearth.schema import STRING, Prop, Support


class PrometheusAlarm(Alarm):
    """An alarm on the value of a Prometheus query."""

    type_name = "OS::Aodh::PrometheusAlarm"
    support = Support(version="22.0.0")
    properties = {
        **COMMON,
        **THRESHOLD,
        "query": Prop(STRING, "The query, in PromQL.", required=True, update_allowed=True),
    }
    alarm_type = "prometheus"
