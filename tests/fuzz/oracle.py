"""What PyYAML makes of a text, where our rules are its: dates stay text, keys become text."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml


class Oracle(yaml.CSafeLoader):
    """The safe loader, with our exceptions from it."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        self.flatten_mapping(node)
        found = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(problem="a key that is no scalar")
            found[_key(self.construct_object(key))] = self.construct_object(value, deep=True)
        return found


LEFT_OUT = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
Oracle.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in LEFT_OUT]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


Oracle.add_constructor("tag:yaml.org,2002:merge", lambda loader, node: node.value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return str(json.loads(json.dumps([{key: 0}]))[0].popitem()[0])


class Refused(Exception):
    """The oracle does not read this."""


def expected(text: str) -> Any:
    """What the oracle makes of a text. Raises Refused."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    try:
        return yaml.load(text, Oracle)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError, TypeError):
        raise Refused from None


def comparable(text: str) -> bool:
    """Whether the oracle goes by the same rules: it does otherwise with tags, with anchors that
    hold themselves or are given again, and with very long numbers.
    """
    anchors = ANCHOR.findall(text)
    once = len(anchors) == len(set(anchors))
    return "!" not in text and once and not LONG_NUMBER.search(text)


ANCHOR = re.compile(r"&[\w-]+")
LONG_NUMBER = re.compile(r"[0-9a-fA-F_]{900}")
