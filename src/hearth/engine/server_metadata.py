"""Delivery of new metadata to servers.

Servers that poll an API read the metadata there. For all other servers Hearth writes the metadata
to a Swift object or a Zaqar queue. Source: docs/spec/software-config.md, sections 4 and 8.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.resources.base import Users
from hearth.resources.heat.config_transport import channel_in, push
from hearth.store import reads
from hearth.store.credentials import StackCredential
from hearth.store.database import Store, Tx
from hearth.store.rows import StackRow
from hearth.store.server_metadata import ServerResource

log = logging.getLogger(__name__)

DELIVERY_S = 5.0
ROUNDS_MAX = 5  # the document is written again if it changes during a write


class CloudLookup(Protocol):
    """Returns the cloud of a stack, and gives access to the users in its domain project."""

    def of(self, row: StackRow, credential: StackCredential | None) -> Cloud:
        """Return the cloud with the stack's credential."""

    def users(self, row: StackRow, on_project: Callable[[str], None]) -> Users | None:
        """Return the users in the stack's domain project, or None if neither a stack domain nor a
        service user is configured.

        `on_project` is called with the id of the domain project when Hearth creates it.
        """


class _Parcel(Struct, frozen=True):
    """A metadata document to deliver, with its version, the private data of the server, and the
    cloud.
    """

    version: int
    document: Any
    data: Mapping[str, str]
    cloud: Cloud
    users: Users | None


async def deliver(store: Store, clouds: CloudLookup, servers: Iterable[ServerResource]) -> None:
    """Write the metadata of the given servers to their Swift objects or Zaqar queues.

    A failure is only logged, because the next change writes the whole document again.
    """
    for server in servers:
        try:
            async with asyncio.timeout(DELIVERY_S):
                await _deliver(store, clouds, server)
        except (CloudFault, TimeoutError) as problem:
            message = "the metadata of resource %s of stack %s was not delivered: %s"
            log.warning(
                message, server.resource_id, server.stack_id, problem or "no answer in time"
            )


async def _deliver(store: Store, clouds: CloudLookup, server: ServerResource) -> None:
    """Write the current metadata document of a server. If the document changes during the write,
    write it again.
    """
    written = None
    for _ in range(ROUNDS_MAX):
        parcel = await store.read(lambda tx: _parcel(tx, clouds, server))
        if parcel is None or parcel.version == written:
            return
        await push(parcel.cloud, parcel.users, parcel.data, parcel.document)
        written = parcel.version


def _parcel(tx: Tx, clouds: CloudLookup, server: ServerResource) -> _Parcel | None:
    version, data, metadata = reads.data_of(tx, server.resource_id)
    row = reads.stack_by_physical_id(tx, server.stack_id)
    if not channel_in(data) or row is None:
        return None
    cloud, users = clouds.of(row, reads.credential_of(tx, row)), clouds.users(row, lambda _: None)
    return _Parcel(version, metadata, data, cloud, users)
