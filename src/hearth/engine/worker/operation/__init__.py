"""The current operation of a stack: how it begins, which nodes may start, and how it ends.

It can begin from rows at any time: after a takeover or a newer request the same code plans again.
Imports run down: begin, operation, traversal, last, ending, parent, hooks and plugins.
"""
