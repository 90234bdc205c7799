"""What Heat and Hearth say of a template, and the reasons why it may differ."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Judgement:
    """The status of an answer, and of an error its type and the properties that it names."""

    status: int
    error: str = ""
    named: tuple[str, ...] = ()
    message: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the template is taken."""
        return self.status < 300

    def __str__(self) -> str:
        return f"{self.status} {self.error} {self.message[:230]}".strip()


@dataclass(frozen=True)
class Verdict:
    """What both say of a variant of a type."""

    type_name: str
    variant: str
    changed: tuple[str, ...]
    original: Judgement
    here: Judgement

    @property
    def difference(self) -> str | None:
        """How they differ; None: not at all."""
        if self.original.accepted != self.here.accepted:
            return "accepted here" if self.here.accepted else "refused here"
        if self.original.accepted:
            return None
        if self.original.error != self.here.error:
            return "type of error"
        said, about = set(self.original.named) & set(self.changed), set(self.here.named)
        return "property" if said and not said & about else None

    def as_json(self) -> dict[str, Any]:
        """Return it for a file."""
        return {
            "type": self.type_name, "variant": self.variant, "difference": self.difference,
            "original": asdict(self.original), "hearth": asdict(self.here),
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.difference}: {self.variant}\n        {self.original}\n        {self.here}"


@dataclass(frozen=True)
class Settled:
    """A class of differences, with the reason why it stays."""

    reason: str
    matches: Callable[[Verdict], bool]


def reason(verdict: Verdict) -> str | None:
    """Return the first reason that explains it."""
    return next((one.reason for one in SETTLED if one.matches(verdict)), None)


def _null(verdict: Verdict) -> bool:
    """Null for an optional property, which Heat takes for the name of an object."""
    return (
        verdict.difference == "accepted here"
        and verdict.variant.endswith(" null")
        and set(verdict.changed) <= set(verdict.original.named)
    )


def _said_here(difference: str, pattern: str, variant: str = "") -> Callable[[Verdict], bool]:
    words, ways = re.compile(pattern), re.compile(variant)
    return lambda verdict: (
        verdict.difference == difference
        and words.search(verdict.here.message) is not None
        and ways.search(verdict.variant) is not None
    )


def _said_there(difference: str, pattern: str, variant: str = "") -> Callable[[Verdict], bool]:
    words, ways = re.compile(pattern), re.compile(variant)
    return lambda verdict: (
        verdict.difference == difference
        and words.search(f"{verdict.original.error} {verdict.original.message}") is not None
        and ways.search(verdict.variant) is not None
    )


SETTLED: tuple[Settled, ...] = (
    Settled(
        "null, or an empty text, does not count as given where another property requires a value",
        _said_here("refused here", r" is required if | is needed$", r" (null|empty)$"),
    ),
    Settled(
        "an empty text does not count as given where another property excludes a value",
        _said_there("accepted here", r"should only be specified|Unexpected properties", r" empty$"),
    ),
    Settled(
        "the identity beside Heat has no projects and regions that one can look up",
        _said_there("accepted here", r"The Keystone(Project|Region) \(\w+\) could not be found"),
    ),
    Settled(
        "the embedded Ironic has an earlier API version than the one that Heat wants",
        _said_there("accepted here", r"Requested API version [\d.]+ is not supported"),
    ),
    Settled(
        "a lease may use a host that the same template adds to Blazar",
        _said_there("accepted here", r"Couldn't find any host in Blazar"),
    ),
    Settled(
        "a template below may come with the request, as a file; Heat fetches it from an address",
        _said_there("accepted here", r"Could not fetch remote template .*Invalid URL scheme"),
    ),
    Settled(
        "tags and subnets that Heat has not implemented for AWS types are set",
        _said_there("accepted here", r"not implemented yet"),
    ),
    Settled(
        "files are put into servers with an API version of Nova that takes them",
        _said_there("accepted here", r"Cannot use the personality parameter as nova no longer"),
    ),
    Settled(
        "an old and a new name of a property exclude each other",
        _said_there("type of error", r"Cannot define the following properties at the same time"),
    ),
    Settled(
        "null for an optional property counts as not given; Heat looks for a nameless object",
        _null,
    ),
    Settled(
        "no desired size is no size outside the bounds",
        _said_there("accepted here", r"DesiredCapacity must be between", r"^desired_capacity null"),
    ),
    Settled(
        "a name that no resource has is an InvalidTemplateReference, also in a policy",
        _said_there("type of error", r"AccessPolicy resource \w+ not in stack"),
    ),
    Settled(
        "of a wrong value and a wrong combination the combination is reported first",
        lambda verdict: (
            verdict.difference == "type of error"
            and verdict.here.error in ("ResourcePropertyConflict", "PropertyUnspecifiedError")
            and "Error validating value" in verdict.original.message
            and "Error validating value" not in verdict.here.message
        ),
    ),
    Settled(
        "null for a required property is refused at once, as a missing one is; Heat fails later",
        _said_here("refused here", r'required property "\w+" is null', r" null$"),
    ),
    Settled(
        "quotas of which all are null are as if none were given",
        _said_here("refused here", r"one of .* is needed", r" null$"),
    ),
    Settled(
        "an empty text names no object; Heat takes an object without a name for it",
        _said_here("refused here", r"The \w+ \(\) could not be found", r" empty$"),
    ),
    Settled(
        "an empty text is looked for before it is compared with other properties",
        _said_here("type of error", r"The \w+ \(\) could not be found", r" empty$"),
    ),
    Settled(
        "a rule about several properties names those that would be right",
        _said_here("property", r"\.properties: "),
    ),
    Settled(
        "a boolean for a text is its text",
        _said_there("accepted here", r"'True' not in valid format", r" true$"),
    ),
    Settled(
        "`error.type` is never the name of a Python exception",
        _said_there("type of error", r"^(ValueError|TypeError|KeyError|AttributeError) "),
    ),
    Settled(
        "a request that ends in an internal error (500) in Heat gets a useful answer",
        lambda verdict: verdict.original.status == 500 and verdict.here.status == 400,
    ),
    Settled(
        "a router may be distributed and highly available, as Neutron allows since 2016",
        _said_there("accepted here", r"at the same time: distributed, ha\."),
    ),
    Settled(
        "a value that is known only later is judged then; Heat judges it with parts left empty",
        _said_there("accepted here", r"properties\.value: \"'http://:\d+"),
    ),
    Settled(
        "key pairs are made where Nova no longer makes them; Heat refuses them",
        _said_there("accepted here", r"The public_key property is required by the nova API"),
    ),
    Settled(
        "a mistake in a member of a chain is found at once; in Heat the create fails",
        _said_here("refused here", r"<nested_stack>\..*required property"),
    ),
    Settled(
        "a random string without any characters is refused at once; in Heat the create fails",
        _said_here("refused here", r"character_classes or character_sequences must have an entry"),
    ),
    Settled(
        "what the service refuses for certain is refused at once; Heat passes it on",
        _said_here(
            "refused here",
            r"gateway_ip: expected an IP address"
            r"|neutron_network needs neutron_subnet"
            r"|(email|ttl) is allowed only if type is PRIMARY"
            r"|expected (a (whole |port )?number|a map of Name and Value|an id, or a map)"
            r"|docker_volume_size must not be below 3"
            r"|_port_range_(min|max) is allowed only if protocol is tcp or udp"
            r"|physical_network is required if network_type is flat or vlan",
        ),
    ),
)
