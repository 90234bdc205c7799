"""The settings of a process, independent of the format of the configuration.

Fields with an `Option` are settings themselves; `hearth.config.from_conf` computes the others.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct, field

from hearth.bus.notification import Notifications
from hearth.cloud.config import CloudConfig, FetchConfig
from hearth.cloud.credential import PasswordCredential
from hearth.cloud.reach import Reach
from hearth.clusters.config import ClusterConfig
from hearth.config.front import FrontSettings
from hearth.config.type_settings import TypeSettings
from hearth.engine.core.retry import CREATE_RETRIES_MAX
from hearth.model.discreet import Discreet
from hearth.model.option import Option
from hearth.service.limits import RequestLimits
from hearth.store.config import StoreConfig
from hearth.template import Limits

_tokens = partial(Option, group="keystone_authtoken")
_hearth = partial(Option, group="hearth", hearth_only=True)


# fmt: off
class TokenChecks(Struct, frozen=True):
    """Settings for checking tokens. `reach` has those for connections to Keystone."""

    token_cache_time_s: Annotated[int, _tokens("Time for which Hearth keeps Keystone's answer about a token, in seconds. After ten seconds Hearth asks again, in parallel to the request. -1: no cache.", name="token_cache_time", minimum=-1, differs="keystonemiddleware has 300")] = 60
    service_token_roles: Annotated[tuple[str, ...], _tokens("Roles of service tokens. A request with a valid service token can have an expired user token.")] = ("service",)
    service_token_roles_required: Annotated[bool, _tokens("true: a service token needs one of the roles in service_token_roles.", differs="keystonemiddleware does not require these roles")] = True
    reach: Reach = Reach()


class Settings(Discreet, frozen=True):
    """The settings of one Hearth process."""

    hidden = frozenset({"database", "secret", "broker"})

    database: str
    secret: str
    auth_url: str
    service_user: PasswordCredential
    cloud: CloudConfig = field(default_factory=CloudConfig)
    stack_user_domain_name: Annotated[str | None, Option("Name of the domain, if stack_user_domain_id is not set.")] = None
    templates: Limits = field(default_factory=Limits)
    limits: RequestLimits = field(default_factory=RequestLimits)
    store: StoreConfig = field(default_factory=StoreConfig)
    fetching: FetchConfig = field(default_factory=FetchConfig)
    front: FrontSettings = field(default_factory=FrontSettings)
    clusters: ClusterConfig = field(default_factory=ClusterConfig)
    types: TypeSettings = field(default_factory=TypeSettings)
    token_checks: TokenChecks = field(default_factory=TokenChecks)
    signers: tuple[PasswordCredential, ...] = ()  # who checks signatures; empty: service_user
    heat_url: str = ""  # for servers and users, `{project}` is the project id
    heat_metadata_server_url: Annotated[str | None, Option("Address of the CloudFormation-style API for servers. Default: the endpoint in the catalogue.")] = None
    cfn_here: str = ""  # the same if the catalogue has no entry
    heat_waitcondition_server_url: Annotated[str | None, Option("Address for signals to wait conditions. Default: a path of the CloudFormation-style API.")] = None
    identity_url: Annotated[str | None, Option("Address of Keystone for servers. Default: www_authenticate_uri.", group="clients_keystone", name="auth_uri")] = None
    server_keystone_endpoint_type: Annotated[str, Option("Endpoint of Keystone that servers receive; empty: www_authenticate_uri, or [clients_keystone] auth_uri.", choices=("", "public", "internal", "admin"))] = ""
    stack_scheduler_hints: Annotated[bool, Option("true: Hearth sends scheduler hints for new servers and volumes: heat_root_stack_id, heat_stack_id, heat_stack_name, heat_path_in_stack, heat_resource_name, heat_resource_uuid.")] = False
    action_retry_limit: Annotated[int, Option("Number of retries of a failed create or delete of a resource.", minimum=0)] = CREATE_RETRIES_MAX
    drift_check_interval_s: Annotated[float, _hearth("Time between two background drift checks of a root stack, in seconds; 0: no checks.", name="drift_check_interval", minimum=0)] = 0
    environment_dir: Annotated[str, Option("Folder with the environments of the operator, which apply to every stack.")] = "/etc/heat/environment.d"
    policy: Any = None  # a loaded oslo.config; None: the defaults
    notifications: Notifications | None = None
    broker: str = ""  # a transport URL, empty without a broker
    monitored: bool = False  # whether the work is counted for metrics
    trace_endpoint: Annotated[str | None, _hearth("URL of an OpenTelemetry collector (OTLP over HTTP) that gets traces, such as http://127.0.0.1:4318. Default: none. Needs the extra: pip install hearth[traces].")] = None
    trace_share: Annotated[float, _hearth("Share of new traces that is sent, from 0 to 1. Traces that a client has started follow its choice.", minimum=0, maximum=1)] = 1.0
    lock: Path | None = None  # its holder is the only engine of the database
# fmt: on


def with_version(url: str) -> str:
    """Return a URL of the CloudFormation-style API with /v1 at its end; empty if `url` is empty."""
    return f"{url.rstrip('/').removesuffix('/v1')}/v1" if url else ""
