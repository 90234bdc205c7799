"""Policies on plans: a file with rules that deny a plan, or warn of it.

    protect: [db, "net*"]
    rules:
      - name: few deletes
        deny: $.resources.where($.action = delete).len() > 3
      - name: no public addresses
        warn: $.resources.where($.type = "OS::Neutron::FloatingIP" and $.action = create)
        message: ask the network team first

`protect` has patterns for names; the resources must not be replaced or deleted. The expression of a
rule is YAQL over the plan. A rule is broken if its result is true, or a list that is not empty.

      - name: no data is lost
        deny: $.resources.where($.deletes_data)

A plan may contain nested stacks whose resources are not known yet. A policy that may concern such
resources denies the plan.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from hearth.cli.apply.api import UserError
from hearth.cli.apply.stack import Body
from hearth.cli.apply.text_file import nodes_of, text_of
from hearth.template import Node

STACKS = ("nested", "removed")  # keys of plans of nested stacks
MAKING = ("create", "replace")  # actions that leave no resource of an earlier nested stack
DESTROYING = ("replace", "may replace", "delete")
ITERATIONS_MAX = 100_000
MEMORY_MAX = 100_000_000  # bytes
NAMED_MAX = 5  # resources in one message


class PlanRule(Struct, frozen=True):
    """A rule with its place in the file. If `denies` is false, it only warns."""

    position: str
    name: str
    denies: bool
    expression: str
    message: str


class PlanPolicy(Struct, frozen=True):
    """The contents of a policy file: patterns of protected names with their place, and rules."""

    protect: Sequence[tuple[str, str]] = ()
    rules: Sequence[PlanRule] = ()

    def check(self, plan: Body) -> tuple[list[str], list[str]]:
        """Return the reasons to deny the plan, and the warnings. Raises UserError for a rule that
        cannot be evaluated.
        """
        resources = list(_flat(plan))
        denied = [
            f"{position}: {resource['resource']} is protected, "
            f"but its planned action is {resource['action']}"
            for position, pattern in self.protect
            for resource in resources
            if resource["action"] in DESTROYING
            and fnmatch.fnmatchcase(resource["resource"], pattern)
        ]
        denied += self._denied_unseen(
            [resource for resource in resources if resource.get("unexpanded")]
        )
        warned: list[str] = []
        if self.rules:
            evaluate = _evaluator({"resources": resources})
            for rule in self.rules:
                if broken := _broken(rule, evaluate):
                    (denied if rule.denies else warned).append(broken)
        return denied, warned

    def _denied_unseen(self, unseen: Sequence[Body]) -> Iterator[str]:
        """Yield the reasons to deny a plan with nested stacks whose resources it does not contain.

        A new nested stack contains nothing that is protected.
        """
        for position, pattern in self.protect:
            for resource in unseen:
                path = resource["resource"]
                if resource["action"] not in MAKING and _may_match(pattern, f"{path}."):
                    yield (
                        f"{position}: {path} may contain protected resources, and its planned "
                        f"action is {resource['action']}, but the plan does not contain them: "
                        f"{resource['unexpanded']}"
                    )
        for rule in self.rules:
            if rule.denies:
                for resource in unseen:
                    yield (
                        f"{rule.position}: {rule.name} cannot be evaluated: the plan does not "
                        f"contain the resources in {resource['resource']}: {resource['unexpanded']}"
                    )


def _may_match(pattern: str, beginning: str) -> bool:
    """Return whether a pattern may match a name with this beginning.

    Only the characters before the first wildcard are compared, so the result may be true although
    no name matches.
    """
    literal = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    if literal == pattern:
        return pattern.startswith(beginning)
    return literal.startswith(beginning) or beginning.startswith(literal)


def _flat(plan: Body, above: str = "") -> Iterator[dict[str, Any]]:
    """Yield the resources of a plan with those of nested stacks, named by dotted paths.

    The resources of an old nested stack that is removed are among them.
    """
    for resource in plan["resources"]:
        path = f"{above}{resource['resource']}"
        values = {key: resource[key] for key in resource if key not in STACKS}
        yield {"deletes_data": False, **values, "resource": path}
        for key in STACKS:
            if resource.get(key):
                yield from _flat(resource[key], f"{path}.")


def _broken(rule: PlanRule, evaluate: Any) -> str | None:
    """Return the message of a rule if the plan breaks it."""
    try:
        outcome = evaluate(rule.expression)
    except Exception as problem:  # whatever a YAQL function raises
        raise UserError([f"{rule.position}: {rule.name} cannot be evaluated: {problem}"]) from None
    if isinstance(outcome, (list, tuple)):
        names = [str(resource["resource"]) for resource in outcome if isinstance(resource, Mapping)]
        suffix = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
        name_list = f": {', '.join(names[:NAMED_MAX])}{suffix}" if names else ""
    else:
        name_list = ""
    return f"{rule.position}: {rule.message}{name_list}" if outcome else None


def _evaluator(data: Any) -> Any:
    import yaql  # 0.1 s, which a plan without a policy saves

    options = {
        "yaql.limitIterators": ITERATIONS_MAX,
        "yaql.memoryQuota": MEMORY_MAX,
        "yaql.convertOutputData": True,
    }
    engine = yaql.factory.YaqlFactory().create(options=options)
    return lambda text: engine(text).evaluate(data=data, context=yaql.create_context())


def read_policy(path: Path) -> PlanPolicy:
    """Read a policy file. Raises UserError with the places of mistakes, and OSError."""
    root = nodes_of(text_of(path), path)
    wrong: list[str] = []
    policy = PlanPolicy(
        list(_protected(root, path, wrong)),
        list(_rules(root, path, wrong)),
    )
    keys = {"protect", "rules"}
    if not isinstance(root.value, dict):
        wrong.append(f"{path}: expected a map with the keys protect and rules")
    else:
        wrong += [
            f"{_position(node, path)}: unknown key {key}; expected protect or rules"
            for key, node in root.value.items()
            if key not in keys
        ]
    if wrong:
        raise UserError(wrong)
    return policy


def _items(root: Node, key: str, path: Path, wrong: list[str]) -> list[Node]:
    node = root.child(key) if isinstance(root.value, dict) else None
    if node is None:
        return []
    if not isinstance(node.value, list):
        wrong.append(f"{_position(node, path)}: {key} must be a list")
        return []
    return node.value


def _protected(root: Node, path: Path, wrong: list[str]) -> Iterator[tuple[str, str]]:
    for node in _items(root, "protect", path, wrong):
        if isinstance(node.value, str):
            yield _position(node, path), node.value
        else:
            wrong.append(f"{_position(node, path)}: expected the name of a resource, or a pattern")


def _rules(root: Node, path: Path, wrong: list[str]) -> Iterator[PlanRule]:
    for number, node in enumerate(_items(root, "rules", path, wrong), 1):
        position, plain = _position(node, path), node.plain()
        fields = plain if isinstance(plain, dict) else {}
        kinds = [kind for kind in ("deny", "warn") if isinstance(fields.get(kind), str)]
        unknown = fields.keys() - {"name", "deny", "warn", "message"}
        if len(kinds) != 1 or unknown:
            wrong.append(
                f"{position}: a rule needs either deny or warn with an expression, and may have a "
                "name and a message"
            )
            continue
        name = str(fields.get("name") or f"rule {number}")
        message = str(fields.get("message") or name)
        yield PlanRule(position, name, kinds[0] == "deny", fields[kinds[0]], message)


def _position(node: Node, path: Path) -> str:
    return str(node.span(str(path)))
