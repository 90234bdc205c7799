"""Objects that Hearth creates in Keystone: trusts, projects and users of stacks, key pairs.

The functions that create a trust, a project or a user take a `key`, so that the object can be found
if the response is lost. A project or user has the key as its description, and a trust has an expiry
time, far in the future, that is derived from the key. A key pair is found by its user and project.
"""

import hashlib
import json
import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

from hearth.cloud.config import STACK_USER_ROLE
from hearth.cloud.contract import Body, Cloud, Response
from hearth.cloud.fault import CloudFault, NoAnswer, NotFound
from hearth.cloud.path import segment
from hearth.model.discreet import Discreet
from hearth.model.json_text import parse_json

TRUSTS_END_AFTER = datetime(2100, 1, 1, tzinfo=UTC)
TRUSTS_END_WITHIN_S = 60 * 60 * 24 * 365 * 7800  # a long range, so that keys hardly ever collide
USER_NAME_LIMIT = 255
USER_OPTIONS = {
    "ignore_password_expiry": True,
    "ignore_change_password_upon_first_use": True,
    "ignore_lockout_failure_attempts": True,
}


class KeyPair(Discreet, frozen=True):
    """An EC2 credential of a stack user: access key and secret key."""

    access: str
    secret: str

    hidden = frozenset({"secret"})


async def make_trust(cloud: Cloud, trustee_user_id: str, roles: Sequence[str], *, key: str) -> str:
    """Create a trust from the user of `cloud` to the trustee in the user's project; return its id.

    If `roles` is empty, all roles of the user are delegated. If the trust for `key` exists already,
    its id is returned.
    """
    user = await cloud.whoami()
    ends = trust_end(key)
    trust_id = await find_trust(cloud, trustee_user_id, key=key)
    if trust_id is not None:
        return trust_id
    answer = await cloud.request(
        "identity",
        "POST",
        "/v3/OS-TRUST/trusts",
        json={
            "trust": {
                "trustor_user_id": user.user_id,
                "trustee_user_id": trustee_user_id,
                "project_id": user.project_id,
                "impersonation": True,
                "allow_redelegation": False,
                "roles": [{"name": name} for name in (roles or user.roles)],
                "expires_at": ends,
            }
        },
    )
    return made_id(answer, "trust")


async def find_trust(cloud: Cloud, trustee_user_id: str, *, key: str) -> str | None:
    """Return the id of the trust that an earlier `make_trust` with this key created, or None."""
    trust_ids = await find_trusts(cloud, trustee_user_id, key=key)
    return trust_ids[0] if trust_ids else None


async def find_trusts(
    cloud: Cloud, trustee_user_id: str, *, key: str, trustor_user_id: str | None = None
) -> list[str]:
    """Return the ids of all trusts to the trustee that were created with the key.

    If `trustor_user_id` is None, the trustor is the user of `cloud`. There can be several trusts,
    because Keystone may carry out a call after Hearth has stopped waiting for it.
    """
    trustor = trustor_user_id or (await cloud.whoami()).user_id
    trusts = await cloud.listing(
        "identity", f"/v3/OS-TRUST/trusts?trustor_user_id={segment(trustor)}"
    )
    ends = trust_end(key)
    return [
        str(trust["id"])
        for trust in trusts
        if trust.get("trustee_user_id") == trustee_user_id and trust.get("expires_at") == ends
    ]


async def drop_trust(cloud: Cloud, trust_id: str) -> None:
    """Delete a trust, if it exists."""
    await _drop(cloud, f"/v3/OS-TRUST/trusts/{segment(trust_id)}")


