"""The type mappings that every installation has: old names of types, and member types of server
groups.

Source: docs/spec/environment.md, section 7; docs/spec/groups-and-nesting.md, section 5.
"""

from hearth.template.environment import Environment

_ALARMS = (
    "Alarm",
    "CombinationAlarm",
    "GnocchiAggregationByMetricsAlarm",
    "GnocchiAggregationByResourcesAlarm",
    "GnocchiResourcesAlarm",
)
DEFAULTS = Environment(
    resource_registry={
        "OS::Metering::Alarm": "OS::Aodh::Alarm",
        **{f"OS::Ceilometer::{name}": f"OS::Aodh::{name}" for name in _ALARMS},
        "OS::Heat::ScaledResource": "AWS::EC2::Instance",
        "OS::Quantum*": "OS::Neutron*",
    }
)
