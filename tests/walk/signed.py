"""Requests of the CloudFormation-style API, signed as a person."""

import requests

from tests.clients.signing import Signer
from tests.walk.ground import Ground

NOTHING = "nothing-of-this-name"


def signed_action(ground: Ground, person: str, action: str) -> int:
    """The status of an action on a stack that is not there."""
    return int(_signer(ground, person).ask(action, StackName=NOTHING).status_code)


def signed_answer(ground: Ground, person: str, action: str, **parameters: str) -> str:
    """The text with which an action is answered."""
    return str(_signer(ground, person).ask(action, **parameters).text)


def _signer(ground: Ground, name: str) -> Signer:
    if name not in ground.signers:
        person = ground.people[name]
        headers = {"X-Auth-Token": person.token}
        url = f"{ground.dev.auth_url}/users/{person.user_id}/credentials/OS-EC2"
        wanted = {"tenant_id": person.project_id}
        made = requests.post(url, json=wanted, headers=headers, timeout=10)
        made.raise_for_status()
        pair = made.json()["credential"]
        ground.signers[name] = Signer(f"{ground.dev.url}/cfn/v1/", pair["access"], pair["secret"])
    return ground.signers[name]
