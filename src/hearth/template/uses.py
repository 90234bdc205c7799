"""The names that occur as literal text in the function calls of a template."""

from __future__ import annotations

from msgspec import Struct, field

from hearth.template.load import Node


class Uses(Struct):
    """The names in the function calls of a template, including all branches of `if`."""

    parameters: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)  # any text: it may name a condition
    mappings: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    computed: set[str] = field(
        default_factory=set
    )  # functions that are called with a computed name

    def add(self, root: Node) -> None:
        """Collect the names in a node and in everything below it."""
        waiting = [root]
        while waiting:
            value = waiting.pop().value
            if isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, dict):
                waiting.extend(value.values())
                for name, args in value.items():
                    self.call(name, args)
            elif isinstance(value, str):
                self.texts.add(value)

    def call(self, function: str, args: Node) -> None:
        into = {
            "get_param": self.parameters,
            "Ref": self.parameters,
            "get_file": self.files,
            "Fn::FindInMap": self.mappings,
        }.get(function)
        if into is None:
            return
        first = args.value[0] if isinstance(args.value, list) and args.value else args
        if isinstance(first.value, str):
            into.add(first.value)
        else:
            self.computed.add(function)
