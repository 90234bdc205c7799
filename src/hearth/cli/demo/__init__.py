"""`hearth demo`: creates, changes and deletes a three-tier stack, with a live view."""

from hearth.cli.demo.scenario import run

__all__ = ["run"]
