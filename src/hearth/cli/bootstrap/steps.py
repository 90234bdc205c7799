"""Compare Keystone with what Hearth needs, and change it.

The same steps run twice: first without `apply`, when they only report, then with it. An object that
does not exist has the id None in the first run, and everything that belongs to it is reported as
missing.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from hearth.cli.bootstrap.desired import Api, Desired
from hearth.cli.bootstrap.keystone import Body, Keystone
from hearth.cloud.identity import USER_OPTIONS
from hearth.config.wrong import WrongSetting
from hearth.model.problem import hint, nearest

SERVICE_ROLES = ("admin", "service")
STACK_USER_ROLE = "heat_stack_user"


class State(Enum):
    """The result of comparing one object."""

    EXISTS = "exists"
    MISSING = "missing"
    CHANGES = "changes"  # differs, and is changed
    DIFFERS = "differs"  # differs, and is left as it is


class Account(Enum):
    """The users as which Hearth logs in to Keystone."""

    SERVICE = "service user"
    DOMAIN_ADMIN = "administrator of the domain of stacks"


class Line(Struct, frozen=True):
    """A line of the report: the object `what` and its state."""

    state: State
    what: str


class Steps:
    """One comparison of Keystone with the desired state. `lines` is its report.

    If `apply` is true, missing objects are created. `new` contains the accounts that do not exist
    yet, `unknown` those that exist but whose password is not known.
    """

    def __init__(self, keystone: Keystone, desired: Desired, *, apply: bool) -> None:
        self._keystone = keystone
        self._desired = desired
        self._apply = apply
        self._update = desired.options.update
        self.lines: list[Line] = []
        self.new: set[Account] = set()
        self.unknown: set[Account] = set()

    def run(self) -> None:
        """Compare all objects; if `apply` is true, create the missing ones, and change different
        ones if the option --update is set. Raises WrongSetting.
        """
        options = self._desired.options
        home = self._existing("domains", options.service_domain, "--service-domain")
        roles: dict[str, str | None] = {}
        roles["admin"] = self._existing("roles", "admin", "the role of administrators")
        for role in ("service", STACK_USER_ROLE):
            roles[role] = self._named("roles", "role", f"role {role}", {"name": role})
        place = f"in domain {options.service_domain}"
        project = self._named(
            "projects", "project", f"project {options.service_project} {place}",
            {"name": options.service_project, "domain_id": home},
            {"description": "Services of OpenStack"},
        )  # fmt: skip
        user = self._user(Account.SERVICE, options.service_user, home, place)
        for role in SERVICE_ROLES:
            what = f"role {role} of {options.service_user} in project {options.service_project}"
            self._grant(what, "projects", project, user, roles[role])
        domain = self._named(
            "domains", "domain", f"domain {options.stack_domain}", {"name": options.stack_domain},
            {"description": "Users and projects of stacks"},
        )  # fmt: skip
        admin, place = options.stack_domain_admin, f"in domain {options.stack_domain}"
        user = self._user(Account.DOMAIN_ADMIN, admin, domain, place)
        self._grant(f"role admin of {admin} {place}", "domains", domain, user, roles["admin"])
        for api in self._desired.apis:
            self._api(api)

    def _existing(self, table: str, name: str, what: str) -> str:
        """Return the id of an object that must exist already. Raises WrongSetting if it does
        not.
        """
        if found := self._keystone.find(table, name=name):
            return str(found[0]["id"])
        near = nearest(name, [str(one["name"]) for one in self._keystone.find(table)])
        raise WrongSetting(f"{what}: Keystone has no {table[:-1]} {name}{hint(near)}")

    def _named(
        self, table: str, root: str, what: str, narrow: Mapping[str, str | None],
        more: Mapping[str, Any] | None = None,
    ) -> str | None:  # fmt: skip
        """Return the id of the object with the values in `narrow`, and create it if it does not
        exist.

        `table` is the collection, `root` the key around an object, and `what` the object's name in
        the report. `more` are further fields for the create. Without `apply` nothing is created,
        and the id of a missing object is None.
        """
        found: list[Body] = []
        if None not in narrow.values():
            found = self._keystone.find(table, **{key: str(narrow[key]) for key in narrow})
        if not found:
            return self._create(what, table, root, {**narrow, **(more or {})})
        one = found[0]
        self._enabled(table, root, what, one)
        return str(one["id"])

    def _enabled(self, table: str, root: str, what: str, one: Body) -> None:
        """Report that an object exists, or, if it is disabled, that it differs."""
        if one.get("enabled", True):
            self._tell(State.EXISTS, what)
        else:
            path = f"/{table}/{one['id']}"
            self._differs(f"{what}: it is disabled", path, root, {"enabled": True})

    def _user(self, account: Account, name: str, domain: str | None, place: str) -> str | None:
        """Return the id of a user as `_named` does, and report whether its password is accepted."""
        what = f"user {name} {place}"
        service = account is Account.SERVICE
        password = self._desired.service_password if service else self._desired.domain_password
        more = {"password": password, "options": USER_OPTIONS}
        user = self._named("users", "user", what, {"name": name, "domain_id": domain}, more)
        if self.lines[-1].state is State.MISSING:
            self.new.add(account)
        elif password is None:
            self.unknown.add(account)
        elif not self._keystone.accepts(str(user), password):
            words = f"{what}: the given password is not accepted"
            self._differs(words, f"/users/{user}", "user", {"password": password})
        return user

    def _grant(
        self, what: str, place: str, target: str | None, user: str | None, role: str | None
    ) -> None:
        """Report whether a user has a role in a project or domain; with `apply`, grant a missing
        one.
        """
        path = f"/{place}/{target}/users/{user}/roles/{role}"
        if None not in (target, user, role) and self._keystone.granted(path):
            self._tell(State.EXISTS, what)
            return
        if self._apply:
            self._keystone.grant(path)
        self._tell(State.MISSING, what)

    def _api(self, api: Api) -> None:
        """Report the service and the endpoints of an API; with `apply`, create the missing ones."""
        service = self._service(api)
        found = self._keystone.find("endpoints", service_id=service) if service else []
        for interface, url in api.endpoints():
            region = self._desired.region
            here = [
                one for one in found
                if one["interface"] == interface and one["region_id"] == region
            ]  # fmt: skip
            what = f"{interface} endpoint of {api.kind} in {region}: {url}"
            same = [one for one in here if _plain(one["url"]) == _plain(url)]
            if same:
                self._enabled("endpoints", "endpoint", what, same[0])
            elif len(here) == 1:
                path = f"/endpoints/{here[0]['id']}"
                self._differs(f"{what}: it is {here[0]['url']}", path, "endpoint", {"url": url})
            elif here:
                ids = ", ".join(sorted(one["id"] for one in here))
                self._tell(
                    State.DIFFERS,
                    f"{what}: there are several endpoints with another URL, delete them: {ids}",
                )
            else:
                body = {"service_id": service, "interface": interface, "url": url,
                        "region_id": region}  # fmt: skip
                self._create(what, "endpoints", "endpoint", body)

    def _service(self, api: Api) -> str | None:
        """Return the id of the catalogue service for an API, and create it if it does not exist.

        If there is only one service of this type, its name does not matter. Raises WrongSetting if
        there are several and not exactly one of them has the expected name.
        """
        what = f"service {api.kind}"
        found = self._keystone.find("services", type=api.kind)
        if len(found) > 1:
            found = [one for one in found if one.get("name") == api.name]
            if len(found) != 1:
                words = f"Keystone has several services of type {api.kind}"
                raise WrongSetting(f"{words}; expected one of them with the name {api.name}")
        if found:
            self._enabled("services", "service", what, found[0])
            return str(found[0]["id"])
        body = {"type": api.kind, "name": api.name, "description": api.description}
        return self._create(what, "services", "service", body)

    def _create(self, what: str, table: str, root: str, body: Mapping[str, Any]) -> str | None:
        """Report a missing object; if `apply` is true, create it and return its id, otherwise
        return None.
        """
        made = self._keystone.create(table, root, body) if self._apply else {"id": None}
        self._tell(State.MISSING, what)
        return made["id"]

    def _differs(self, what: str, path: str, root: str, changes: Mapping[str, Any]) -> None:
        """Report a difference; with `apply` and the option --update, also change the object."""
        if self._update and self._apply:
            self._keystone.change(path, root, changes)
        self._tell(State.CHANGES if self._update else State.DIFFERS, what)

    def _tell(self, state: State, what: str) -> None:
        self.lines.append(Line(state, what))


def _plain(url: str) -> str:
    """Return a URL of the catalogue in a normal form, so that equivalent URLs can be compared."""
    return url.rstrip("/").replace("$(", "%(").replace("tenant_id", "project_id")
