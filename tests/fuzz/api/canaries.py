"""Canaries: words that are nowhere else, and tell whose they are and who may read them.

A *plain* word may be read by everybody of its tenant, a *secret* one by its members only. Secrets
that Hearth made itself, such as passwords, are noted beside them as they are found.
"""

import random
import re
from dataclasses import dataclass, field

PREFIX = "canary"
_WORD = re.compile(rf"{PREFIX}-(?P<tenant>[a-z]+)-(?P<kind>plain|secret)-[0-9a-f]{{16}}")


@dataclass
class Canaries:
    """The words of a tenant; those of somebody without a tenant, an empty name, are no canaries.

    `made` are secrets that Hearth made, by what they are, and `made_plain` what it made for all of
    the tenant.
    """

    tenant: str
    luck: random.Random
    made: dict[str, str] = field(default_factory=dict)
    made_plain: dict[str, str] = field(default_factory=dict)

    def plain(self) -> str:
        """Return a new word for everybody of the tenant."""
        return self._new("plain")

    def secret(self) -> str:
        """Return a new word for the members of the tenant."""
        return self._new("secret")

    def _new(self, kind: str) -> str:
        if not self.tenant:
            return f"noise-{self.luck.getrandbits(64):016x}"
        return f"{PREFIX}-{self.tenant}-{kind}-{self.luck.getrandbits(64):016x}"


def heard(text: str, tenant: str | None, *, secrets: bool, all_of: list[Canaries]) -> list[str]:
    """Return the words in `text` that somebody of a tenant must not read.

    If `secrets` is true, the secrets of the own tenant may be read. `tenant` is None for somebody
    who belongs to no tenant.
    """
    found = []
    if PREFIX in text:
        found += [
            word[0]
            for word in _WORD.finditer(text)
            if word["tenant"] != tenant or (word["kind"] == "secret" and not secrets)
        ]
    own = [one for one in all_of if one.tenant == tenant]
    may_read = {word for one in own for word in one.made_plain.values()}
    if secrets:  # the embedded cloud gives everybody the same key
        may_read |= {word for one in own for word in one.made.values()}
    for one in all_of:
        for what, word in {**one.made, **one.made_plain}.items():
            if word in text and word not in may_read:
                found.append(f"{what} of {one.tenant}")
    return found
