"""One node of an operation: an action on one resource, from its intent to its end.

A node's end is a value that it returns; what that frees is decided above. Imports run down: task,
the drivers (update, cleanup, walk, adopt), attempt, calls.
"""
