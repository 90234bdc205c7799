"""The certificates of a cluster: made once, shown to those who may see them, replaced in steps."""

import asyncio
import base64
import json
import logging
from dataclasses import replace

import pytest
import sqlalchemy as sa
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from msgspec import structs

from hearth.cloud import CloudFault
from hearth.clusters.config import X509, ClusterConfig
from hearth.model.problem import Rejected
from hearth.service import cluster_policy_rules as policy_rules
from hearth.service.clusters import certificates, rotation
from hearth.service.clusters.certificates import KINDS, ca_certificate, make_all, signed
from hearth.service.clusters.key_store import new_key_store
from hearth.service.clusters.x509 import new_ca, sign
from hearth.service.policy import Policy
from hearth.store.clusters import key_pairs
from tests.selection import one_first
from tests.service.clusters.requests import csr
from tests.service.clusters.test_x509 import loaded
from tests.service.clusters.world import NOW, cluster_of, world

pytestmark = [pytest.mark.slow, one_first]

OWN = ClusterConfig()
BARBICAN = ClusterConfig(cert_manager_type="barbican")
REFS = tuple(KINDS)
BOTH = pytest.mark.parametrize("config", [OWN, BARBICAN], ids=["table", "barbican"])


async def denied(awaitable) -> int:
    """Return the status of a refusal."""
    with pytest.raises(Rejected) as refused:
        await awaitable
    return refused.value.problems[0].status


def kept(here) -> int:
    """Return how many key pairs and secrets are stored anywhere."""
    rows = here.services.store.transact(lambda tx: tx.rows(certificates_of()))
    return len(rows) + len(here.all("key-manager.secrets")) + len(
        here.all("key-manager.containers")
    )  # fmt: skip


def certificates_of():
    return sa.select(key_pairs.cluster_key_pair.c.id)


@BOTH
def test_a_cluster_has_three_authorities_and_a_client_of_the_first(config):
    async def story():
        async with world(config) as here:
            caller = await here.caller()
            cluster = await make_all(here.services, cluster_of(caller))
            again = await make_all(here.services, structs.replace(cluster, ca_cert_ref=None))
            texts = [
                await ca_certificate(here.services, caller, cluster, kind)
                for kind in (None, "etcd", "front-proxy", "front_proxy", "anything")
            ]
            client = await certificates.service_client(here.services, cluster)
            return cluster, again, texts, client

    cluster, again, texts, client = asyncio.run(story())
    assert again == cluster
    assert len({getattr(cluster, field) for field in REFS}) == 4
    main, etcd, front, same_front, unknown = texts
    assert len({main, etcd, front}) == 3
    assert (same_front, unknown) == (front, main)
    loaded(client.certificate).verify_directly_issued_by(loaded(main))
    assert loaded(client.certificate).subject.rfc4514_string() == "O=system:masters,CN=admin"


@BOTH
@pytest.mark.parametrize("point", range(1, 5))
def test_a_second_attempt_finds_what_the_first_one_made(config, point, monkeypatch):
    """The process dies after each of the four stores; nothing is made twice."""

    async def story():
        async with world(config) as here:
            cluster = cluster_of(await here.caller())
            count = 0
            keeper = type(new_key_store(here.services, here.services.clusters))
            keep = keeper.keep

            async def dying(self, *args):
                nonlocal count
                ref = await keep(self, *args)
                count += 1
                if count >= point:
                    raise asyncio.CancelledError
                return ref

            monkeypatch.setattr(keeper, "keep", dying)
            with pytest.raises(asyncio.CancelledError):
                await make_all(here.services, cluster)
            monkeypatch.setattr(keeper, "keep", keep)
            made = await make_all(here.services, cluster)
            count_all = kept(here)
            await certificates.drop_all(here.services, made)
            return made, count_all, kept(here)

    cluster, count, left = asyncio.run(story())
    assert all(getattr(cluster, field) for field in REFS)
    assert count == (4 if config is OWN else 4 * 3)
    assert left == 0


