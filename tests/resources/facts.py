"""Every type's declaration against the recorded ones of the original, field by field.

    python -m tests.resources.facts [TYPE…]

Prints a line per service with counts, then each difference; the exit status is 1 when there is one.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from hearth.model.state import Action
from hearth.resources.actions import handles
from hearth.resources.base import ResourceType
from hearth.resources.capabilities import NestedType, Signalled, SnapshotAtDelete, Snapshots
from hearth.resources.registry import builtin_types
from hearth.schema import (
    Add,
    AllowedPattern,
    AllowedValues,
    Attr,
    Custom,
    Delete,
    Length,
    Prop,
    Range,
    Replace,
    Resolve,
)

COPY = Path(__file__).parents[1] / "facts" / "resource_types.json"
FACTS = json.loads(COPY.read_text())
SERVICES = (
    "Nova", "Neutron", "Cinder", "Glance", "Keystone", "Swift", "Octavia", "Barbican", "Designate",
    "Heat", "Aodh", "Mistral", "Zaqar", "Trove", "Blazar",
)  # fmt: skip
"""Those whose SUPPORTED types must all be there."""

LATER = {
    "OS::Heat::SoftwareDeployment",
    "OS::Heat::SoftwareDeploymentGroup", "OS::Heat::StructuredDeployment",
    "OS::Heat::StructuredDeploymentGroup",
}  # fmt: skip
"""Software configuration, which is not all there yet."""

OTHERWISE = {
    ("AWS::ElasticLoadBalancing::LoadBalancer", "property Subnets"): "the service needs a subnet",
    ("OS::Heat::RandomString", "add character_classes"): "the type reads `sequence` itself",
    ("OS::Heat::RandomString", "delete sequence"): "the type reads it itself",
    ("OS::Neutron::Router", "add l3_agent_ids"): "the type reads `l3_agent_id` itself",
    ("OS::Neutron::Router", "delete l3_agent_id"): "the type reads it itself",
    ("OS::Heat::Stack", "snapshot"): "the engine takes the snapshots of nested stacks",
    ("OS::Heat::Stack", "restore"): "the engine restores nested stacks",
    ("OS::Mistral::Workflow", "attribute executions"): "they go on after the resource is made",
}
"""What is done in another place, by type and field."""


def plain_support(support, since):
    if support is None:
        return {"status": "SUPPORTED", "version": since} if since else None
    chain, one = [], support
    while one is not None:
        chain.append(
            {"status": str(one.status), **({"version": one.version} if one.version else {})}
        )
        one = one.previous
    first, *rest = chain
    return {**first, **({"previous": rest} if rest else {})}


def plain_constraint(constraint):
    match constraint:
        case Custom():
            return {"kind": "custom", "name": constraint.name}
        case AllowedValues():
            return {"kind": "allowed_values", "values": list(constraint.values)}
        case AllowedPattern():
            return {"kind": "allowed_pattern", "pattern": constraint.pattern}
        case Length() | Range():
            bounds = {"min": constraint.min, "max": constraint.max}
            kind = type(constraint).__name__.lower()
            return {"kind": kind, **{k: v for k, v in bounds.items() if v is not None}}


def plain(prop: Prop):
    shown = {
        "type": prop.kind.value,
        "required": prop.required,
        "update_allowed": prop.update_allowed,
    }
    if prop.has_default:
        shown["default"] = prop.default
    if prop.immutable:
        shown["immutable"] = True
    if not prop.implemented:
        shown["implemented"] = False
    if prop.allow_conversion:
        shown["allow_conversion"] = True
    if prop.constraints:
        shown["constraints"] = [plain_constraint(one) for one in prop.constraints]
    if isinstance(prop.schema, Prop):
        shown["schema"] = {"*": plain(prop.schema)}
    elif prop.schema is not None:
        shown["schema"] = {name: plain(inner) for name, inner in prop.schema.items()}
    support = plain_support(prop.support, prop.since)
    if support:
        shown["support"] = support
    return shown


def plain_attribute(attribute: Attr):
    shown = {"type": attribute.kind.value} if attribute.kind else {}
    if not attribute.cached:
        shown["cached"] = False
    support = plain_support(attribute.support, attribute.since)
    return {**shown, **({"support": support} if support else {})}


def without_options(recorded):
    """The recorded schema without the names of configuration options."""
    if isinstance(recorded, dict):
        return {
            k: without_options(v)
            for k, v in recorded.items()
            if k not in {"default_from_option", "own_message"}
        }
    return [without_options(one) for one in recorded] if isinstance(recorded, list) else recorded


def rules_of(translation):
    """Translation rules in the words of the facts: rule and path."""
    words = {Add: "add", Replace: "replace", Resolve: "resolve", Delete: "delete"}
    return {f"{words[type(rule)]} {'.'.join(rule.path)}" for rule in translation}


def recorded_rules(fact):
    return {f"{rule['rule']} {'.'.join(rule['path'])}" for rule in fact.get("translation") or []}


def recorded_support(fact):
    """The support status of a type. Heat forgets what takes over from a type when it hides the
    type; ours still lets it.
    """
    support = dict(fact.get("support") or {"status": "SUPPORTED"})
    before = support.get("previous") or []
    for one in before:
        if "substitute_class" in one:
            support["substitute_class"] = one["substitute_class"]
            rest = {k: v for k, v in one.items() if k != "substitute_class"}
            support["previous"] = [rest if other is one else other for other in before]
    return support


VERBS = {
    "suspend": lambda kind: handles(kind, Action.SUSPEND),
    "resume": lambda kind: handles(kind, Action.RESUME),
    "check": lambda kind: handles(kind, Action.CHECK),
    "snapshot": lambda kind: handles(kind, Action.SNAPSHOT),
    "restore": lambda kind: isinstance(kind, Snapshots),
    "signal": lambda kind: isinstance(kind, Signalled),
}

DONE_BELOW = ("check", "suspend", "resume")
"""What the engine does to the members of a nested stack, whatever its type."""


def differences(name: str) -> Iterator[str]:
    """What a declaration says otherwise than the facts, as "field: ours, recorded"."""
    kind, fact = builtin_types()[name], without_options(FACTS[name])
    for line in _unlike("property", {n: plain(p) for n, p in kind.properties.items()},
                        fact["properties"]):  # fmt: skip
        if (name, line.partition(":")[0]) not in OTHERWISE:
            yield line
    attributes = {n: plain_attribute(a) for n, a in kind.attributes.items()}
    for difference in _unlike("attribute", attributes, fact["attributes"]):
        if (name, difference.partition(":")[0]) not in OTHERWISE:
            yield difference
    yield from _unlike("update policy", {n: plain(p) for n, p in kind.update_policy.items()},
                       fact.get("update_policy") or {})  # fmt: skip
    support = plain_support(kind.support, None) or {}
    if (substitute := getattr(kind, "substitute", None)) is not None:
        support["substitute_class"] = substitute.rpartition("::")[2]
    ours = {
        "support": support,
        "name limit": kind.physical_name_limit,
        "deletion policy Snapshot": isinstance(kind, NestedType | SnapshotAtDelete),
    }
    snapshot = "handle_snapshot_delete" in fact.get("also_overrides", ())
    recorded = {
        "support": recorded_support(fact),
        "name limit": fact["physical_resource_name_limit"],
        "deletion policy Snapshot": snapshot
        or isinstance(kind, NestedType),  # it is handed on to the members
    }
    yield from _unlike("", ours, recorded)
    for rule in sorted(recorded_rules(fact) - rules_of(kind.translation)):
        if (name, rule) not in OTHERWISE:
            yield f"translation: {rule} is missing"
    for verb, has in VERBS.items():
        if isinstance(kind, NestedType) and verb in DONE_BELOW:
            continue
        if fact["lifecycle"][f"handle_{verb}"] and not has(kind) and (name, verb) not in OTHERWISE:
            yield f"{verb}: is missing"


def _unlike(field, ours, recorded):
    for name in sorted({*ours, *recorded}):
        if ours.get(name) != recorded.get(name):
            yield f"{field} {name}: {ours.get(name)}, recorded {recorded.get(name)}".strip()


def wanted() -> list[str]:
    """The types that must be there."""
    return sorted(
        name
        for name, fact in FACTS.items()
        if name.split("::")[0] == "OS"
        and name.split("::")[1] in SERVICES
        and fact["support"]["status"] == "SUPPORTED"
        and name not in LATER
    )


def written_by_hand(kind: ResourceType) -> list[str]:
    """The methods that the type's own class writes, beyond what it declares."""
    return [name for name, value in vars(type(kind)).items() if callable(value)]


