"""Identities of clusters over an embedded Keystone: nothing is made twice, nothing is left."""

import asyncio
import contextlib
import json
import logging
from urllib.parse import unquote

import pytest
import sqlalchemy as sa
from msgspec import structs
from msgspec.structs import replace

from hearth.cloud import AppCredential, CloudFault, PasswordCredential, TrustCredential
from hearth.clusters.config import ClusterConfig
from hearth.clusters.objects import MASTER, WORKER
from hearth.model.problem import Rejected
from hearth.service.caller import RESTRICTED, TRUST, UNRESTRICTED
from hearth.service.clusters import certificates, fence, identity_application
from hearth.service.clusters.identity import APPLICATION, BY_TRUST, NONE, NodeIdentity
from hearth.service.clusters.node_url import FORMER, credential_url
from hearth.service.clusters.x509 import ends_at
from hearth.store.clusters.key_table import cluster_identity
from tests.service.clusters.requests import csr
from tests.service.clusters.world import cluster_of, world

CONFIGS = {mode: ClusterConfig(identity=mode) for mode in (APPLICATION, BY_TRUST)}
BOTH = pytest.mark.parametrize("mode", CONFIGS)


def left(here) -> dict[str, int]:
    """Return how many objects of identities exist, in Keystone and in the database."""
    rows = here.services.store.transact(lambda tx: tx.rows(sa.select(cluster_identity)))
    users = [one for one in here.all("identity.users") if "_" in one.body["name"]]
    trustees = [one for one in users if one.body["name"] != "heat_domain_admin"]
    found = {
        "rows": len(rows), "trustees": len(trustees), "trusts": len(here.all("identity.trusts")),
        "credentials": len(here.all("identity.application_credentials")),
        "rules": len(here.all("identity.access_rules")),
    }  # fmt: skip
    return {name: count for name, count in found.items() if count}


FULL = {
    APPLICATION: {"rows": 1, "credentials": 2, "rules": 3},
    BY_TRUST: {"rows": 1, "trustees": 1, "trusts": 1},
}


async def made(here, **more):
    """Return a caller, a cluster with an identity, and the identities."""
    caller = await here.caller()
    identities = NodeIdentity(here.services)
    cluster = cluster_of(caller, **more)
    return caller, structs.replace(cluster, identity_id=await identities.create(cluster, caller)), (
        identities
    )  # fmt: skip


def node_credential(here, env):
    """Return the credential with which a node logs in."""
    if "application_credential_id" in env:
        return AppCredential(
            env["auth_url"], env["application_credential_id"], env["application_credential_secret"]
        )
    user = PasswordCredential(
        env["auth_url"], env["trustee_username"], env["trustee_password"],
        user_id=env["trustee_user_id"],
    )  # fmt: skip
    return TrustCredential(user, env["trust_id"]) if env["trust_id"] else user


@BOTH
def test_an_identity_is_made_once_and_nothing_is_left(mode):
    async def story():
        async with world(CONFIGS[mode]) as here:
            caller, cluster, identities = await made(here)
            same = await identities.create(structs.replace(cluster, identity_id=None), caller)
            full = left(here)
            service = await (await identities.context_for_service(cluster)).whoami()
            acting = await identities.caller_for_service(cluster)
            await identities.delete(cluster)
            await identities.delete(cluster)
            return caller, cluster, same, full, service, acting, left(here)

    caller, cluster, same, full, service, acting, after = asyncio.run(story())
    assert same == cluster.identity_id
    assert full == FULL[mode]
    assert (service.user_id, service.project_id) == (caller.user_id, caller.project_id)
    assert acting.token
    assert (acting.user_id, acting.project_id, acting.roles) == (
        caller.user_id, caller.project_id, caller.roles,
    )  # fmt: skip
    assert acting.delegated == (UNRESTRICTED if mode == APPLICATION else TRUST)
    assert after == {}


