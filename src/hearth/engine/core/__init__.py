"""Decisions: the plan of an operation, and the nodes that may start.

Invariant: values in, values out. No I/O, no clock, no random source: times, ids and random numbers
are arguments.
"""