def declared_share(names: Iterable[str]) -> float:
    """How many of these types are pure declarations, per cent."""
    kinds = [builtin_types()[name] for name in names]
    return 100 * sum(not written_by_hand(kind) for kind in kinds) / len(kinds)


def main(names: list[str]) -> int:
    """Print counts per service and every difference; the exit status."""
    types = builtin_types()
    here = sorted(types.keys() & FACTS.keys())
    missing = [name for name in wanted() if name not in types]
    found = {name: list(differences(name)) for name in names or here}
    print(f"{'service':14} {'types':>5} {'missing':>7} {'properties':>10} {'attributes':>10} "
          f"{'declared only':>13} {'differences':>11}")  # fmt: skip
    services = sorted({"::".join(name.split("::")[:2]) for name in [*here, *missing]})
    for service in [*services, ""]:
        own = [name for name in found if name.startswith(f"{service}::" if service else "")]
        declared = [name for name in own if not written_by_hand(types[name])]
        print(
            f"{service or 'all':14} {len(own):5} "
            f"{len([n for n in missing if n.startswith(service)]):7} "
            f"{sum(len(types[n].properties) for n in own):10} "
            f"{sum(len(types[n].attributes) for n in own):10} {len(declared):13} "
            f"{sum(len(found[n]) for n in own):11}"
        )
    print(f"by declaration alone: {declared_share(found):.1f} %")
    for name in missing:
        print(f"{name}: is missing")
    for name, lines in found.items():
        for line in lines:
            print(f"{name}: {line}")
    return 1 if missing or any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
