"""All errors of a template that are known without values: `examine`.

The compiler refuses what Heat refuses immediately. This package checks the same module further. It
evaluates each expression with parameters and resources of which only the kind is known, for both
branches of every choice, and checks the result with the schema of its place. A doubtful case is no
finding: a false alarm is worse than a miss. The package does no I/O and knows no values.
"""

from hearth.template.check.examine import examine

__all__ = ["examine"]
