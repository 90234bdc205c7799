"""The objects that all use cases of a process share."""

from collections.abc import Callable, Mapping
from enum import Enum

from msgspec import Struct, field

from hearth.bus.local import Bus
from hearth.cloud.config import FetchConfig
from hearth.cloud.contract import Cloud
from hearth.cloud.credential import TokenCredential
from hearth.cloud.fetch import fetch, fetch_template
from hearth.clusters.config import ClusterConfig
from hearth.engine.clock import Clock
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.compute.compute import Compute
from hearth.engine.programs.programs import CHARACTERS_MAX, Programs
from hearth.model.cache import Cache
from hearth.model.problem import Rejected
from hearth.service import cluster_policy_rules
from hearth.service.caller import Caller
from hearth.service.key_threads import KeyThreads
from hearth.service.limits import RequestLimits
from hearth.service.policy import Policy
from hearth.service.stack_clouds import StackClouds
from hearth.store import reads
from hearth.store.database import Store, Tx
from hearth.store.rows import Revision, StackRow
from hearth.telemetry.observer import UNOBSERVED, Observer
from hearth.template import Program

Also = Callable[[Tx, StackRow], None]
"""A function that makes further changes in the transaction that begins an operation. It gets the
new row of the stack.
"""

PROGRAMS_MAX = 200
DESCRIBED_MAX = 20_000  # stacks whose resources' descriptions are kept


class Audience(Enum):
    """Who can send requests to this process, other than the command that runs in it."""

    ALL = "users of the cloud, and software in servers"
    STACK_USERS = "software with a key pair or a token that Hearth itself issued"
    NOBODY = "nobody"


class Services(Struct, eq=False):
    """The objects that all use cases of a process share: the store, the compiler, the clouds, the
    bus.
    """

    store: Store
    programs: Programs
    clouds: StackClouds
    bus: Bus
    clock: Clock
    new_id: Callable[[], str]
    endpoints: Endpoints
    limits: RequestLimits = field(default_factory=RequestLimits)
    policy: Policy = field(default_factory=Policy)
    fetching: FetchConfig = field(default_factory=FetchConfig)
    clusters: ClusterConfig = field(default_factory=ClusterConfig)
    cluster_policy: Policy = field(
        default_factory=lambda: Policy(rules=cluster_policy_rules.defaults())
    )
    observer: Observer = UNOBSERVED
    audience: Audience = Audience.ALL
    keys: KeyThreads = field(default_factory=KeyThreads)
    _compiled: Cache[tuple[str, int, str], tuple[Revision, Program]] = field(
        default_factory=lambda: Cache(PROGRAMS_MAX, CHARACTERS_MAX)
    )
    _described: Cache[tuple[str, int], Mapping[str, str]] = field(
        default_factory=lambda: Cache(DESCRIBED_MAX)
    )

    @property
    def compute(self) -> Compute:
        """The service that runs user-supplied code."""
        return self.programs.compute

    def cloud(self, caller: Caller) -> Cloud:
        """Return a client for the cloud that sends the caller's token."""
        credential = TokenCredential(caller.auth_url, caller.token, caller.project_id)
        return self.clouds.pool.cloud(credential)

    async def fetch(self, url: str) -> str:
        """Return the text at a URL that a user names. Raises NotFetched."""
        return await fetch(url, self.fetching, self.programs.limits.max_template_size)

    async def fetch_template(self, url: str) -> str:
        """Return the template at a URL that a user names. Raises CloudFault."""
        return await fetch_template(url, self.fetching, self.programs.limits.max_template_size)

    async def program(self, row: StackRow) -> tuple[Revision, Program]:
        """Return the target revision of a stack, and its program. Raises Rejected if it does not
        compile.

        Both are cached, because the content of a revision never changes.
        """
        key = (row.id, row.revision, row.name)
        if (cached := self._compiled.get(key)) is not None:
            return cached
        revision = await self.store.read(lambda tx: reads.revision_of(tx, row))
        compiled = (revision, await self.programs.of(row, revision))
        self._compiled.keep(key, compiled, revision.characters)
        return compiled

    def cached_program(self, row: StackRow) -> Program | None:
        """Return the program of a stack if it is in the cache. Any thread may call this."""
        cached = self._compiled.peek((row.id, row.revision, row.name))
        return None if cached is None else cached[1]

    async def description(self, row: StackRow, name: str) -> str:
        """Return the description of a resource in the template of a stack.

        It is empty if there is none, or if the template does not compile. Descriptions have their
        own cache, which holds more stacks than the cache of programs.
        """
        key = (row.id, row.revision)
        if (descriptions := self._described.get(key)) is None:
            try:
                _, program = await self.program(row)
            except Rejected:
                return ""  # a type or file that it uses no longer exists
            defined = program.resources.items()
            descriptions = {
                resource_name: d.description for resource_name, d in defined if d.description
            }
            self._described.keep(key, descriptions)
        return descriptions.get(name, "")