@BOTH
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("after", [True, False])
def test_a_lost_answer_leaves_no_second_credential(mode, nth, after):
    async def story():
        async with world(CONFIGS[mode]) as here:
            path = "/application_credentials|/trusts|/v3/users"
            match = {"service": "identity", "method": "POST", "path_regex": path, "nth": nth}
            here.fault(match, status=504, **({"after": True} if after else {}))
            try:
                _, cluster, identities = await made(here)
            except CloudFault:
                assert mode == BY_TRUST  # a credential is made again at once
                caller = await here.caller()
                cluster = cluster_of(caller, uuid=only_cluster(here))
                identities = NodeIdentity(here.services)
                ident = await identities.create(cluster, caller)
                cluster = structs.replace(cluster, identity_id=ident)
            full = left(here)
            token = await here.pool.cloud(
                node_credential(here, await identities.env_for_nodes(cluster))
            ).token()
            await identities.delete(cluster)
            return full, token, left(here)

    full, token, rest = asyncio.run(story())
    assert full == FULL[mode]
    assert token
    assert rest == {}


def only_cluster(here) -> str:
    (row,) = here.services.store.transact(lambda tx: tx.rows(sa.select(cluster_identity)))
    return row.cluster_id


@BOTH
def test_an_identity_whose_create_was_interrupted_is_deleted(mode):
    """The last answer never comes, and the cluster is deleted instead of created again."""

    async def story():
        async with world(CONFIGS[mode]) as here:
            path = "/application_credentials|/trusts"
            match = {"service": "identity", "method": "POST", "path_regex": path}
            here.fault(match, status=504, after=True)
            caller = await here.caller()
            cluster = cluster_of(caller)
            identities = NodeIdentity(here.services)
            with contextlib.suppress(CloudFault):  # a trust is found, a secret is not
                await identities.create(cluster, caller)
            created = left(here)
            here.cloud.cloud.knobs.rules.clear()
            await identities.delete(cluster, caller)
            return created, left(here)

    created, after = asyncio.run(story())
    assert created != {"rows": 1}
    assert after == {}


@BOTH
def test_two_identities_work_while_they_are_replaced(mode):
    async def story():
        async with world(CONFIGS[mode]) as here:
            caller, old, identities = await made(here)
            new = structs.replace(old, identity_id=await identities.rotate(old, caller))
            again = await identities.rotate(old, caller)
            envs = [await identities.env_for_nodes(one) for one in (old, new)]
            nodes = [node_credential(here, env) for env in envs]
            both = [await here.pool.cloud(one).token() for one in nodes]
            await identities.drop_former(new)
            rest = left(here)
            third = await identities.rotate(new, caller)
            await identities.delete(new)
            return old, new, again, envs, both, rest, third, left(here)

    old, new, again, envs, both, rest, third, after = asyncio.run(story())
    assert new.identity_id == again != old.identity_id
    assert envs[0] != envs[1]
    assert all(both)
    assert rest == FULL[mode]
    assert third not in (old.identity_id, new.identity_id)
    assert after == {}


@BOTH
def test_an_identity_is_deleted_although_its_maker_is_gone(mode):
    async def story():
        async with world(CONFIGS[mode]) as here:
            caller, cluster, identities = await made(here)
            admin = here.pool.cloud(here.user("admin"))
            await admin.request("identity", "DELETE", f"/v3/users/{caller.user_id}")
            await identities.delete(cluster)
            return left(here)

    assert asyncio.run(story()) == {}


@BOTH
def test_a_colleague_deletes_the_identity(mode):
    async def story():
        async with world(CONFIGS[mode]) as here:
            _, cluster, identities = await made(here)
            await identities.delete(cluster, await here.caller("admin", "demo"))
            return left(here)

    assert asyncio.run(story()) == {}


