"""Policy checks: oslo.policy with Heat's rules, overridden by the operator's file."""

import logging
import re
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from hearth.model.problem import rejection
from hearth.service.caller import Caller
from hearth.service.policy_rules import TYPE_RULE, defaults
from hearth.service.problems import Forbidden

log = logging.getLogger(__name__)

ADMIN_RULE = "context_is_admin"
KEPT_S = 2.0  # oslo.policy checks its files each time, which takes half a millisecond
KEPT_MAX = 10_000
USUAL_FILE = "policy.yaml"
OWN_PROJECT = "project_id:%(project_id)s"
IMPERSONAL = re.compile(r"role:.+|rule:.+|is_admin_project:True|and|or|not|[@!]")


UNREADABLE = (ValueError, OSError, AttributeError, TypeError)
"""The exceptions that oslo.policy raises for a policy file that it cannot use; AttributeError and
TypeError mean that the file is not a map.
"""


class WrongRules(Exception):
    """A policy file cannot be loaded; the message gives the reason."""


class Owner(NamedTuple):
    """The ids of the project and the user to which the object of a request belongs."""

    project_id: str
    user_id: str


class Policy:
    """The policy rules in effect.

    `conf` is a loaded oslo.config, or None for the default rules alone. `rules` are the default
    rules as {name: (check, former check)}; if it is None, those of Heat are used.

    A changed policy file takes effect within a few seconds. If it cannot be read, an error is
    logged and the previous rules remain in effect. oslo.policy is imported at the first check, so a
    process that only runs the engine never imports it.
    """

    def __init__(
        self, conf: Any = None, rules: Mapping[str, tuple[str, str | None]] | None = None
    ) -> None:
        self._conf = conf
        self._rules = defaults() if rules is None else rules
        self._loaded: Any = None
        self._answers: dict[tuple[str, Hashable], bool] = {}
        self._until = 0.0
        self._personal = True  # a rule depends on the user or the project, not only on roles

    def load(self) -> None:
        """Load the policy files now. Raises WrongRules."""
        try:
            self._enforcer.load_rules(True)
        except UNREADABLE as problem:
            raise WrongRules(f"[oslo_policy]: {_reason(problem)}") from None
        file = self._enforcer.policy_file
        if file not in ("", USUAL_FILE) and not self._enforcer.policy_path:
            log.warning(
                "[oslo_policy] policy_file: %s does not exist; the default rules apply", file
            )

    def allows(self, rule: str, caller: Caller, owner: Owner | None = None) -> bool:
        """Return whether the rule allows the caller to act on an object of `owner`.

        Without `owner`, the rule is checked for objects of the caller's own project.
        """
        if owner is None:
            return self._cached(rule, caller, lambda: self._enforced(rule, caller))
        return self._cached(rule, caller, lambda: self._enforced(rule, caller, owner), owner)

    def _cached(
        self, rule: str, caller: Caller, ask: Callable[[], bool], owner: Owner | None = None
    ) -> bool:
        now = time.monotonic()
        if now > self._until or len(self._answers) > KEPT_MAX:
            self._answers, self._until = {}, now + KEPT_S
            self._personal = self._names_people()
        identity: Hashable = caller if self._personal else _impersonal(caller)
        key = (rule, identity if owner is None else (caller, owner))
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = ask()
        return answer

    def _names_people(self) -> bool:
        """Return whether any rule in effect depends on a user, a domain or a particular project."""
        try:
            self._enforcer.load_rules()
        except UNREADABLE as problem:
            _keep_on(problem)
        return any(map(_names_people, map(str, self._enforcer.rules.values())))

    def _enforced(self, rule: str, caller: Caller, owner: Owner | None = None) -> bool:
        target = {"project_id": caller.project_id} if owner is None else owner._asdict()
        facts = _facts(caller)
        try:
            return bool(self._enforcer.enforce(rule, target, facts))
        except UNREADABLE as problem:
            _keep_on(problem)
            return bool(self._enforcer.enforce(rule, target, facts))

    def demand(self, rule: str, caller: Caller) -> None:
        """Raise Rejected with Forbidden unless the rule allows the caller."""
        if not self.allows(rule, caller):
            message = f"You are not authorized to complete this action ({rule})."
            raise rejection(Forbidden, message)

    def is_admin(self, caller: Caller) -> bool:
        """Return whether the caller is an administrator, who may access other projects."""
        return self.allows(ADMIN_RULE, caller)

    def allows_type(self, name: str, caller: Caller) -> bool:
        """Return whether the caller may use a resource type. Types without a rule are allowed."""
        return self._cached(TYPE_RULE + name, caller, lambda: self._type_allowed(name, caller))

    def _type_allowed(self, name: str, caller: Caller) -> bool:
        self._enforcer.load_rules()
        rules = self._enforcer.rules
        if (rule := TYPE_RULE + name) in rules:
            return self._enforced(rule, caller)
        parts = name.split("::")
        for length in range(len(parts) - 1, 0, -1):
            if (rule := f"{TYPE_RULE}{'::'.join(parts[:length])}::*") in rules:
                return self._enforced(rule, caller)
        return True

    def demand_types(self, names: Iterable[str], caller: Caller) -> None:
        """Raise Rejected with Forbidden, naming every type that the caller may not use."""
        refused = [name for name in sorted(set(names)) if not self.allows_type(name, caller)]
        if refused:
            message = f"You are not authorized to use {', '.join(refused)}."
            raise rejection(Forbidden, message)

    @property
    def _enforcer(self) -> Any:
        if self._loaded is None:
            self._loaded = _enforcer(self._conf, self._rules)
        return self._loaded


def _enforcer(conf: Any, rules: Mapping[str, tuple[str, str | None]]) -> Any:
    from oslo_config import cfg
    from oslo_policy import policy

    if conf is None:
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[], default_config_dirs=[])
    enforcer = policy.Enforcer(conf)
    enforcer.suppress_deprecation_warnings = True
    enforcer.suppress_default_change_warnings = True
    for name, (check, former) in rules.items():
        old = former and policy.DeprecatedRule(
            name, former, deprecated_reason="roles are distinguished", deprecated_since="Wallaby"
        )
        scope = None if ":" not in name or check == f"rule:{ADMIN_RULE}" else ["project"]
        enforcer.register_default(
            policy.RuleDefault(name, check, scope_types=scope, deprecated_rule=old or None)
        )
    return enforcer


def _keep_on(problem: Exception) -> None:
    """Log that a policy file cannot be read; the previous rules remain in effect.

    oslo.policy reads the file again only when it has changed, so the error is logged once.
    """
    message = "a policy file cannot be read; its previous rules remain in effect: %s"
    log.error(message, _reason(problem))


def _reason(problem: Exception) -> str:
    """Return in one line why a policy file cannot be read."""
    if isinstance(problem, AttributeError | TypeError):
        return "the policy file must map names of rules to rules"
    return " ".join(str(problem).split())


def _names_people(rule: str) -> bool:
    tokens = re.split(r"[\s()]+", rule.replace(OWN_PROJECT, "@"))
    return not all(IMPERSONAL.fullmatch(token) for token in tokens if token)


def _impersonal(caller: Caller) -> Hashable:
    """Return the properties of a caller on which rules can depend that name no user, no domain and
    no particular project.

    Callers with equal properties share a cached result.
    """
    return caller.roles, caller.service_roles, bool(caller.project_id), caller.is_admin_project


def _facts(caller: Caller) -> dict[str, Any]:
    """Return the caller as the credentials that oslo.policy checks; the keys are those of
    oslo.context.
    """
    return {**caller.rights, "tenant": caller.project_id}
