"""Access rules of application credentials, which restrict the calls that a token may make.

Keystone only stores the rules; each service must enforce them. A service announces in a header that
it does so when it validates a token. Without the header, Keystone refuses to validate a token with
access rules.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from hearth.service.caller import AccessRule, Caller

SUPPORTED: Mapping[str, str] = {"OpenStack-Identity-Access-Rules": "1.0"}
"""The header in which a service announces that it enforces access rules."""


class ApiCall(Struct, frozen=True):
    """A call that a caller wants to make.

    `service` is the type of the service in the catalogue, and `path` the path of the URL below the
    place where the service is mounted.
    """

    service: str
    method: str
    path: str


def permits(caller: Caller, call: ApiCall) -> bool:
    """Return whether the access rules of a caller's token, if it has any, allow a call."""
    rules = caller.access_rules
    return rules is None or allows(rules, call.service, call.method, call.path)


def rules_from(credential: Mapping[str, Any]) -> tuple[AccessRule, ...] | None:
    """Return the access rules in a token; None if the token is not restricted by rules.

    `credential` is the part of Keystone's response that describes the application credential. An
    empty tuple means that no call is allowed.
    """
    rules = credential.get("access_rules")
    if rules is None:
        return None
    return tuple(AccessRule(rule["service"], rule["method"], rule["path"]) for rule in rules)


def allows(rules: Iterable[AccessRule], service: str, method: str, path: str) -> bool:
    """Return whether at least one of the rules allows a call.

    `service` is the type of the service in the catalogue, and `path` the path of the call.
    """
    return any(
        (rule.service, rule.method) == (service, method) and _pattern(rule.path).fullmatch(path)
        for rule in rules
    )


@lru_cache(1000)
def _pattern(path: str) -> re.Pattern[str]:
    """Return a rule's path as a regular expression.

    In the path, `*` and `{name}` stand for one or more characters other than `/`, and `**` stands
    for any text.
    """
    return re.compile("".join(map(_part, re.split(r"(\*\*|\*|\{[^{}]*\})", path))))


def _part(part: str) -> str:
    if part == "**":
        return ".*"
    return "[^/]+" if part[:1] in ("*", "{") else re.escape(part)
