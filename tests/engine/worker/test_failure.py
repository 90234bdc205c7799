"""Failures of resource actions, and which of them are worth another try."""

import pytest

from hearth.cloud.fault import CloudFault
from hearth.engine.worker.failure import failure_of


@pytest.mark.parametrize(
    ("status", "kind", "message", "retry"),
    [
        (409, "GatewayConflictWithAllocationPools", "Gateway ip 10.0.0.1 conflicts", False),
        (409, "conflictingRequest", "Multiple possible networks found, use a Network ID", False),
        (409, "SubnetInUse", "Unable to complete operation on subnet", True),
        (409, "IpAddressInUse", "IP address 10.0.0.9 already in use", True),
        (409, "OverQuota", "Quota exceeded for resources: ['port']", False),
        (400, "HTTPBadRequest", "Invalid input", False),
    ],
)
def test_only_a_conflict_that_can_pass_is_tried_again(status, kind, message, retry):
    assert failure_of(CloudFault("network", status, kind, message)).retry is retry
