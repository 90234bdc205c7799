"""Decisions: the plan of an operation, and the nodes that may start.

Invariant: all functions are pure. They use no I/O, no clock and no random source; callers pass
times, ids and random numbers as arguments.
"""
