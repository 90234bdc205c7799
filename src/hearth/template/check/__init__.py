"""Everything wrong with a template that can be known before any value is: `examine`.

The compiler refuses what Heat refuses at once. Here the same module is read further: each
expression is evaluated with parameters and resources of which only the kind is known, both
branches of every choice, and what comes out is held against the schema it is given to. A doubt is
no finding: a false alarm is worse than a miss. The package does no I/O and knows no values.
"""

from hearth.template.check.examine import examine

__all__ = ["examine"]