@pytest.mark.parametrize("nth", range(1, 13))
@pytest.mark.parametrize("carried_out", [True, False])
def test_no_lost_answer_of_barbican_leaves_anything(nth, carried_out):
    async def story():
        async with world(BARBICAN) as here:
            cluster = cluster_of(await here.caller())
            match = {"service": "key-manager", "method": "POST", "nth": nth}
            here.fault(match, status=504, **({"after": True} if carried_out else {}))
            try:
                made = await make_all(here.services, cluster)
            except CloudFault:
                assert not carried_out  # else the call found what it had made
                made = await make_all(here.services, cluster)
            main = await certificates.trusted(here.services, made)
            client = await certificates.service_client(here.services, made)
            count = kept(here)
            await certificates.drop_all(here.services, made)
            return main, client, count, kept(here)

    main, client, count, left = asyncio.run(story())
    loaded(client.certificate).verify_directly_issued_by(loaded(main))
    assert count == 12
    assert left == 0


def test_barbican_knows_the_consumer_of_a_container():
    async def story():
        async with world(BARBICAN) as here:
            cluster = await make_all(here.services, cluster_of(await here.caller()))
            return cluster.uuid, [one.body for one in here.all("key-manager.containers")]

    uuid, containers = asyncio.run(story())
    assert [one["consumers"] for one in containers] == [[{"name": "Hearth", "URL": uuid}]] * 4
    assert {one["type"] for one in containers} == {"certificate"}


def test_keys_are_made_and_used_in_the_turn_of_their_project():
    async def story():
        async with world() as here:
            caller = await here.caller()
            asked = []
            run = here.services.keys.run

            async def noted(project, work, *, slow=False):
                asked.append((project, slow))
                return await run(project, work, slow=slow)

            here.services.keys.run = noted
            cluster = await make_all(here.services, cluster_of(caller, project_id="owner"))
            made = list(asked)
            asked.clear()
            cluster = structs.replace(cluster, project_id=caller.project_id)
            await signed(here.services, caller, cluster, csr())
            text = await certificates.kubeconfig(here.services, caller, cluster)
            return caller, made, asked, text

    caller, made, used, text = asyncio.run(story())
    assert made == [("owner", True)] * 4
    assert used == [(caller.project_id, False)] * 2
    key = base64.b64decode(json.loads(text)["users"][0]["user"]["client-key-data"])
    assert isinstance(load_pem_private_key(key, None), ec.EllipticCurvePrivateKey)


def test_keys_of_an_old_setting_stay_readable():
    async def story():
        async with world(OWN) as here:
            caller = await here.caller()
            cluster = await make_all(here.services, cluster_of(caller))
            here.services.clusters = BARBICAN
            text = await ca_certificate(here.services, caller, cluster)
            await certificates.drop_all(here.services, cluster)
            return text, kept(here)

    text, left = asyncio.run(story())
    assert "BEGIN CERTIFICATE" in text
    assert left == 0


def test_keys_are_encrypted_and_belong_to_one_cluster():
    async def story():
        async with world() as here:
            caller = await here.caller()
            cluster = await make_all(here.services, cluster_of(caller))
            other = structs.replace(cluster, uuid="other")
            raw = here.services.store.transact(lambda tx: tx.rows(all_bodies()))
            lost = await denied(certificates.key_pair(here.services, other, cluster.ca_cert_ref))
            return raw, lost

    raw, lost = asyncio.run(story())
    assert len(raw) == 4
    assert all(b"PRIVATE" not in row.body and b"CERTIFICATE" not in row.body for row in raw)
    assert lost == 404


def all_bodies():
    return sa.select(key_pairs.cluster_key_pair.c.body)


def test_a_signed_certificate_belongs_to_the_chosen_authority(caplog):
    async def story():
        async with world() as here:
            caller = structs.replace(await here.caller(), request_id="req-1")
            cluster = await make_all(here.services, cluster_of(caller))
            pairs = []
            for kind in (None, "etcd"):
                text = csr(name="evil\nuser" if kind else "n-1")
                pem = await signed(here.services, caller, cluster, text, kind)
                pairs.append((pem, await ca_certificate(here.services, caller, cluster, kind)))
            return caller, cluster, pairs

    with caplog.at_level(logging.INFO, "hearth.audit"):
        caller, cluster, pairs = asyncio.run(story())
    for pem, authority in pairs:
        loaded(pem).verify_directly_issued_by(loaded(authority))
    records = [json.loads(one.getMessage()) for one in caplog.records if one.name == "hearth.audit"]
    assert [one["authority"] for one in records] == ["ca", "etcd-ca"]
    assert records[0] == {
        "event": "certificate signed", "cluster": cluster.uuid, "authority": "ca",
        "subject": "O=system:nodes,CN=n-1", "serial": f"{loaded(pairs[0][0]).serial_number:x}",
        "not_after": int(NOW + 1825 * 86400), "user": caller.user_id,
        "project": caller.project_id, "delegation": None, "request": "req-1",
    }  # fmt: skip
    assert all("\n" not in one.getMessage() for one in caplog.records)


