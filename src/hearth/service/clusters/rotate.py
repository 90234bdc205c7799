"""Begin to replace the certificate authorities of a cluster, or the credential of its nodes."""

from hearth.clusters.drivers import Driver
from hearth.clusters.follow import begun
from hearth.clusters.objects import Cluster
from hearth.clusters.problems import bad_request
from hearth.clusters.states import RESIZABLE, SETTLED, UPDATE_IN_PROGRESS
from hearth.clusters.task_content import RotateCa, RotateCredential
from hearth.service.caller import Caller
from hearth.service.clusters.accept import Changed, begin, demand_state
from hearth.service.clusters.drivers import driver_of
from hearth.service.services import Services
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx


async def rotate_ca(services: Services, caller: Caller, cluster: Cluster) -> Cluster:
    """Begin to replace the certificate authorities; return the cluster in UPDATE_IN_PROGRESS.

    The old certificates stay valid until all nodes have new ones. Raises Rejected if TLS is
    disabled, or if the driver or the state of the cluster does not allow it.
    """

    def change(full: FullCluster, tx: Tx) -> tuple[Changed, RotateCa]:
        if full.template.tls_disabled:
            raise bad_request(f"Cluster {cluster.name} has no certificates. TLS is disabled.")
        driver = driver_of(services, full.template)
        changed = _begun(full, SETTLED, driver, driver.ca_rotation, "Rotation of certificates")
        return changed, RotateCa()

    return await begin(services, caller, cluster, RotateCa, change)


async def rotate_credential(services: Services, caller: Caller, cluster: Cluster) -> Cluster:
    """Begin to replace the credential of the nodes by a new one of the caller; return the cluster
    in UPDATE_IN_PROGRESS.

    Raises Rejected if the driver or the state of the cluster does not allow it.
    """

    def change(full: FullCluster, tx: Tx) -> tuple[Changed, RotateCredential]:
        driver = driver_of(services, full.template)
        able = driver.credential_rotation
        changed = _begun(full, RESIZABLE, driver, able, "Rotation of credentials")
        return changed, RotateCredential()

    return await begin(services, caller, cluster, RotateCredential, change)


def _begun(
    full: FullCluster, states: frozenset[str], driver: Driver, able: bool, operation: str
) -> Changed:
    demand_state(full.cluster, states, operation)
    if not able:
        raise bad_request(f"{operation} is not supported. The driver is {driver.name}.")
    return begun(full.cluster, full.groups, UPDATE_IN_PROGRESS)
