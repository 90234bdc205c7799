"""All errors of a template that are known without values: `examine`.

The compiler refuses only what Heat refuses when it receives a template. This package finds more
errors in the same module. It evaluates each expression with parameters and resources whose values
are unknown but whose types are known, for both branches of every choice, and checks the result with
the schema of its place. A doubtful case is not reported, because a false alarm is worse than a
missed error. The package does no I/O and knows no values.
"""

from hearth.template.check.examine import examine

__all__ = ["examine"]