def test_members_of_the_project_may_and_others_may_not():
    async def story():
        async with world() as here:
            owner, admin = await here.caller(), await here.caller("admin")
            cluster = await make_all(here.services, cluster_of(owner))
            colleague = structs.replace(owner, user_id="colleague", token="")
            stranger = structs.replace(owner, project_id="other", token="")
            reader = structs.replace(colleague, roles=frozenset({"reader"}))
            found = {}
            for name, caller in {"owner": owner, "admin": admin, "colleague": colleague,
                                 "stranger": stranger, "reader": reader}.items():  # fmt: skip
                found[name] = (
                    await status(ca_certificate(here.services, caller, cluster)),
                    await status(signed(here.services, caller, cluster, csr())),
                )
            strict = Policy(rules=policy_rules.defaults(owner_only_certificates=True))
            here.services.cluster_policy = strict
            found["strict"] = (
                await status(ca_certificate(here.services, colleague, cluster)),
                await status(ca_certificate(here.services, owner, cluster)),
            )
            return found

    async def status(awaitable):
        try:
            await awaitable
        except Rejected as refused:
            return refused.problems[0].status
        return 200

    assert asyncio.run(story()) == {
        "owner": (200, 200), "admin": (200, 200), "colleague": (200, 200),
        "stranger": (403, 403), "reader": (200, 403), "strict": (403, 200),
    }  # fmt: skip


def test_a_forced_common_name_takes_groups_away():
    async def story():
        async with world(ClusterConfig(forced_common_name=True)) as here:
            caller = await here.caller()
            cluster = await make_all(here.services, cluster_of(caller))
            text = csr(name="admin", organisation="system:masters")
            pem = await signed(here.services, caller, cluster, text)
            config = json.loads(await certificates.kubeconfig(here.services, caller, cluster))
            return pem, config

    pem, config = asyncio.run(story())
    assert loaded(pem).subject.rfc4514_string() == "CN=demo"
    assert client_of(config).subject.rfc4514_string() == "CN=demo"


def client_of(config) -> x509.Certificate:
    text = base64.b64decode(config["users"][0]["user"]["client-certificate-data"]).decode()
    return loaded(text)


def test_a_kubeconfig_has_a_short_lived_certificate():
    async def story():
        async with world() as here:
            caller = await here.caller()
            cluster = await make_all(here.services, cluster_of(caller))
            text = await certificates.kubeconfig(here.services, caller, cluster)
            early = await denied(
                certificates.kubeconfig(
                    here.services, caller, structs.replace(cluster, api_address=None)
                )
            )
            return text, early, await ca_certificate(here.services, caller, cluster)

    text, early, authority = asyncio.run(story())
    config = json.loads(text)
    client = client_of(config)
    client.verify_directly_issued_by(loaded(authority))
    assert client.subject.rfc4514_string() == "O=system:masters,CN=demo"
    assert client.not_valid_after_utc.timestamp() == NOW + 12 * 3600
    assert config["clusters"][0]["cluster"]["server"] == "https://10.0.0.5:6443"
    assert early == 409


def test_certificates_that_do_not_exist_yet_are_a_conflict():
    async def story():
        async with world() as here:
            caller = await here.caller()
            return await denied(ca_certificate(here.services, caller, cluster_of(caller)))

    assert asyncio.run(story()) == 409