def test_an_outage_of_keystone_forgets_nothing():
    async def story():
        async with world(CONFIGS[APPLICATION]) as here:
            _, cluster, identities = await made(here)
            here.fault({"service": "identity", "method": "DELETE"}, status=503)
            with pytest.raises(CloudFault):
                await identities.delete(cluster)
            kept = left(here)
            here.cloud.cloud.knobs.rules.clear()
            await identities.delete(cluster)
            return kept, left(here)

    kept, after = asyncio.run(story())
    assert kept["rows"] == 1
    assert after == {}


def test_what_cannot_be_deleted_is_named(caplog):
    async def story():
        async with world(CONFIGS[APPLICATION], service_user=None) as here:
            path = "/application_credentials"
            caller = await here.caller()
            cluster = cluster_of(caller)
            identities = NodeIdentity(here.services)
            match = {"service": "identity", "method": "POST", "path_regex": path, "nth": 2}
            here.fault(match, status=400)
            with pytest.raises(CloudFault):
                await identities.create(cluster, caller)
            await identities.delete(cluster)  # neither with its own right nor as the requester
            return caller, left(here)

    with caplog.at_level(logging.WARNING):
        caller, after = asyncio.run(story())
    assert caller.user_id in caplog.text
    assert after == {"credentials": 1, "rules": 3}


def test_a_node_can_call_nothing_but_the_cluster_api():
    """The metadata and signals of one cluster's stacks cannot be named, so there are no rules."""

    async def story():
        async with world(CONFIGS[APPLICATION]) as here:
            _, cluster, _ = await made(here)
            rules = [one.body for one in here.all("identity.access_rules")]
            return cluster, {(one["service"], one["method"], one["path"]) for one in rules}

    cluster, rules = asyncio.run(story())
    assert rules == {
        ("container-infra", "GET", f"/v1/certificates/{cluster.uuid}"),
        ("container-infra", "POST", "/v1/certificates"),
        ("container-infra", "PATCH", f"/v1/clusters/{cluster.uuid}"),
    }


def test_a_rotation_takes_the_rights_of_an_earlier_version_back(monkeypatch):
    former = identity_application.access_rules

    def wider(cluster_id):
        return [*former(cluster_id), *identity_application.FORMER_RULES]

    async def story():
        async with world(CONFIGS[APPLICATION]) as here:
            monkeypatch.setattr(identity_application, "access_rules", wider)
            caller, old, identities = await made(here)
            before = left(here)
            monkeypatch.setattr(identity_application, "access_rules", former)
            new = structs.replace(old, identity_id=await identities.rotate(old, caller))
            await identities.drop_former(new)
            after = left(here)
            await identities.delete(new)
            return before, after, left(here)

    before, after, gone = asyncio.run(story())
    assert before == {**FULL[APPLICATION], "rules": 5}
    assert after == FULL[APPLICATION]
    assert gone == {}


def test_without_credentials_nodes_get_nothing():
    async def story():
        async with world(ClusterConfig(identity=NONE)) as here:
            _, cluster, identities = await made(here)
            env = await identities.env_for_nodes(cluster)
            with pytest.raises(CloudFault) as fault:
                await identities.context_for_service(cluster)
            full = left(here)
            await identities.delete(cluster)
            return env, fault.value.status, full, left(here)

    assert asyncio.run(story()) == ({}, 401, {"rows": 1}, {})


def test_the_mode_of_a_cluster_stays_when_the_setting_changes():
    async def story():
        async with world(CONFIGS[BY_TRUST]) as here:
            _, cluster, _ = await made(here)
            here.services.clusters = CONFIGS[APPLICATION]
            identities = NodeIdentity(here.services)
            env = await identities.env_for_nodes(cluster)
            await identities.delete(cluster)
            return env, left(here)

    env, after = asyncio.run(story())
    assert env["trustee_password"]
    assert after == {}


