"""Find all errors of a template that do not depend on values; the entry point is `examine`.

When the compiler receives a template, it refuses only what Heat refuses. This package finds more
errors in the same module. It evaluates each expression for both branches of every choice.
Parameters and resources have unknown values but known types, and each result is checked with the
schema of the property or section that contains it. Doubtful cases are not reported, because a false
alarm is worse than a missed error. The package does no I/O.
"""

from hearth.template.check.examine import examine

__all__ = ["examine"]
