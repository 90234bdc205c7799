"""The policies of a process: one for each of its APIs, from the same files."""

from dataclasses import dataclass
from typing import Any

from hearth.service.clusters.policy_rules import defaults
from hearth.service.policy import Policy


@dataclass(frozen=True)
class Policies:
    """The policy for stacks and the policy for clusters."""

    stacks: Policy
    clusters: Policy

    def load(self) -> None:
        """Load the files now. Raises WrongRules."""
        self.stacks.load()
        self.clusters.load()


def policies(conf: Any, *, owner_only_certificates: bool) -> Policies:
    """Return the policies of a loaded oslo.config, or the default rules for None."""
    rules = defaults(owner_only_certificates=owner_only_certificates)
    return Policies(Policy(conf), Policy(conf, rules))
