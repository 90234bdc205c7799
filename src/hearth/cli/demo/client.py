"""The HTTP client of the demo, with which it acts as a user and as an administrator."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from keystoneauth1 import session
from keystoneauth1.identity import v3

from hearth.cli.demo.dev_server import DemoFailed, DevServer
from hearth.resources.heat.agent_text import agent_text

FOLDER = files("hearth.cli.demo") / "templates"
ROOT = "three_tier.yaml"
FILES = ("tier.yaml", "web.yaml")
SANDBOX = "sandbox.yaml"
AGENT = "agent.sh"


class Client:
    """Sends requests as one user to `server` and returns parsed response bodies.

    The project of the user has the same name as the user.
    """

    def __init__(self, server: DevServer, user: str) -> None:
        login = v3.Password(
            auth_url=server.auth_url,
            username=user,
            password=server.password,
            project_name=user,
            user_domain_name="Default",
            project_domain_name="Default",
        )
        self._session = session.Session(login)
        self._server = server

    def call(self, service: str, method: str, path: str, **arguments: Any) -> Any:
        """Send a request to a service in the catalogue; return the parsed body, or None if it is
        empty.

        `service` is the type of the service. Raises DemoFailed for an error status.
        """
        return self._answer(path, method, endpoint_filter={"service_type": service}, **arguments)

    def behind_the_scenes(self, method: str, path: str, **arguments: Any) -> Any:
        """Send a request to the control API of the embedded cloud; return the parsed body, or None.

        Raises DemoFailed for an error status.
        """
        return self._answer(
            f"{self._server.cloud_url}/devcloud/{path}", method, authenticated=False, **arguments
        )

    def _answer(self, url: str, method: str, **arguments: Any) -> Any:
        reply = self._session.request(url, method, raise_exc=False, **arguments)
        if reply.status_code >= 400:
            raise DemoFailed(f"{method} {url}: {reply.status_code} {reply.text}")
        return reply.json() if reply.text else None


def request_body(environment: str, *, servers_run: bool = False) -> dict[str, Any]:
    """Return the body of a request with the demo's template and the environment file `environment`.

    If `servers_run` is true, the web server of the stack really runs its script.
    """
    environments = [environment, *([SANDBOX] if servers_run else [])]
    files = {name: text_of(name) for name in (*FILES, *environments)}
    return {
        "template": text_of(ROOT),
        "files": {**files, AGENT: agent_text(user_data=True)},
        "environment_files": environments,
    }


def text_of(name: str) -> str:
    """Return the text of a file in the demo's template folder."""
    return (FOLDER / name).read_text()


def outputs_of(stack: Mapping[str, Any]) -> dict[str, Any]:
    """Return {name: value} of a stack's outputs. Raises DemoFailed if an output has an error."""
    wrong = [output["output_error"] for output in stack["outputs"] if output.get("output_error")]
    if wrong:
        raise DemoFailed("; ".join(wrong))
    return {output["output_key"]: output["output_value"] for output in stack["outputs"]}
