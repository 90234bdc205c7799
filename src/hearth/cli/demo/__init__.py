"""`hearth demo`: a three-tier stack from nothing to nothing, in front of your eyes."""

from hearth.cli.demo.scenario import run

__all__ = ["run"]
