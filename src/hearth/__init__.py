"""Hearth: orchestration for OpenStack."""
