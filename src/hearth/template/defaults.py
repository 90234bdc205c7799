"""What every installation maps: old names of types. Source: spec/environment.md, section 7."""

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
        "OS::Quantum*": "OS::Neutron*",
    }
)
