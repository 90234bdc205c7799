"""Results of software deployments that a server has written to a Swift object or a Zaqar queue.

Hearth fetches them when a user reads the deployment, with the token of that user. If that fails,
the deployment is returned as stored. Source: docs/spec/software-config.md, section 7.
"""

import asyncio
import logging
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.engine.deployments import taking
from hearth.model.json_text import parse_json
from hearth.resources.heat.deployment_results import results_of
from hearth.resources.heat.objects import OBJECTS, written_at
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store import software_deployments as deployments
from hearth.store.database import Tx
from hearth.store.software_configs import Config
from hearth.store.software_deployments import IN_PROGRESS, Deployment

log = logging.getLogger(__name__)

FETCH_S = 5.0
RESULTS_BYTES_MAX = 1024 * 1024  # more than agents ever send
MESSAGES = "messaging"


async def fetched(
    services: Services, caller: Caller, deployment: Deployment, config: Config
) -> Deployment:
    """Return the deployment, with the results from its Swift object or Zaqar queue if there are
    any.

    `config` is the configuration of the deployment; its input `deploy_signal_transport` shows where
    the server writes results.
    """
    try:
        async with asyncio.timeout(FETCH_S):
            match config.input("deploy_signal_transport"):
                case "TEMP_URL_SIGNAL":
                    return await _of_object(services, services.cloud(caller), deployment, config)
                case "ZAQAR_SIGNAL":
                    return await _of_queue(services, services.cloud(caller), deployment, config)
    except (CloudFault, TimeoutError) as problem:
        message = "the results of deployment %s cannot be fetched: %s"
        log.warning(message, deployment.id, problem or "no answer in time")
    return deployment


async def _of_object(
    services: Services, cloud: Cloud, deployment: Deployment, config: Config
) -> Deployment:
    """Return the deployment, with the results from its Swift object if the object was written after
    the last change of the deployment.
    """
    path = _path_in(await cloud.endpoint(OBJECTS), str(config.input("deploy_signal_id") or ""))
    if path is None:
        message = "the results of deployment %s are in another Swift account and cannot be read"
        log.info(message, deployment.id)
        return deployment
    head = (await cloud.request(OBJECTS, "HEAD", path)).headers
    too_large = int(head.get("content-length", "0")) > RESULTS_BYTES_MAX
    if too_large or (
        deployment.updated_at is not None and written_at(head) <= deployment.updated_at
    ):
        return deployment
    results = _as_map((await cloud.request(OBJECTS, "GET", path)).body)
    return deployment if results is None else await _take(services, deployment, config, results)


def _path_in(account: str, url: str) -> str | None:
    """Return the path of a Swift object in the account, or None if the URL is not in this account.

    The URL may have another host name, and some clients omit the path before `/v1`.
    """
    name = account.rstrip("/").rpartition("/")[2]
    _, _, object_path = urlsplit(url).path.partition(f"/{name}/")
    container, _, key = object_path.partition("/")
    return f"/{object_path}" if container and key else None


async def _of_queue(
    services: Services, cloud: Cloud, deployment: Deployment, config: Config
) -> Deployment:
    """Return the deployment, with the results from its Zaqar queue, if there are any.

    A message is deleted only after its content is stored.
    """
    queue = f"/v2/queues/{quote(str(config.input('deploy_queue_id') or ''), safe='')}/messages"
    headers = {"Client-ID": str(uuid.uuid5(uuid.NAMESPACE_URL, deployment.id))}
    response = await cloud.request(MESSAGES, "GET", f"{queue}?echo=true", headers=headers)
    messages = response.body.get("messages", ()) if isinstance(response.body, dict) else ()
    for message in messages:
        if deployment.status != IN_PROGRESS:
            break
        results = _as_map(message["body"])
        if results is not None:
            deployment = await _take(services, deployment, config, results)
        await cloud.request(
            MESSAGES, "DELETE", f"{queue}/{quote(message['id'])}", headers=headers, idempotent=True
        )
    return deployment


def _as_map(body: Any) -> Mapping[str, Any] | None:
    """Return the results as a map; None if there are none yet, or if they are not a map."""
    if isinstance(body, str):
        try:
            body = parse_json(body)
        except ValueError:
            return None
    return body if isinstance(body, Mapping) else None


async def _take(
    services: Services, deployment: Deployment, config: Config, document: Mapping[str, Any]
) -> Deployment:
    """Store the results, unless the deployment has changed since it was read; return the stored
    deployment.
    """
    results, now = results_of(document, config.outputs), services.clock.now()

    def transaction(tx: Tx) -> Deployment:
        current = deployments.find(tx, deployment.project_id, deployment.id, lock=True)
        if current is None or current != deployment:
            return current or deployment
        after = taking(current, results, now)
        deployments.change(tx, after)
        return after

    return await services.store.run_once(transaction)
