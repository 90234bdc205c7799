"""Generating the names of stacks, clusters and cluster templates.

Source: docs/spec/clusters.md, 2.6, 4.1 and 4.4.
"""

import re

STACK_BITS = 60
"""Number of random bits in the name of a stack."""
CLUSTER_PART = 30  # characters of the cluster's name in the name of its stack
CLUSTER_PART_OF_GROUP = 20  # the same for the stack of an extra group
GROUP_PART = 9  # characters of the group's name
GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi",
    "psi", "omega",
)  # fmt: skip
GENERATED = len(GREEK) * 24
"""Number of different names that `generated_name` can return."""
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_BITS_OF_CHARACTER = 5
_TO_DASH = str.maketrans("_.", "--")
_OTHERS = re.compile("[^A-Za-z0-9-]")


def clean(text: str) -> str:
    """Convert a text to a part of a server's name: lower-case letters, digits and dashes."""
    return _OTHERS.sub("", text.translate(_TO_DASH)).lower()


def id12(bits: int) -> str:
    """Encode an integer of 60 bits as 12 base32 characters."""
    shifts = range(STACK_BITS - _BITS_OF_CHARACTER, -1, -_BITS_OF_CHARACTER)
    return "".join(_BASE32[bits >> shift & 31] for shift in shifts)


def stack_name(cluster: str, bits: int, group: str | None = None) -> str:
    """Return the name of the stack of a cluster or, if `group` is given, of an additional group.

    `bits` is a random integer of 60 bits. Names are truncated first; then characters that are
    invalid in a server's name are removed.
    """
    if group is None:
        readable = cluster[:CLUSTER_PART]
    else:
        readable = f"{cluster[:CLUSTER_PART_OF_GROUP]}-{group[:GROUP_PART]}"
    return f"{clean(readable)}-{id12(bits)}"


def generated_name(number: int, ending: str) -> str:
    """Return a name such as "beta-7-cluster" for a cluster or template without a name.

    `number` is a random integer; `ending` is "cluster" or "template".
    """
    letter, position = divmod(number % GENERATED, 24)
    return f"{GREEK[letter]}-{position + 1}-{ending}"
