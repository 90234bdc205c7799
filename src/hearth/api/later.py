"""Handlers whose modules are imported when they are needed.

A command without a service makes a few of all requests. The modules for the others would be a part
of its time that its user notices.
"""

from collections.abc import Awaitable
from functools import cached_property
from importlib import import_module
from typing import Any

from starlette.requests import Request
from starlette.responses import Response


class Later:
    """The handler of a module that has this name."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    @cached_property
    def found(self) -> Any:
        """The handler itself. Its module is imported."""
        return getattr(import_module(self._module), self._name)

    def __call__(self, request: Request) -> Awaitable[Response]:
        answered: Awaitable[Response] = self.found(request)
        return answered


class Handlers:
    """The handlers of a module, each as an attribute with the name of its function."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Later:
        return Later(self._module, name)
