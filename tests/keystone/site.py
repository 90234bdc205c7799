"""`hearth serve` beside a Keystone, told by a heat.conf with the usual sections."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.clients.dev import wait_for
from tests.forked import Forked
from tests.keystone import guide
from tests.keystone.identity import TIMEOUT_S, Identity, Person
from tests.keystone.prepare import PASSWORD, REGION

KEPT_S = 1
CONFIG = """
[DEFAULT]
auth_encryption_key = 0123456789abcdef0123456789abcdef
stack_domain_admin = {domain_admin}
stack_domain_admin_password = {password}
stack_user_domain_name = {domain}
region_name_for_services = {region}
{more}

[database]
connection = {database}

[keystone_authtoken]
www_authenticate_uri = {auth_url}
auth_url = {auth_url}
auth_type = password
project_domain_name = Default
user_domain_name = Default
project_name = service
username = {user}
password = {password}
token_cache_time = {kept_s}

[trustee]
auth_type = password
auth_url = {auth_url}
username = {user}
password = {password}
user_domain_name = Default

[clients_keystone]
auth_uri = {auth_url}

[ec2authtoken]
auth_uri = {auth_url}

[heat_api]
bind_host = 127.0.0.1
bind_port = 0

[heat_api_cfn]
bind_host = 127.0.0.1
bind_port = 0
"""


@dataclass
class Site:
    """Hearth and its Keystone."""

    identity: Identity
    process: "subprocess.Popen[str]"
    url: str
    cfn_url: str

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **more: Any
    ) -> requests.Response:
        """A request of the orchestration API; `path` begins with the project's id."""
        headers = {**({"X-Auth-Token": token} if token else {}), **more.pop("headers", {})}
        return requests.request(
            method, f"{self.url}/{path}", json=body, headers=headers, timeout=TIMEOUT_S, **more
        )

    def create(
        self, who: Person, token: str, name: str, template: Mapping[str, Any], **body: Any
    ) -> str:
        """The id of a new stack."""
        wanted = {"stack_name": name, "template": template, **body}
        made = self.ask("POST", f"{who.project_id}/stacks", wanted, token=token)
        assert made.status_code == 201, made.text
        return str(made.json()["stack"]["id"])

    def stack(self, who: Person, token: str, stack_id: str) -> dict[str, Any]:
        """A stack as it is shown now."""
        shown = self.ask("GET", f"{who.project_id}/stacks/{stack_id}", token=token)
        assert shown.status_code == 200, shown.text
        return dict(shown.json()["stack"])

    def until(self, who: Person, token: str, stack_id: str, state: str) -> dict[str, Any]:
        """A stack once it is in a state; any other end is a failure."""

        def look() -> dict[str, Any] | None:
            stack = self.stack(who, token, stack_id)
            now = stack["stack_status"]
            if now != state and now.endswith("_FAILED"):
                raise AssertionError(stack["stack_status_reason"])
            return stack if now == state else None

        found = wait_for(look, f"{stack_id}: {state}")
        assert isinstance(found, dict)
        return found

    def delete(self, who: Person, token: str, stack_id: str) -> None:
        """Delete a stack and wait until it is gone."""
        name = self.stack(who, token, stack_id)["stack_name"]
        path = f"{who.project_id}/stacks/{name}/{stack_id}"
        begun = self.ask("DELETE", path, token=token)
        assert begun.status_code == 204, begun.text
        self.until(who, token, stack_id, "DELETE_COMPLETE")


@contextlib.contextmanager
def hearth_serve(
    identity: Identity, folder: Path, *, database: str | None = None, **more: str
) -> Iterator[Site]:
    """Hearth for this Keystone, in the catalogue; `more` are options of [DEFAULT]."""
    conf = folder / "heat.conf"
    conf.write_text(CONFIG.format(
        auth_url=identity.url, user=guide.SERVICE_USER, password=PASSWORD, region=REGION,
        domain=guide.STACK_DOMAIN, domain_admin=guide.DOMAIN_ADMIN, kept_s=KEPT_S,
        database=database or f"sqlite:///{folder}/hearth.db",
        more="\n".join(f"{name} = {value}" for name, value in more.items()),
    ))  # fmt: skip
    with Forked(["serve", "--config", str(conf)]) as process:
        try:
            words = process.stdout.readline().split()
            assert words[:3] == ["hearth", "is", "ready:"], words
            site = Site(identity, process, words[4], words[-1])
            url = f"{site.url}/$(project_id)s"
            guide.register(identity, "orchestration", "heat", url)
            guide.register(identity, "cloudformation", "heat-cfn", site.cfn_url)
            yield site
        finally:
            for kind in ("orchestration", "cloudformation"):  # or the next one would believe it
                guide.withdraw(identity, kind)
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