def trust_end(key: str) -> str:
    """Return the expiry time, in Keystone's format, of the trust that is created for a key.

    The time is derived from the key, so Hearth finds the trust by its expiry time. It is a whole
    number of seconds, because Keystone on MariaDB drops fractions.
    """
    luck = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    end = TRUSTS_END_AFTER + timedelta(seconds=luck % TRUSTS_END_WITHIN_S)
    return end.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class StackDomain:
    """The Keystone domain in which Hearth creates the projects and users of stacks.

    `admin` makes calls as the administrator of the domain. If `domain_id` is None, the domain is
    that of the administrator's project. `role` is the name of the role of stack users.
    """

    def __init__(self, admin: Cloud, domain_id: str | None, role: str = STACK_USER_ROLE) -> None:
        self._admin = admin
        self.domain_id = domain_id
        self._domain_field = {} if domain_id is None else {"domain_id": domain_id}
        self._role = role
        self._role_id: str | None = None

    async def make_project(self, name: str, *, key: str) -> str:
        """Create the project `name` in the domain, or find it by `key`; return its id."""
        body = {"name": name, "description": key, **self._domain_field}
        return await self._make("projects", "project", body, key)

    async def find_project(self, name: str, *, key: str) -> str | None:
        """Return the id of the project that an earlier `make_project` with this key created, or
        None.
        """
        return await self._find("projects", name, key)

    async def has_project(self, project_id: str) -> bool:
        """Return whether a project exists in the domain. A Keystone that conceals missing projects
        answers 403.
        """
        try:
            await self._admin.request("identity", "GET", f"/v3/projects/{segment(project_id)}")
        except NotFound:
            return False
        except CloudFault as fault:
            if fault.status != 403:
                raise
            return False
        return True

    async def drop_projects(self, project_id: str | None, name: str, *, key: str) -> None:
        """Delete the project with this id, and the project that `make_project` created with this
        name and key, if they exist.

        They differ if somebody else deleted the first one, so that another one was needed.
        """
        created_id = await self.find_project(name, key=key)
        for ident in filter(None, {project_id, created_id}):
            if ident == created_id or await self.has_project(ident):
                await _drop(self._admin, f"/v3/projects/{segment(ident)}")

    async def make_user(self, name: str, project_id: str, password: str, *, key: str) -> str:
        """Create the user `name`, or find it by `key` and set the password; return its id.

        The user gets the role of stack users in the project. A user that cannot get it is deleted
        again.
        """
        body = {
            "name": name[-USER_NAME_LIMIT:],
            "description": key,
            **self._domain_field,
            "password": password,
            "default_project_id": project_id,
            "enabled": True,
            "options": USER_OPTIONS,
        }
        user_id = await self._make("users", "user", body, key)
        try:
            await self._give_role(user_id, project_id)
        except NoAnswer:  # a search finds the user and completes it
            raise
        except CloudFault as refusal:  # nobody knows the user yet
            try:
                await self.drop_user(user_id)
            except CloudFault:
                message, kind = refusal.message, refusal.type
                raise NoAnswer("identity", message, type=kind, again=False) from refusal
            raise
        return user_id

    async def _give_role(self, user_id: str, project_id: str) -> None:
        """Give a user the role of stack users in a project."""
        role = await self._role_of_users()
        await self._admin.request(
            "identity",
            "PUT",
            f"/v3/projects/{segment(project_id)}/users/{segment(user_id)}/roles/{segment(role)}",
            idempotent=True,
        )

    async def make_trustee(self, name: str, password: str, *, key: str) -> str:
        """Create a user without a project, as the trustee of a trust; return its id.

        If the user exists already with this key, its password is set.
        """
        body = {
            "name": name[-USER_NAME_LIMIT:],
            "description": key,
            **self._domain_field,
            "password": password,
            "enabled": True,
            "options": USER_OPTIONS,
        }
        return await self._make("users", "user", body, key)

    async def find_user(self, name: str, *, key: str) -> str | None:
        """Return the id of the user that an earlier `make_user` or `make_trustee` with this key
        created, or None.
        """
        return await self._find("users", name[-USER_NAME_LIMIT:], key)

    async def user_of_project(self, name: str, project_id: str) -> str | None:
        """Return the id of the user `name` created for a resource in a project, or None."""
        for user in await self._with_name("users", name[-USER_NAME_LIMIT:]):
            if user.get("default_project_id") == project_id and _made_for_a_record(user):
                return str(user["id"])
        return None

    async def has_user(self, user_id: str, project_id: str | None, *, key: str) -> bool:
        """Return whether the user exists. Raises CloudFault 403 if it has another key or project.

        Keystone takes the default project of a user away if the project is deleted, so a user
        without one may be the right one. If `project_id` is None, any existing user is refused in
        this way. This check is needed because the id may come from a request, and the domain
        administrator can change every user of the domain.
        """
        try:
            path = f"/v3/users/{segment(user_id)}"
            user = (await self._admin.request("identity", "GET", path)).part("user")
        except NotFound:
            return False
        if not user:
            raise NoAnswer("identity", f"GET {path}: the answer does not show the user")
        domain_id = self._domain_field.get("domain_id", user.get("domain_id"))
        is_own = (domain_id, key) == (user.get("domain_id"), user.get("description"))
        is_own = is_own and user.get("default_project_id") in (project_id, None)
        is_own = is_own and project_id is not None
        if not is_own:
            raise CloudFault(
                "identity", 403, "Forbidden", f"User {user_id} was not created for this resource."
            )
        return True

    async def enable_user(self, user_id: str, *, enabled: bool) -> None:
        """Set whether a user is enabled. Raises CloudFault."""
        await self._admin.request(
            "identity",
            "PATCH",
            f"/v3/users/{segment(user_id)}",
            json={"user": {"enabled": enabled}},
            idempotent=True,
        )

    async def drop_user(self, user_id: str) -> None:
        """Delete a user with its key pairs, if it exists."""
        await _drop(self._admin, f"/v3/users/{segment(user_id)}")

    async def make_key_pair(self, user_id: str, project_id: str) -> KeyPair:
        """Return the key pair of a stack user for a project; create one if there is none."""
        for pair in await self.key_pairs(user_id, project_id):
            return pair
        pair = KeyPair(secrets.token_hex(16), secrets.token_hex(16))
        await self.keep_key_pair(user_id, project_id, pair)
        return pair

    async def keep_key_pair(self, user_id: str, project_id: str, pair: KeyPair) -> None:
        """Create the given key pair for a stack user. Do nothing if the user has this pair."""
        body = {
            "type": "ec2",
            "user_id": user_id,
            "project_id": project_id,
            "blob": json.dumps({"access": pair.access, "secret": pair.secret}),
        }
        try:
            await self._admin.request(
                "identity", "POST", "/v3/credentials", json={"credential": body}
            )
        except CloudFault as fault:
            pairs = await self.key_pairs(user_id, project_id) if _may_be(fault) else []
            if pair not in pairs:
                raise

    async def key_pairs(self, user_id: str, project_id: str) -> list[KeyPair]:
        """Return the key pairs of a stack user for a project.

        There can be several, because Keystone may carry out a call after Hearth has stopped waiting
        for it.
        """
        path = f"/v3/credentials?type=ec2&user_id={segment(user_id)}"
        credentials = await self._admin.listing("identity", path)
        blobs = [
            parse_json(credential["blob"])
            for credential in credentials
            if credential.get("project_id") == project_id
        ]
        return [KeyPair(str(blob["access"]), str(blob["secret"])) for blob in blobs]

    async def drop_key_pair(self, user_id: str, access: str) -> None:
        """Delete the key pair with this access key, if it exists."""
        await _drop(
            self._admin, f"/v3/credentials/{segment(hashlib.sha256(access.encode()).hexdigest())}"
        )

    async def _make(self, collection: str, root: str, body: Body, key: str) -> str:
        try:
            answer = await self._admin.request(
                "identity", "POST", f"/v3/{collection}", json={root: body}
            )
            return made_id(answer, root)
        except CloudFault as fault:
            ident = await self._find(collection, body["name"], key) if _may_be(fault) else None
            if ident is None:
                raise
        if "password" in body:  # an earlier attempt may have created it with another password
            await self._admin.request(
                "identity",
                "PATCH",
                f"/v3/{collection}/{segment(ident)}",
                json={root: {"password": body["password"]}},
                idempotent=True,
            )
        return ident

    async def _find(self, collection: str, name: str, key: str) -> str | None:
        for member in await self._with_name(collection, name):
            if member.get("description") == key:
                return str(member["id"])
        return None

    async def _with_name(self, collection: str, name: str) -> Sequence[Body]:
        """Return the members of a collection of the domain that have this name."""
        query = urlencode({"name": name, **self._domain_field})
        return await self._admin.listing("identity", f"/v3/{collection}?{query}")

    async def _role_of_users(self) -> str:
        if self._role_id is None:
            path = f"/v3/roles?name={segment(self._role)}"
            roles = await self._admin.listing("identity", path)
            if not roles:
                message = f'Keystone has no role "{self._role}", which stack users need.'
                raise NotFound("identity", message, "RoleNotFound")
            self._role_id = str(roles[0]["id"])
        return self._role_id


def _may_be(fault: CloudFault) -> bool:
    """Return whether the object may exist although the call to create it failed with `fault`."""
    return fault.conflict or isinstance(fault, NoAnswer)


def made_id(answer: Response, root: str) -> str:
    """Return the id in the response to a create call. Raises NoAnswer if there is none.

    `root` is the top-level key of the body, such as "user".
    """
    ident = answer.part(root).get("id")
    if ident is None:
        raise NoAnswer(
            "identity", f"The response to the creation of the {root} has no id.", again=False
        )
    return str(ident)


def _made_for_a_record(user: Body) -> bool:
    """Return whether a user was created for a resource: its description is then a record's id."""
    try:
        return bool(UUID(str(user.get("description"))))
    except ValueError:
        return False


async def _drop(cloud: Cloud, path: str) -> None:
    with suppress(NotFound):
        await cloud.request("identity", "DELETE", path, idempotent=True)
