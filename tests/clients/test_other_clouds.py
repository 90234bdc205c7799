"""A stack of one cloud makes a stack in another, and in another region."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from heatclient.exc import HTTPBadRequest

from tests.clients.dev import Dev, hearth_dev, settled

pytestmark = pytest.mark.slow

AWAY = """
heat_template_version: 2021-04-16
parameters:
  context: {type: json}
  name: {type: string}
resources:
  far:
    type: OS::Heat::Stack
    properties:
      context: {get_param: context}
      parameters: {name: {get_param: name}}
      template: |
        heat_template_version: 2021-04-16
        parameters: {name: {type: string}}
        resources:
          net: {type: OS::Neutron::Net, properties: {name: {get_param: name}}}
        outputs:
          net: {value: {get_resource: net}}
          name: {value: {get_attr: [net, name]}}
outputs:
  far: {value: {get_attr: [far, outputs]}}
"""

KEYED = (
    AWAY.replace("type: json", "type: string")
    .replace("{get_param: context}", "{credential_secret_id: {get_resource: key}}")
    .replace(
        "resources:\n  far:",
        """resources:
  key:
    type: OS::Barbican::Secret
    properties: {payload: {get_param: context}}
  far:""",
        1,
    )
)
"""With the secret in the same template, so that it is not known before."""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("other")) as running:
        yield running


def application(connection: Any, auth_url: str) -> dict[str, Any]:
    """An application credential of whoever the connection is of, as a secret holds it."""
    made = connection.identity.create_application_credential(connection.current_user_id, "far")
    auth = {
        "auth_url": auth_url,
        "application_credential_id": made.id,
        "application_credential_secret": made.secret,
    }
    return {"auth_type": "v3applicationcredential", "auth": auth}


def password(auth_url: str) -> dict[str, Any]:
    auth = {
        "auth_url": auth_url,
        "username": "demo",
        "password": "secret",
        "project_name": "demo",
        "user_domain_id": "default",
        "project_domain_name": "Default",
    }
    return {"auth_type": "v3password", "auth": auth}


def kept(connection: Any, payload: str) -> str:
    """The id of a new secret."""
    made = connection.key_manager.create_secret(payload=payload, payload_content_type="text/plain")
    return str(made.secret_ref.rpartition("/")[2])


def second_region(admin: Any) -> None:
    """Another region, with the orchestration service of the first."""
    admin.identity.create_region(id="RegionTwo")
    (service,) = (one for one in admin.identity.services() if one.type == "orchestration")
    (endpoint,) = admin.identity.endpoints(service_id=service.id, interface="public")
    admin.identity.create_endpoint(
        service_id=service.id, interface="public", url=endpoint.url, region_id="RegionTwo"
    )


def made(heat: Any, name: str, template: str, context: Any) -> str:
    """The id of a stack that is being made."""
    answer = heat.stacks.create(
        stack_name=name, template=template, parameters={"context": context, "name": name}
    )
    return str(answer["stack"]["id"])


def far(heat: Any, stack_id: str) -> dict[str, Any]:
    """What the stack elsewhere says."""
    (output,) = heat.stacks.get(stack_id).outputs
    found: dict[str, Any] = output["output_value"]
    return found


def after(heat: Any, stack_id: str, action: str) -> None:
    done = settled(heat, stack_id, action)
    assert done.stack_status == f"{action}_COMPLETE", done.stack_status_reason


def nets(connection: Any) -> dict[str, str]:
    return {net.id: net.name for net in connection.network.networks()}


def test_stacks_are_made_changed_and_removed_elsewhere(dev: Dev, other: Dev) -> None:
    with dev.sdk() as here, dev.heat() as heat, other.sdk() as there, other.heat() as heat_there:
        with dev.sdk("hearth-admin") as admin:
            second_region(admin)
        payload = application(there, other.auth_url)
        first = {"credential_secret_id": kept(here, json.dumps(payload))}
        second = {"credential_secret_id": kept(here, json.dumps(password(other.auth_url)))}
        dev.mark()
        other.mark()
        away = made(heat, "away", AWAY, {**first, "region_name": "RegionOne"})
        keyed = made(heat, "keyed", KEYED, json.dumps(password(other.auth_url)))
        region = made(heat, "region", AWAY, {"region_name": "RegionTwo"})
        for one in (away, keyed, region):
            after(heat, one, "CREATE")
        shown = far(heat, away)
        assert nets(there)[shown["net"]] == "away"
        assert nets(there)[far(heat, keyed)["net"]] == "keyed"
        assert nets(here)[far(heat, region)["net"]] == "region"
        assert shown["net"] not in nets(here)
        names = {stack.stack_name.rpartition("-")[0] for stack in heat_there.stacks.list()}
        assert names == {"away-far", "keyed-far"}

        context = {**second, "region_name": "RegionOne"}
        heat.stacks.update(away, template=AWAY, parameters={"context": context, "name": "later"})
        after(heat, away, "UPDATE")
        assert far(heat, away) == {**shown, "name": "later"}

        for one in (away, keyed, region):
            heat.stacks.delete(one)
        for one in (away, keyed, region):
            after(heat, one, "DELETE")
        assert (dev.left_over(), other.left_over()) == ([], [])
        hidden = payload["auth"]["application_credential_secret"].encode()
        assert all(hidden not in file.read_bytes() for file in dev.folder.glob("hearth.db*"))


def test_what_cannot_be_reached_is_told_and_nothing_is_made(dev: Dev, other: Dev) -> None:
    with dev.sdk() as here, dev.heat() as heat:
        wrong = password(other.auth_url)
        wrong["auth"]["password"] = "wrong"
        told = {
            "no-such-secret": "cannot be read",
            kept(here, "no JSON"): "the text is not JSON",
            kept(here, '{"auth_type": "v2password", "auth": {}}'): "auth_type must be one of",
            kept(here, json.dumps(wrong)): "cannot be used: The request you have made",
            kept(here, json.dumps(password("http://127.0.0.1:9"))): "auth_url does not answer",
        }
        dev.mark()
        other.mark()
        for secret, words in told.items():
            with pytest.raises(HTTPBadRequest, match=words):
                made(heat, "not", AWAY, {"credential_secret_id": secret})
        words = 'Cannot establish connection to Heat endpoint at region "Nowhere" due to'
        with pytest.raises(HTTPBadRequest, match=words):
            made(heat, "not", AWAY, {"region_name": "Nowhere"})
        late = made(heat, "late", KEYED, json.dumps(wrong))
        done = settled(heat, late, "CREATE")
        assert done.stack_status == "CREATE_FAILED"
        assert "cannot be used: The request you have made" in done.stack_status_reason
        heat.stacks.delete(late)
        after(heat, late, "DELETE")
        assert (dev.left_over(), other.left_over()) == ([], [])
