"""What goes on beside the fuzzers: things that they made are deleted, what they need is there."""

import threading
from contextlib import suppress
from typing import Any

import requests

from tests.fuzz.api.tenants import Tenant, World, make_spare

EVERY_S = 3.0
RENEW_S = 900.0
SOFTWARE_MAX = 20  # configurations and deployments that a tenant may have
WAIT_S = 60.0


class Caretaker(threading.Thread):
    """Looks after all tenants until `over`; `wrong` is what it was refused."""

    def __init__(self, world: World) -> None:
        super().__init__(name="caretaker", daemon=True)
        self.world = world
        self.over = threading.Event()
        self.wrong: list[str] = []

    def run(self) -> None:
        waited = 0.0
        while not self.over.wait(EVERY_S):
            waited += EVERY_S
            try:
                if waited > RENEW_S:
                    self.world.renew()
                    waited = 0.0
                for tenant in self.world.tenants:
                    self._care(tenant)
            except (requests.RequestException, AssertionError) as problem:
                self.wrong.append(f"the caretaker: {problem!r}"[:500])

    def _care(self, tenant: Tenant) -> None:
        stacks = self._all(tenant, "stacks")
        alive = {one["id"] for one in stacks}
        for one in stacks:
            if one["stack_name"].startswith(("new-", "cfn-", "adopted")):
                self._remove(tenant, f"stacks/{one['stack_name']}/{one['id']}")
        if tenant.spare["stack_id"] not in alive:
            make_spare(self.world, tenant)
        elif len(stacks) > 40:
            self._remove(tenant, f"stacks/{tenant.spare['stack_name']}/{tenant.spare['stack_id']}")
        for collection, name in (
            ("software_deployments", "deployment_id"), ("software_configs", "config_id"),
        ):  # fmt: skip
            found = self._all(tenant, collection)
            kept = {tenant.kept[name], tenant.spare[name]}
            mine = [one["id"] for one in found if not _of_stack(one)]
            for ident in [one for one in mine if one not in kept][SOFTWARE_MAX:]:
                self._remove(tenant, f"{collection}/{ident}")
        self._care_for_clusters(tenant)

    def _care_for_clusters(self, tenant: Tenant) -> None:
        def ask(method: str, path: str, body: Any = None) -> Any:
            return self.world.clusters(tenant.member, method, path, body)

        kept = {tenant.kept["cluster"], tenant.spare["cluster"]}
        found = [one["uuid"] for one in ask("GET", "/clusters")["clusters"]]
        for one in [uuid for uuid in found if uuid not in kept]:
            with suppress(requests.HTTPError):  # it is being deleted, or in use
                ask("DELETE", f"/clusters/{one}")
        templates = [one["uuid"] for one in ask("GET", "/clustertemplates")["clustertemplates"]]
        spare = {tenant.kept["template"], tenant.spare["template"]}
        for one in [uuid for uuid in templates if uuid not in spare]:
            with suppress(requests.HTTPError):
                ask("DELETE", f"/clustertemplates/{one}")
        if tenant.spare["template"] not in templates:
            body = {"coe": "kubernetes", "image_id": "fedora-coreos-kube",
                    "external_network_id": "public", "name": "spare"}  # fmt: skip
            tenant.spare["template"] = ask("POST", "/clustertemplates", body)["uuid"]

    def _all(self, tenant: Tenant, collection: str) -> list[dict[str, Any]]:
        reply = self._request("GET", tenant, collection)
        assert reply.status_code == 200, reply.text
        return list(reply.json()[collection])

    def _remove(self, tenant: Tenant, path: str) -> None:
        reply = self._request("DELETE", tenant, path)
        assert reply.status_code < 500, reply.text

    def _request(self, method: str, tenant: Tenant, path: str) -> requests.Response:
        token = self.world.ground.people[tenant.member].token
        url = f"{self.world.server.url}/v1/{tenant.project}/{path}"
        return requests.request(
            method, url, headers={"X-Auth-Token": token}, timeout=WAIT_S, allow_redirects=False
        )


def _of_stack(one: dict[str, Any]) -> bool:
    """Whether a configuration or a deployment belongs to a resource of a stack."""
    return str(one.get("name", "")).startswith("kept-")


def state(world: World, tenant: Tenant) -> Any:
    """What nobody may change: the stack, the software and the cluster that a tenant keeps."""
    by, kept = tenant.member, tenant.kept
    stack = {key: kept[key] for key in ("stack_name", "stack_id")}
    ask = world.ground.ask
    shown = ask("stack_show", by=by, query="resolve_outputs=false", **stack).answer["stack"]
    listed = ask("resource_index", by=by, **stack).answer["resources"]
    try:
        cluster = world.clusters(by, "GET", f"/clusters/{kept['cluster']}")
    except requests.HTTPError as problem:
        cluster = {"status": str(problem)}
    return {
        "stack": {key: shown[key] for key in ("id", "parameters", "tags", "description")},
        "template": ask("stack_template", by=by, **stack).answer,
        "resources": sorted(one["resource_name"] for one in listed),
        "config": ask("software_config_show", by=by, config_id=kept["config_id"]).answer,
        "deployment": ask(
            "software_deployment_show", by=by, deployment_id=kept["deployment_id"]
        ).status,
        "cluster": {key: cluster.get(key) for key in ("uuid", "name", "labels")},
    }
