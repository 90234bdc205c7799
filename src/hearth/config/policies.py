"""The policy rules of a process: those for stacks and those for clusters."""

from typing import Any

from msgspec import Struct

from hearth.service.cluster_policy_rules import defaults
from hearth.service.policy import Policy


class Policies(Struct, frozen=True):
    """The policy of the stack APIs and the policy of the cluster API."""

    stacks: Policy
    clusters: Policy

    def load(self) -> None:
        """Read the policy files now. Raises WrongRules."""
        self.stacks.load()
        self.clusters.load()


def policies(conf: Any, *, owner_only_certificates: bool) -> Policies:
    """Return the policies that a loaded oslo.config defines; if `conf` is None, the default rules.

    `owner_only_certificates` selects a stricter default rule for certificates.
    """
    rules = defaults(owner_only_certificates=owner_only_certificates)
    return Policies(Policy(conf), Policy(conf, rules))
