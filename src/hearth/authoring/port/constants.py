"""Constants of a Python file, evaluated without running the file."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

_DEPTH_MAX = 50
_STEPS_MAX = 200_000  # expressions that are evaluated for a file
_LENGTH_MAX = 100_000  # of a text, in characters, and of a list
_PLAIN_FORMAT = re.compile(r"(?:[^%]|%%|%(?:\(\w+\))?[sdr])*")


class NotConstant(Exception):
    """The value of an expression is known only when the file runs."""


class Constants:
    """The assignments of a file and of its classes, by name. Values are evaluated when asked for.

    Names of base classes are found if the base class is in the same file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._steps = 0
        self._module = _assigned(tree.body)
        classes = [statement for statement in tree.body if isinstance(statement, ast.ClassDef)]
        self._of_class = {definition.name: _assigned(definition.body) for definition in classes}
        self._bases = {
            definition.name: [base.id for base in definition.bases if isinstance(base, ast.Name)]
            for definition in classes
        }

    def assigns(self, name: str, within: str) -> bool:
        """Return whether a class itself assigns to a name."""
        return name in self._of_class.get(within, {})

    def find(self, name: str, within: str | None = None) -> ast.expr | None:
        """Return the expression that is assigned to a name, or None.

        `within` is a class; its names and those of its base classes come first.
        """
        for scope in self._scopes(within):
            if name in scope:
                return scope[name]
        return None

    def _scopes(self, within: str | None) -> Sequence[Mapping[str, ast.expr]]:
        scopes: list[Mapping[str, ast.expr]] = []
        waiting = [within] if within is not None else []
        while waiting and len(scopes) < _DEPTH_MAX:
            name = waiting.pop(0)
            scopes.append(self._of_class.get(name, {}))
            waiting += self._bases.get(name, ())
        return [*scopes, self._module]

    def value(self, node: ast.expr | None, within: str | None = None, depth: int = 0) -> Any:
        """Return the value of an expression in a class, or at the top of the file. Raises
        NotConstant.
        """
        self._steps += 1
        if node is None or depth > _DEPTH_MAX or self._steps > _STEPS_MAX:
            raise NotConstant

        def inner(part: ast.expr | None) -> Any:
            return self.value(part, within, depth + 1)

        match node:
            case ast.Constant():
                return node.value
            case ast.Tuple() | ast.List() | ast.Set():
                return [inner(part) for part in node.elts]
            case ast.Dict():
                keys = [_hashable(inner(key)) for key in node.keys]
                return dict(zip(keys, map(inner, node.values), strict=True))
            case ast.Name(id=name):
                return inner(self.find(name, within))
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                class_name = within if owner in ("self", "cls") else owner
                if class_name not in self._of_class:
                    raise NotConstant
                return self.value(self.find(name, class_name), class_name, depth + 1)
            case ast.Call(func=ast.Name(id="_"), args=[text]):  # a text to translate
                return inner(text)
            case ast.UnaryOp(op=ast.USub()):
                return -_number(inner(node.operand))
            case ast.BinOp(op=ast.Add()):
                return _sum(inner(node.left), inner(node.right))
            case ast.BinOp(op=ast.Mod()):
                return _formatted(inner(node.left), inner(node.right))
        raise NotConstant


def _assigned(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """Return the expressions that statements assign to names; a tuple is assigned one by one."""
    assigned: dict[str, ast.expr] = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    assigned |= _pairs(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                assigned |= _pairs(target, value)
    return assigned


def _pairs(target: ast.expr, value: ast.expr) -> dict[str, ast.expr]:
    match target, value:
        case ast.Name(id=name), _:
            return {name: value}
        case ast.Tuple() | ast.List(), ast.Tuple() | ast.List():
            pairs: dict[str, ast.expr] = {}
            for element, assigned in zip(target.elts, value.elts, strict=False):
                pairs |= _pairs(element, assigned)
            return pairs
    return {}


def _hashable(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise NotConstant
    return value


def _number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise NotConstant
    return value


def _sum(left: Any, right: Any) -> Any:
    texts = isinstance(left, str) and isinstance(right, str)
    if not texts and not (isinstance(left, list) and isinstance(right, list)):
        raise NotConstant
    if len(left) + len(right) > _LENGTH_MAX:
        raise NotConstant
    return left + right


def _formatted(text: Any, values: Any) -> str:
    if not isinstance(text, str) or _PLAIN_FORMAT.fullmatch(text) is None:
        raise NotConstant  # a width can make a text of gigabytes
    try:
        return text % (tuple(values) if isinstance(values, list) else values)
    except (TypeError, ValueError, KeyError) as error:
        raise NotConstant from error