@BOTH
def test_a_rotation_keeps_both_authorities_until_it_ends(config):
    async def story():
        async with world(config) as here:
            caller = await here.caller()
            services = here.services
            old = await make_all(services, cluster_of(caller))
            seen = []

            async def look(cluster):
                text = await ca_certificate(services, caller, cluster)
                pem = await signed(services, caller, cluster, csr())
                seen.append((x509.load_pem_x509_certificates(text.encode()), loaded(pem)))

            await look(old)
            await rotation.begin(services, old)
            await rotation.begin(services, old)
            await look(old)
            await rotation.issue(services, old)
            await look(old)
            saved = []
            new = await rotation.finish(services, old, lambda tx, cluster: saved.append(cluster))
            again = await rotation.finish(services, new, lambda tx, cluster: saved.append(cluster))
            await look(new)
            client = await certificates.service_client(services, new)
            count = kept(here)
            await certificates.drop_all(services, new)
            return old, new, again, saved, seen, client, count, kept(here)

    old, new, again, saved, seen, client, count, left = asyncio.run(story())
    (first,) = seen[0][0]
    (second,) = seen[3][0]
    assert [set(authorities) for authorities, _ in seen] == [
        {first}, {first, second}, {first, second}, {second},
    ]  # fmt: skip
    for (authorities, pem), signer in zip(seen, (first, first, second, second), strict=True):
        pem.verify_directly_issued_by(signer)
        assert authorities[0] == signer
    assert saved == [new]
    assert again == new
    assert not {getattr(old, field) for field in REFS} & {getattr(new, field) for field in REFS}
    loaded(client.certificate).verify_directly_issued_by(second)
    assert count == (4 if config is OWN else 12)
    assert left == 0


@BOTH
@pytest.mark.parametrize("phase", ["making", "trust", "issue"])
def test_a_rotation_that_fails_leaves_the_old_authorities(config, phase, monkeypatch):
    async def story():
        async with world(config) as here:
            caller = await here.caller()
            services = here.services
            cluster = await make_all(services, cluster_of(caller))
            before = await ca_certificate(services, caller, cluster)
            if phase == "making":
                here.fault({"service": "key-manager", "method": "POST", "nth": 5}, status=400)
                monkeypatch.setattr(certificates, "new_client", fails)
                with pytest.raises((ValueError, CloudFault)):
                    await rotation.begin(services, cluster)
            else:
                await rotation.begin(services, cluster)
            if phase == "issue":
                await rotation.issue(services, cluster)
            await rotation.abandon(services, cluster)
            await rotation.abandon(services, cluster)
            after = await ca_certificate(services, caller, cluster)
            return before, after, kept(here)

    def fails(*args, **more):
        raise ValueError("no luck")

    before, after, count = asyncio.run(story())
    assert after == before
    assert count == (4 if config is OWN else 12)


@BOTH
def test_a_rotation_interrupted_after_the_swap_is_finished(config, monkeypatch):
    async def story():
        async with world(config) as here:
            services = here.services
            cluster = await make_all(services, cluster_of(await here.caller()))
            await rotation.begin(services, cluster)
            saved = []

            async def dies(*args):
                raise asyncio.CancelledError

            with monkeypatch.context() as patched:
                patched.setattr(rotation, "drop_key_pairs", dies)
                with pytest.raises(asyncio.CancelledError):
                    await rotation.finish(services, cluster, lambda tx, one: saved.append(one))
            (new,) = saved
            found = await rotation.finish(services, new, lambda tx, one: saved.append(one))
            return saved, new, found, kept(here)

    saved, new, found, count = asyncio.run(story())
    assert saved == [new]
    assert found == new
    assert count == (4 if config is OWN else 12)


def test_a_cluster_deleted_during_a_rotation_leaves_nothing():
    async def story():
        async with world(BARBICAN) as here:
            services = here.services
            cluster = await make_all(services, cluster_of(await here.caller()))
            await rotation.begin(services, cluster)
            count = kept(here)
            await certificates.drop_all(services, cluster)
            await certificates.drop_all(services, cluster)
            return count, kept(here)

    assert asyncio.run(story()) == (24, 0)


def test_a_key_pair_with_a_passphrase_can_sign():
    ca = new_ca("prod", X509(), NOW)
    key = load_pem_private_key(ca.private_key.encode(), None)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))
    locked = replace(ca, private_key=text.decode(), passphrase="word")
    loaded(sign(csr(), locked, X509(), NOW).pem).verify_directly_issued_by(loaded(ca.certificate))
