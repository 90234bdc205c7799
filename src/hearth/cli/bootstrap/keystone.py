"""A client of the identity API for administrators: find, create and change objects, and check
passwords.
"""

import logging
import warnings
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import keystoneauth1.exceptions as ka_errors

from hearth.config.wrong import WrongSetting
from hearth.model.problem import hint, nearest

Body = dict[str, Any]
TIMEOUT_S = 60


class Keystone:
    """A client for one Keystone, with the credential of the entry `cloud` in clouds.yaml.

    If `cloud` is None, the credential comes from the environment variables. `url` is the address of
    Keystone, and `region` the region of the entry, or None. `verify` is the path of a file with
    trusted CA certificates, False if certificates are not verified, or anything else. `changes`
    counts the successful changes. All methods raise WrongSetting if Keystone cannot be used or
    refuses a request.
    """

    def __init__(self, cloud: str | None) -> None:
        self._cloud = cloud
        self.changes = 0
        logging.getLogger("keystoneauth").addHandler(logging.NullHandler())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about libraries that Hearth does not use
            from openstack.config import loader
            from openstack.exceptions import ConfigException

            try:
                clouds = loader.OpenStackConfig()
                names = clouds.get_cloud_names()
                if cloud is not None and cloud not in names:
                    message = f"{self._entry}: clouds.yaml has no such entry"
                    raise WrongSetting(f"{message}{hint(nearest(cloud, names))}")
                cloud_region = clouds.get_one(cloud=cloud)
                self._session = cloud_region.get_session()
            except (ConfigException, ka_errors.ClientException, OSError) as problem:
                raise WrongSetting(f"{self._entry}: {_line(problem)}") from None
        auth_url = getattr(self._session.auth, "auth_url", None)
        if not auth_url:
            raise WrongSetting(f"{self._entry}: auth_url is not set")
        self.url = with_v3(auth_url)
        self.region: str | None = cloud_region.get_region_name() or None
        self.verify, _ = cloud_region.get_requests_verify_args()
        self._session.timeout = TIMEOUT_S

    def find(self, table: str, **narrow: str) -> list[Body]:
        """Return the objects of the collection `table` whose fields have the values in `narrow`."""
        return list(self._call("GET", f"/{table}", params=narrow).json()[table])

    def create(self, table: str, root: str, body: Mapping[str, Any]) -> Body:
        """Create an object in the collection `table` and return it; `root` is the key around its
        body.
        """
        return dict(self._call("POST", f"/{table}", json={root: dict(body)}).json()[root])

    def change(self, path: str, root: str, changes: Mapping[str, Any]) -> None:
        """Change fields of the object at `path`; `root` is the key around its body."""
        self._call("PATCH", path, json={root: dict(changes)})

    def granted(self, path: str) -> bool:
        """Return whether the role assignment at `path` exists."""
        answer = self._call("HEAD", path, allowed_codes=(HTTPStatus.NOT_FOUND,))
        return bool(answer.status_code != HTTPStatus.NOT_FOUND)

    def grant(self, path: str) -> None:
        """Create the role assignment at `path`."""
        self._call("PUT", path)

    def accepts(self, user_id: str, password: str) -> bool:
        """Return whether Keystone accepts this password for the user."""
        proof = {"user": {"id": user_id, "password": password}}
        identity = {"methods": ["password"], "password": proof}
        body = {"auth": {"identity": identity, "scope": "unscoped"}}
        refused = (HTTPStatus.UNAUTHORIZED,)
        answer = self._call("POST", "/auth/tokens", json=body, by=False, allowed_codes=refused)
        return bool(answer.status_code == HTTPStatus.CREATED)

    def _call(
        self,
        method: str,
        path: str,
        *,
        by: bool = True,
        allowed_codes: tuple[int, ...] = (),
        **arguments: Any,
    ) -> Any:
        """Send a request and return the response. If `by` is true, send the administrator's token
        with it.

        Raises WrongSetting for a response with an error status, unless the status is in
        `allowed_codes`. `arguments` are those of the HTTP library.
        """
        url = f"{self.url}{path}"
        try:
            answer = self._session.request(
                url, method, raise_exc=False, authenticated=by, log=False, **arguments
            )
        except ka_errors.Unauthorized as problem:
            message = f"Keystone does not accept the credential: {_line(problem)}"
            raise WrongSetting(f"{self._entry}: {message}") from None
        except ka_errors.ClientException as problem:
            raise WrongSetting(f"Keystone at {self.url}: {_line(problem)}") from None
        code = int(answer.status_code)
        if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) and code not in allowed_codes:
            raise WrongSetting(self._not_admin(f"{method} {path}", code))
        if code >= HTTPStatus.BAD_REQUEST and code not in allowed_codes:
            raise WrongSetting(f"Keystone: {method} {path}: {code} {_message(answer)}")
        if by and method not in ("GET", "HEAD"):
            self.changes += 1
        return answer

    def _not_admin(self, request: str, code: int) -> str:
        info = self._session.auth.get_access(self._session)
        roles = ", ".join(sorted(info.role_names)) or "none"
        return (
            f"{self._entry}: Keystone refused {request} with {code}: expected an administrator, "
            f"got user {info.username} with roles {roles}"
        )

    @property
    def _entry(self) -> str:
        return f"--os-cloud {self._cloud}" if self._cloud else "the credential of the environment"


def with_v3(url: str) -> str:
    """Return a URL of Keystone with /v3 at its end."""
    url = url.rstrip("/").removesuffix("/v2.0")
    return url if url.endswith("/v3") else f"{url}/v3"


def _message(answer: Any) -> str:
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return str(answer.reason)


def _line(problem: Exception) -> str:
    return " ".join(str(problem).split())
