"""Compare Keystone with what Hearth needs, and change it.

The same steps run twice: first without `apply`, when they only report, then with it. An object that
does not exist has the id None in the first run, and everything that belongs to it is reported as
missing.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from hearth.cli.bootstrap.desired import CatalogService, DesiredKeystone
from hearth.cli.bootstrap.keystone import Body, Keystone
from hearth.cloud.config import STACK_USER_ROLE
from hearth.cloud.identity import USER_OPTIONS
from hearth.config.wrong import WrongSetting
from hearth.model.problem import hint, nearest

SERVICE_ROLES = ("admin", "service")


class ObjectState(Enum):
    """The result of comparing one object."""

    EXISTS = "exists"
    MISSING = "missing"
    CHANGES = "changes"  # differs, and is changed
    DIFFERS = "differs"  # differs, and is left as it is


class Account(Enum):
    """The users as which Hearth logs in to Keystone."""

    SERVICE = "service user"
    DOMAIN_ADMIN = "administrator of the domain of stacks"


class ReportLine(Struct, frozen=True):
    """A line of the report: the object `label` and its state."""

    state: ObjectState
    label: str


class Comparison:
    """One comparison of Keystone with the desired state. `lines` is its report.

    If `apply` is true, missing objects are created. `new` contains the accounts that do not exist
    yet, `unknown` those that exist but whose password is not known.
    """

    def __init__(self, keystone: Keystone, desired: DesiredKeystone, *, apply: bool) -> None:
        self._keystone = keystone
        self._desired = desired
        self._apply = apply
        self._update = desired.options.update
        self.lines: list[ReportLine] = []
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
            roles[role] = self._ensured("roles", "role", f"role {role}", {"name": role})
        location = f"in domain {options.service_domain}"
        project = self._ensured(
            "projects",
            "project",
            f"project {options.service_project} {location}",
            {"name": options.service_project, "domain_id": home},
            {"description": "Services of OpenStack"},
        )
        user = self._user(Account.SERVICE, options.service_user, home, location)
        for role in SERVICE_ROLES:
            label = f"role {role} of {options.service_user} in project {options.service_project}"
            self._grant(label, "projects", project, user, roles[role])
        domain = self._ensured(
            "domains",
            "domain",
            f"domain {options.stack_domain}",
            {"name": options.stack_domain},
            {"description": "Users and projects of stacks"},
        )
        admin, location = options.stack_domain_admin, f"in domain {options.stack_domain}"
        user = self._user(Account.DOMAIN_ADMIN, admin, domain, location)
        self._grant(f"role admin of {admin} {location}", "domains", domain, user, roles["admin"])
        for api in self._desired.apis:
            self._api(api)

    def _existing(self, table: str, name: str, label: str) -> str:
        """Return the id of an object that must exist already. Raises WrongSetting if it does
        not.
        """
        if matches := self._keystone.find(table, name=name):
            return str(matches[0]["id"])
        near = nearest(name, [str(candidate["name"]) for candidate in self._keystone.find(table)])
        raise WrongSetting(f"{label}: Keystone has no {table[:-1]} {name}{hint(near)}")

    def _ensured(
        self,
        table: str,
        root: str,
        label: str,
        narrow: Mapping[str, str | None],
        extra: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Return the id of the object with the values in `narrow`, and create it if it does not
        exist.

        `table` is the collection, `root` the key around an object, and `label` the object's name in
        the report. `extra` are further fields for the create. Without `apply` nothing is created,
        and the id of a missing object is None.
        """
        matches: list[Body] = []
        if None not in narrow.values():
            matches = self._keystone.find(table, **{key: str(narrow[key]) for key in narrow})
        if not matches:
            return self._create(label, table, root, {**narrow, **(extra or {})})
        match = matches[0]
        self._enabled(table, root, label, match)
        return str(match["id"])

    def _enabled(self, table: str, root: str, label: str, body: Body) -> None:
        """Report that an object exists, or, if it is disabled, that it differs."""
        if body.get("enabled", True):
            self._tell(ObjectState.EXISTS, label)
        else:
            path = f"/{table}/{body['id']}"
            self._differs(f"{label}: it is disabled", path, root, {"enabled": True})

    def _user(self, account: Account, name: str, domain: str | None, location: str) -> str | None:
        """Return the id of a user as `_ensured` does; report whether its password is accepted."""
        label = f"user {name} {location}"
        service = account is Account.SERVICE
        password = self._desired.service_password if service else self._desired.domain_password
        fields = {"password": password, "options": USER_OPTIONS}
        user = self._ensured("users", "user", label, {"name": name, "domain_id": domain}, fields)
        if self.lines[-1].state is ObjectState.MISSING:
            self.new.add(account)
        elif password is None:
            self.unknown.add(account)
        elif not self._keystone.accepts(str(user), password):
            message = f"{label}: the given password is not accepted"
            self._differs(message, f"/users/{user}", "user", {"password": password})
        return user

    def _grant(
        self, label: str, collection: str, target: str | None, user: str | None, role: str | None
    ) -> None:
        """Report whether a user has a role in a project or domain; with `apply`, grant a missing
        one.
        """
        path = f"/{collection}/{target}/users/{user}/roles/{role}"
        if None not in (target, user, role) and self._keystone.granted(path):
            self._tell(ObjectState.EXISTS, label)
            return
        if self._apply:
            self._keystone.grant(path)
        self._tell(ObjectState.MISSING, label)

    def _api(self, api: CatalogService) -> None:
        """Report the service and the endpoints of an API; with `apply`, create the missing ones."""
        service = self._service(api)
        endpoints = self._keystone.find("endpoints", service_id=service) if service else []
        for interface, url in api.endpoints():
            region = self._desired.region
            in_region = [
                endpoint
                for endpoint in endpoints
                if endpoint["interface"] == interface and endpoint["region_id"] == region
            ]
            label = f"{interface} endpoint of {api.kind} in {region}: {url}"
            equal = [endpoint for endpoint in in_region if _plain(endpoint["url"]) == _plain(url)]
            if equal:
                self._enabled("endpoints", "endpoint", label, equal[0])
            elif len(in_region) == 1:
                path = f"/endpoints/{in_region[0]['id']}"
                self._differs(
                    f"{label}: it is {in_region[0]['url']}", path, "endpoint", {"url": url}
                )
            elif in_region:
                ids = ", ".join(sorted(endpoint["id"] for endpoint in in_region))
                self._tell(
                    ObjectState.DIFFERS,
                    f"{label}: there are several endpoints with another URL, delete them: {ids}",
                )
            else:
                body = {
                    "service_id": service,
                    "interface": interface,
                    "url": url,
                    "region_id": region,
                }
                self._create(label, "endpoints", "endpoint", body)

    def _service(self, api: CatalogService) -> str | None:
        """Return the id of the catalogue service for an API, and create it if it does not exist.

        If there is only one service of this type, its name does not matter. Raises WrongSetting if
        there are several and not exactly one of them has the expected name.
        """
        label = f"service {api.kind}"
        services = self._keystone.find("services", type=api.kind)
        if len(services) > 1:
            services = [service for service in services if service.get("name") == api.name]
            if len(services) != 1:
                message = f"Keystone has several services of type {api.kind}"
                raise WrongSetting(f"{message}; expected one of them with the name {api.name}")
        if services:
            self._enabled("services", "service", label, services[0])
            return str(services[0]["id"])
        body = {"type": api.kind, "name": api.name, "description": api.description}
        return self._create(label, "services", "service", body)

    def _create(self, label: str, table: str, root: str, body: Mapping[str, Any]) -> str | None:
        """Report a missing object; if `apply` is true, create it and return its id, otherwise
        return None.
        """
        created = self._keystone.create(table, root, body) if self._apply else {"id": None}
        self._tell(ObjectState.MISSING, label)
        return created["id"]

    def _differs(self, label: str, path: str, root: str, changes: Mapping[str, Any]) -> None:
        """Report a difference; with `apply` and the option --update, also change the object."""
        if self._update and self._apply:
            self._keystone.change(path, root, changes)
        self._tell(ObjectState.CHANGES if self._update else ObjectState.DIFFERS, label)

    def _tell(self, state: ObjectState, label: str) -> None:
        self.lines.append(ReportLine(state, label))


def _plain(url: str) -> str:
    """Return a URL of the catalogue in a normal form, so that equivalent URLs can be compared."""
    return url.rstrip("/").replace("$(", "%(").replace("tenant_id", "project_id")