def test_the_trustee_has_the_usual_name_and_gets_the_trust_only_on_request():
    async def story():
        async with world(CONFIGS[BY_TRUST]) as here:
            caller, cluster, identities = await made(here)
            env = await identities.env_for_nodes(cluster)
            here.services.clusters = structs.replace(CONFIGS[BY_TRUST], cluster_user_trust=True)
            more = await NodeIdentity(here.services).env_for_nodes(cluster)
            (trust,) = here.all("identity.trusts")
            return caller, cluster, env, more, trust

    caller, cluster, env, more, trust = asyncio.run(story())
    assert env["trustee_username"] == f"{cluster.uuid}_{caller.project_id}"
    assert (env["trust_id"], more["trust_id"]) == ("", trust.id)
    assert trust.body["impersonation"] is True
    assert trust.body["redelegation_count"] in (0, None)


@BOTH
def test_secrets_are_encrypted(mode):
    async def story():
        async with world(CONFIGS[mode]) as here:
            _, cluster, identities = await made(here)
            env = await identities.env_for_nodes(cluster)
            (row,) = here.services.store.transact(lambda tx: tx.rows(sa.select(cluster_identity)))
            return env, str(row._mapping)

    env, row = asyncio.run(story())
    secret = env.get("application_credential_secret") or env["trustee_password"]
    assert len(secret) > 18
    assert secret not in row


@pytest.mark.parametrize(
    ("mode", "delegated", "refused"),
    [
        (APPLICATION, None, False), (APPLICATION, UNRESTRICTED, False),
        (APPLICATION, RESTRICTED, True), (APPLICATION, TRUST, True),
        (BY_TRUST, None, False), (BY_TRUST, TRUST, True), (BY_TRUST, UNRESTRICTED, True),
        (NONE, RESTRICTED, False),
    ],
)  # fmt: skip
def test_a_token_that_can_leave_nothing_is_refused_at_once(mode, delegated, refused):
    async def story():
        async with world(ClusterConfig(identity=mode)) as here:
            caller = replace(await here.caller(), delegated=delegated)
            try:
                NodeIdentity(here.services).check(caller)
            except Rejected as problem:
                return problem.problems[0].status
            return None

    assert asyncio.run(story()) == (400 if refused else None)


WORKERS = csr(name="system:node:farm-node-0")
MASTERS = csr(name="admin", organisation="system:masters")
KINDS = ("kubernetes", "etcd", "front-proxy")


async def signs(here, caller, cluster, request, proof, kind="kubernetes"):
    """Return the days for which a certificate was signed; None if it was refused with 403."""
    try:
        pem = await certificates.signed(here.services, caller, cluster, request, kind, proof)
    except Rejected as refused:
        return None if refused.problems[0].status == 403 else -1
    return round((ends_at(pem) - here.services.clock.now()) / 86400)


def proof_of(services, cluster, role):
    query = credential_url(services, cluster, role).partition("?secret=")[2]
    return unquote(query)


@BOTH
def test_only_a_master_is_the_cluster(mode):
    async def story():
        async with world(CONFIGS[mode]) as here:
            maker, cluster, identities = await made(here)
            cluster = await certificates.make_all(here.services, cluster)
            credential = node_credential(here, await identities.env_for_nodes(cluster))
            node = await here.caller_with(credential)
            other = structs.replace(cluster, uuid="other")
            former = structs.replace(cluster, identity_id="former")
            found = {}
            for name, proof in {
                "master": proof_of(here.services, cluster, MASTER),
                "worker": proof_of(here.services, cluster, WORKER), "none": "", "odd": "\u00e9",
                "shared": proof_of(here.services, cluster, FORMER),
                "other": proof_of(here.services, other, MASTER),
                "former": proof_of(here.services, former, MASTER),
            }.items():  # fmt: skip
                found[name] = [
                    await signs(here, node, cluster, request, proof, kind)
                    for kind in KINDS
                    for request in (MASTERS, WORKERS)
                ]
            user = await signs(here, maker, cluster, MASTERS, "", "etcd")
            return found, user

    found, user = asyncio.run(story())
    assert user == 1825
    assert found.pop("master") == [1825] * 6
    assert set(map(tuple, found.values())) == {(None, 14, None, None, None, None)}


