"""No secret of a cluster is in a stack, a log, a notification, or readable in the database."""

import json
import logging
from pathlib import Path
from urllib.parse import unquote

import pytest

from hearth.clusters.objects import MASTER, WORKER
from hearth.service.clusters import certificates
from hearth.service.clusters.identity import NodeIdentity
from hearth.service.clusters.node_url import FORMER, credential_url
from hearth.store import reads
from hearth.store.clusters import identities
from hearth.store.tables import stack
from tests.conductor.test_conductor import created
from tests.conductor.test_notifications import sent
from tests.conductor.world import World, story, world


async def secrets_of(here: World, cluster: object) -> dict[str, str]:
    """Return what nobody may read: {what it is: text}."""
    from hearth.clusters.objects import Cluster

    assert isinstance(cluster, Cluster)
    found: dict[str, str] = {}
    for field in certificates.KINDS:
        ref = getattr(cluster, field)
        pair = await certificates.key_pair(here.services, cluster, ref)
        found[field] = pair.private_key.splitlines()[3]
    rows = await here.services.store.read(lambda tx: identities.of_cluster(tx, cluster.uuid))
    for row in rows:
        for name in ("node_secret", "service_secret", "password"):
            if value := getattr(row.secrets, name):
                found[name] = value
    assert found.keys() >= {"node_secret", "service_secret", "ca_cert_ref"}
    for name, value in (await NodeIdentity(here.services).env_for_nodes(cluster)).items():
        if "secret" in name:
            found[f"node {name}"] = value
    return found


@story
async def test_secrets_stay_where_they_belong(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with world(tmp_path) as here:
        here.services.store.notifies = True
        here.start()
        labels = {"grafana_admin_passwd": "canary of a label"}
        cluster = await created(here, labels=labels)
        secrets = {**await secrets_of(here, cluster), **labels}
        text = await certificates.kubeconfig(here.services, here.caller, cluster)
        secrets["kubeconfig"] = json.loads(text)["users"][0]["user"]["client-key-data"][100:200]
        token = here.caller.token
        store = here.services.store
        ids = await store.read(lambda tx: [row.id for row in tx.rows(stack.select())])
        assert len(ids) > 3
        messages = await sent(here)
        assert len(messages) == 3
        texts = [caplog.text, *map(str, messages)]
        for ident in ids:
            row = await store.read(lambda tx, i=ident: reads.find_stack(tx, None, i))  # type: ignore[misc]
            revision, program = await here.services.program(row)
            values = {name: one.value for name, one in program.parameters.items()}
            records = await store.read(lambda tx, i=ident: reads.records(tx, i))  # type: ignore[misc]
            texts += [str(values), str(revision.environment), *map(str, records)]
        await store.run(lambda tx: tx.execute(stack.select()) and None)
        stored = b"".join(path.read_bytes() for path in tmp_path.glob("hearth.db*"))
        for role in (MASTER, WORKER, FORMER):  # hidden parameters of the stack contain them
            proof = unquote(credential_url(here.services, cluster, role).partition("=")[2])
            assert not [one for one in (caplog.text, *map(str, messages)) if proof in one], role
            assert proof.encode() not in stored, role
        for name, secret in {**secrets, "token": token}.items():
            assert len(secret) > 12, name
            assert not [text for text in texts if secret in text], name
            assert secret.encode() not in stored, name
