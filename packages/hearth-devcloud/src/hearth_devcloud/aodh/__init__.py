"""The emulated alarm service (Aodh): alarms about measures and events, and their notifications."""

from __future__ import annotations

from hearth_devcloud.aodh import alarms, quotas
from hearth_devcloud.aodh.evaluation import TRANSITIONS
from hearth_devcloud.http import Call, Refusal, Reply, Router, Service, unauthorized

__all__ = ["SERVICE", "TRANSITIONS"]


def _refusal(call: Call, fault: Refusal) -> Reply:
    code = "Client" if fault.status < 500 else "Server"
    fields = {"debuginfo": None, "faultcode": code, "faultstring": fault.message}
    return Reply(fault.status, {"error_message": fields}, fault.headers)


SERVICE = Service(
    name="alarming",
    router=Router(alarms.ROUTES, quotas.ROUTES),
    refusal=_refusal,
    open=lambda call: not call.segments,
    unauthorized=unauthorized,
    refuse_reader=quotas.forbidden,
)
