"""Each status of an object is the goal, a failure, or leads on; any other one ends the wait."""

import pytest

from hearth.model.state import Action
from hearth.resources.base import Failed, Later, Ready
from hearth.resources.collection import CollectionResource
from hearth.resources.context import ResourceContext, StackFacts
from hearth.resources.registry import builtin_types

TYPES = {
    name: rtype
    for name, rtype in builtin_types().items()
    if isinstance(rtype, CollectionResource) and rtype.collection.status
}
# what the services document
OF_SERVICE = {
    "network": "ACTIVE DOWN BUILD PENDING_CREATE PENDING_UPDATE PENDING_DELETE ALLOCATING",
    "load-balancer": "ACTIVE PENDING_CREATE PENDING_UPDATE PENDING_DELETE",
    "dns": "ACTIVE PENDING",
    "key-manager": "ACTIVE PENDING",
}
OF_TYPE = {
    "OS::Blazar::Lease": "CREATING PENDING STARTING ACTIVE UPDATING TERMINATING TERMINATED",
    "OS::Cinder::Volume": (
        "creating available reserved attaching detaching in-use deleting backing-up"
        " restoring-backup downloading uploading retyping extending reverting Creating"
    ),
    "OS::Magnum::Cluster": "CREATE_IN_PROGRESS CREATE_COMPLETE UPDATE_IN_PROGRESS UPDATE_COMPLETE",
    "OS::Manila::Share": (
        "creating creating_from_snapshot available extending shrinking migrating migrating_to"
        " manage_starting replication_change reverting server_migrating deleting"
    ),
    "OS::Manila::ShareNetwork": "active network_change",
    "OS::Neutron::Firewall": "CREATED INACTIVE",
    "OS::Nova::Server": (
        "BUILD ACTIVE REBUILD RESIZE REBOOT HARD_REBOOT MIGRATING PASSWORD REVERT_RESIZE"
    ),
    "OS::Trove::Instance": (
        "BUILD ACTIVE HEALTHY BACKUP RESIZE REBOOT SHUTDOWN BLOCKED PROMOTE EJECT UPGRADE DETACH"
    ),
    "OS::Zun::Container": "Creating Created Running Stopped Restarting Rebuilding",
}
OWN_FIELDS = {"OS::Trove::Cluster"}  # the state is a task


def progress(name: str, status: object):
    rtype = TYPES[name]
    body = {rtype.collection.status: status, "id": "x"}
    facts = StackFacts("stack-id", "web", "project")
    ctx = ResourceContext(
        "record", "thing", name, facts, Action.CREATE, "x", "web-thing", "key", {}, None
    )
    return rtype.progress(ctx, body)


@pytest.mark.parametrize("name", sorted(TYPES))
def test_a_status_of_the_service_is_ready_or_leads_on(name: str):
    of_service = OF_SERVICE.get(TYPES[name].collection.service, "")
    for status in f"{of_service} {OF_TYPE.get(name, '')}".split():
        assert isinstance(progress(name, status), Ready | Later), status


@pytest.mark.parametrize("name", sorted(TYPES.keys() - OWN_FIELDS))
def test_a_status_that_nobody_knows_fails_at_once_and_is_named(name: str):
    found = progress(name, "MEDITATING")
    assert isinstance(found, Failed)
    assert found.error == "ResourceUnknownStatus"
    assert 'Unknown status MEDITATING due to "' in found.reason.replace("meditating", "MEDITATING")
    assert not found.retry
