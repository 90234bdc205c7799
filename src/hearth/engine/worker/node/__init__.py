"""One node of an operation: an action on one resource, from its intent to its end.

A node returns its outcome as a value, and the package `operation` decides which nodes start next.
Imports go in one direction: task, the drivers (update, cleanup, walk, adopt), attempt, calls.
"""
