"""The operation a stack is in: how it begins, what may start, and how it ends.

Begun from rows at any time: after a take-over or a newer request the same code plans again. Imports
run down: begin, operation, traversal, last, ending, parent, hooks and plugins.
"""
