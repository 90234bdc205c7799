"""The current operation of a stack: how it begins, which nodes may start, and how it ends.

It can begin from the stored rows at any time: after a takeover, or when a newer request arrives,
the same code plans again. Imports go in one direction: begin, operation, traversal, last, ending,
parent, hooks and plugins.
"""
