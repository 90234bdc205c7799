"""Hearth: orchestration for OpenStack."""

__version__ = "0.1.0"