@BOTH
def test_two_generations_of_masters_prove_themselves_while_the_credential_is_replaced(mode):
    async def story():
        async with world(CONFIGS[mode]) as here:
            maker, old, identities = await made(here)
            old = await certificates.make_all(here.services, old)
            new = structs.replace(old, identity_id=await identities.rotate(old, maker))
            found = []
            for its in (old, new):
                credential = node_credential(here, await identities.env_for_nodes(its))
                node = await here.caller_with(credential)
                proofs = [proof_of(here.services, one, MASTER) for one in (old, new)]
                found.append([await signs(here, node, new, MASTERS, one) for one in proofs])
            return found

    assert asyncio.run(story()) == [[1825, None], [None, 1825]]


def test_nodes_of_stacks_of_earlier_versions_cannot_prove_anything_and_go_on():
    async def story():
        async with world(CONFIGS[APPLICATION]) as here:
            caller = await here.caller()
            identities = NodeIdentity(here.services)
            cluster = cluster_of(caller)
            ident = await identities.create(cluster, caller, roles=False)
            cluster = structs.replace(cluster, identity_id=ident)
            cluster = await certificates.make_all(here.services, cluster)
            credential = node_credential(here, await identities.env_for_nodes(cluster))
            node = await here.caller_with(credential)
            return [await signs(here, node, cluster, MASTERS, "", kind) for kind in KINDS]

    assert asyncio.run(story()) == [1825] * 3


RULES = ("certificate:get", "certificate:create", "cluster:update_health_status")


@BOTH
@pytest.mark.parametrize("with_trust", [True, False])
def test_a_node_may_only_use_the_certificates_of_its_cluster(mode, with_trust):
    config = structs.replace(CONFIGS[mode], cluster_user_trust=with_trust, forced_common_name=True)

    async def story():
        async with world(config) as here:
            services = here.services
            maker, cluster, identities = await made(here)
            cluster = await certificates.make_all(services, cluster)
            other = await certificates.make_all(services, cluster_of(maker))
            credential = node_credential(here, await identities.env_for_nodes(cluster))
            node = await here.caller_with(credential)
            allowed = []
            for rule in services.cluster_policy._rules:
                for target in (cluster, other, None):
                    with contextlib.suppress(Rejected):
                        await fence.demand(services, rule, node, target)
                        allowed.append((rule, target))
            with pytest.raises(Rejected) as refused:
                await fence.demand(services, "cluster:delete", node, cluster)
            assert refused.value.problems[0].status == 403
            pem = await certificates.signed(services, node, cluster, WORKERS)
            with pytest.raises(Rejected):
                await fence.demand_person(services, node)
            await fence.demand_person(services, maker)
            with pytest.raises(Rejected):
                await certificates.kubeconfig(services, node, cluster)
            own = [await fence.node_cluster(services, one) for one in (node, maker)]
            return cluster, allowed, pem, own

    cluster, allowed, pem, own = asyncio.run(story())
    assert sorted(rule for rule, _ in allowed) == sorted(RULES)
    assert {target.uuid for _, target in allowed} == {cluster.uuid}
    assert "BEGIN CERTIFICATE" in pem
    assert own == [cluster.uuid, None]


def test_the_credential_of_nodes_reaches_no_other_service():
    async def story():
        async with world(CONFIGS[APPLICATION]) as here:
            _, cluster, identities = await made(here)
            node = here.pool.cloud(node_credential(here, await identities.env_for_nodes(cluster)))
            found = {}
            for service, path in (("network", "/v2.0/networks"), ("compute", "/servers"),
                                  ("identity", "/v3/auth/catalog")):  # fmt: skip
                try:
                    await node.request(service, "GET", path)
                    found[service] = 200
                except CloudFault as fault:
                    found[service] = fault.status
            rules = json.dumps([one.body for one in here.all("identity.access_rules")])
            return found, cluster.uuid in rules

    found, named = asyncio.run(story())
    assert found == {"network": 401, "compute": 401, "identity": 401}
    assert named
